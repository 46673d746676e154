package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	if o.Replicas < 1 || o.Replicas > MaxReplicas() {
		return fmt.Errorf("replicas must be 1 to %d, a machine each; got %d", MaxReplicas(), o.Replicas)
	}
	if o.Timeout <= 0 {
		return fmt.Errorf("timeout must be positive, is %s", o.Timeout)
	}
	return errors.Join(validBinary(o.ClusterAutoscaler), o.UpOptions.Validate())
}

// Validate says what is wrong with the options.
func (o PlayOptions) Validate() error {
	return errors.Join(validBinary(o.ClusterAutoscaler), o.UpOptions.Validate())
}

// Validate says what is wrong with the options: the folder is removed in the end, so nothing else may be in it.
func (o UpOptions) Validate() error {
	for _, wiring := range o.Switches {
		if err := wiring.Validate(); err != nil {
			return err
		}
	}
	if o.Dir == "" {
		return nil
	}
	entries, err := os.ReadDir(o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the sandbox's folder: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("folder %s is not empty, and would be removed in the end", o.Dir)
	}
	return nil
}

// validBinary is a program that can be run, or none.
func validBinary(path string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("there is no cluster-autoscaler at %s", path)
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is not a program that can be run", path)
	}
	return nil
}

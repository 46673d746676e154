package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// userAgent names us in the API server's audit log.
const userAgent = "homelab-autoscaler"

// RestConfig says how to reach the API server: by the kubeconfig, else as the pod's service account. It talks to nobody,
// but it reads every file that the kubeconfig names, so that an unreadable certificate is told here.
func (c Config) RestConfig() (*rest.Config, error) {
	config, err := c.restConfig()
	if err != nil {
		return nil, err
	}
	if err := readable(config); err != nil {
		return nil, fmt.Errorf("reading the certificates of %s: %w", c.origin(), err)
	}
	config.UserAgent = userAgent
	return config, nil
}

// readable reads the certificates, which a client would only do when it first connects.
func readable(config *rest.Config) error {
	config = rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return err
	}
	if len(config.CertData) > 0 {
		if _, err := tls.X509KeyPair(config.CertData, config.KeyData); err != nil {
			return err
		}
	}
	_, err := rest.TLSConfigFor(config)
	return err
}

func (c Config) restConfig() (*rest.Config, error) {
	if c.Kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("no API server to talk to: pass --kubeconfig or set KUBECONFIG (in a pod the service account is used)")
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", c.origin(), err)
		}
		return config, nil
	}
	loading := &clientcmd.ClientConfigLoadingRules{ExplicitPath: c.Kubeconfig}
	if files := filepath.SplitList(c.Kubeconfig); len(files) > 1 {
		// Merged as kubectl does it, which passes over files that do not exist.
		loading = &clientcmd.ClientConfigLoadingRules{Precedence: files}
	} else if info, err := os.Stat(c.Kubeconfig); err != nil {
		// clientcmd takes a file that does not exist for an empty one.
		return nil, fmt.Errorf("reading %s: %w", c.origin(), err)
	} else if info.IsDir() {
		return nil, fmt.Errorf("reading %s: it is a directory", c.origin())
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loading, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", c.origin(), flat{err})
	}
	return config, nil
}

func (c Config) origin() string {
	if c.Kubeconfig == "" {
		return "the pod's service account"
	}
	return "kubeconfig " + c.Kubeconfig
}

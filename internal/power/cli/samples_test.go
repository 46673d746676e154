package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"homecluster.dev/autoscaler/internal/power"
)

// The slots in config/samples that are worked by power are understood by it, up to the credentials, which are not there.
func TestTheSamplesAreUnderstood(t *testing.T) {
	files, err := filepath.Glob("../../../config/samples/slot-power-*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("there are %d samples: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var slot struct {
			Spec map[string]any `json:"spec"`
		}
		if err := yaml.Unmarshal(text, &slot); err != nil {
			t.Fatal(err)
		}
		for podSpec, verb := range map[string]string{"startupPodSpec": "on", "shutdownPodSpec": "soft"} {
			pod, _ := slot.Spec[podSpec].(map[string]any)
			given, _ := pod["args"].([]any)
			var args []string
			for _, arg := range given {
				word, ok := arg.(string)
				if !ok {
					t.Errorf("%s: %s: %v is no text: put it in quotes", file, podSpec, arg)
				}
				args = append(args, word)
			}
			o, err := parse(args)
			if err != nil || o.verb != verb {
				t.Errorf("%s: %s: %q, %v", file, podSpec, o.verb, err)
				continue
			}
			b := builder{options: o, clock: &stepped{}, env: func(string) string { return "" }, read: func(string) ([]byte, error) { return nil, fs.ErrNotExist }}
			if _, err := b.build(); err != nil && !errors.Is(err, power.ErrCredentials) {
				t.Errorf("%s: %s: %v", file, podSpec, err)
			}
		}
	}
}

package kubelet

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestAnImagesProgramRunsInPlaceOfItsCommand(t *testing.T) {
	programs := map[string]Program{"registry.lan:5000/power": {Command: []string{"/bin/sandbox", "power"}, Env: []string{"A=b"}}}
	tests := map[string]struct {
		image string
		want  []string
		env   bool
	}{
		"an image that is known": {"registry.lan:5000/power:1", []string{"/bin/sandbox", "power", "on", "--ipmi=bmc"}, true},
		"any other":              {"registry.lan:5000/tool:1", []string{"power", "on", "--ipmi=bmc"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := &podRun{k: &Kubelet{cfg: Config{Programs: programs}}, dir: t.TempDir()}
			c := &corev1.Container{Image: tt.image, Command: []string{"power"}, Args: []string{"on", "--ipmi=bmc"}}
			got, err := r.launch(c, r.command(c), &environment{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.argv); diff != "" {
				t.Errorf("command line (-want +got):\n%s", diff)
			}
			if slices.Contains(got.env, "A=b") != tt.env {
				t.Errorf("environment %v", got.env)
			}
		})
	}
}

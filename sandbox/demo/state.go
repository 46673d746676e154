package demo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// dumpState writes how things stand beside the logs, for whoever asks later what went wrong. A cluster that no longer
// answers has nothing to say; what it said is in the file.
func (s *Sandbox) dumpState() {
	ctx, cancel := context.WithTimeout(context.Background(), dumpPatience)
	defer cancel()
	var out bytes.Buffer
	for _, list := range []client.ObjectList{&v2.GroupList{}, &v2.NodeList{}, &v2.NodeClaimList{}, &corev1.NodeList{},
		&corev1.PodList{}, &batchv1.JobList{}, &eventsv1.EventList{}} {
		fmt.Fprintf(&out, "--- # %T\n", list)
		err := s.Client.List(ctx, list)
		if err == nil {
			var text []byte
			text, err = yaml.Marshal(list)
			out.Write(text)
		}
		if err != nil {
			fmt.Fprintf(&out, "# %s\n", err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.Logs, "state.yaml"), out.Bytes(), 0o600); err != nil {
		_, _ = fmt.Fprintf(s.log, "writing state.yaml: %s\n", err)
	}
}

package demo

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"homecluster.dev/autoscaler/config/crd"
)

// install puts the definitions of our kinds, and the manager's namespace, into the cluster, and waits until they are
// served.
func (s *Sandbox) install(ctx context.Context) error {
	definitions, err := clientset.NewForConfig(s.Config)
	if err != nil {
		return fmt.Errorf("making a client of definitions: %w", err)
	}
	files, err := fs.Glob(crd.Bases, "bases/*.yaml")
	if err != nil {
		return fmt.Errorf("listing definitions: %w", err)
	}
	for _, file := range files {
		if err := define(ctx, definitions, file); err != nil {
			return err
		}
	}
	return s.createNamespace(ctx)
}

func define(ctx context.Context, definitions clientset.Interface, file string) error {
	text, err := crd.Bases.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading definition %s: %w", file, err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, definition); err != nil {
		return fmt.Errorf("reading definition %s: %w", file, err)
	}
	api := definitions.ApiextensionsV1().CustomResourceDefinitions()
	if _, err := api.Create(ctx, definition, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating definition %s: %w", definition.Name, err)
	}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		current, err := api.Get(ctx, definition.Name, metav1.GetOptions{})
		return err == nil && established(current), err
	})
	if err != nil {
		return fmt.Errorf("waiting for definition %s to be served: %w", definition.Name, err)
	}
	return nil
}

func established(definition *apiextensionsv1.CustomResourceDefinition) bool {
	for _, c := range definition.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			return c.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/config/crd"
	schemas "homecluster.dev/autoscaler/internal/schema"
)

// fieldManager owns what the sandbox applies.
const fieldManager = "homelab-autoscaler-sandbox"

// crdTimeout bounds the wait for a definition to be served; it takes about a second.
const crdTimeout = time.Minute

// InstallCRDs installs or updates the project's CustomResourceDefinitions and returns once their objects can be listed
// and their schemas are published: a manager asks for both.
func (cp *ControlPlane) InstallCRDs(ctx context.Context) error {
	return cp.InstallCRDsFrom(ctx, crd.Bases)
}

// InstallCRDsFrom does the same with every YAML file of a file system, one definition in each.
func (cp *ControlPlane) InstallCRDsFrom(ctx context.Context, files fs.FS) error {
	ctx, cancel := context.WithTimeoutCause(ctx, crdTimeout, fmt.Errorf("not served within %s", crdTimeout))
	defer cancel()
	client, err := clientset.NewForConfig(cp.admin)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	var definitions []*apiextensionsv1.CustomResourceDefinition
	err = fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		definition, err := applyCRD(ctx, client, files, path)
		definitions = append(definitions, definition)
		return err
	})
	if err != nil {
		return fmt.Errorf("installing CustomResourceDefinitions: %w", err)
	}
	if len(definitions) == 0 {
		return fmt.Errorf("installing CustomResourceDefinitions: there are none")
	}
	for _, definition := range definitions {
		if err := cp.waitServed(ctx, client, definition); err != nil {
			return err
		}
		if err := cp.waitPublished(ctx, definition); err != nil {
			return err
		}
	}
	return nil
}

func applyCRD(ctx context.Context, client clientset.Interface, files fs.FS, path string,
) (*apiextensionsv1.CustomResourceDefinition, error) {
	text, err := fs.ReadFile(files, path)
	if err != nil {
		return nil, err
	}
	var head metav1.PartialObjectMetadata
	if err := yaml.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	definition, err := client.ApiextensionsV1().CustomResourceDefinitions().Patch(ctx, head.Name,
		types.ApplyYAMLPatchType, text, metav1.PatchOptions{FieldManager: fieldManager, Force: new(true)})
	if err != nil {
		return nil, fmt.Errorf("applying %s: %w", path, err)
	}
	return definition, nil
}

// waitServed waits until the definition is established and its objects are served in fact: the API server takes a moment
// from the one to the other.
func (cp *ControlPlane) waitServed(ctx context.Context, client clientset.Interface,
	definition *apiextensionsv1.CustomResourceDefinition,
) error {
	objects, err := dynamic.NewForConfig(cp.admin)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	return poll(ctx, func(ctx context.Context) error {
		current, err := client.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, definition.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if why := notEstablished(current); why != "" {
			return fmt.Errorf("not established: %s", why)
		}
		for _, version := range current.Spec.Versions {
			resource := schema.GroupVersionResource{
				Group: current.Spec.Group, Version: version.Name, Resource: current.Spec.Names.Plural,
			}
			if !version.Served {
				continue
			}
			if _, err := objects.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
				return err
			}
		}
		return nil
	}, "waiting for %s to be served", definition.Name)
}

// waitPublished waits until the schemas of a definition are published as it has them, which takes a second longer.
func (cp *ControlPlane) waitPublished(ctx context.Context, definition *apiextensionsv1.CustomResourceDefinition) error {
	kinds, err := discovery.NewDiscoveryClientForConfig(cp.admin)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	return poll(ctx, func(ctx context.Context) error {
		for _, version := range definition.Spec.Versions {
			if !version.Served {
				continue
			}
			path := "/openapi/v3/apis/" + definition.Spec.Group + "/" + version.Name
			text, err := kinds.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(ctx)
			if err != nil {
				return err
			}
			var document, wanted schemas.Schema
			if err := errors.Join(json.Unmarshal(text, &document), convert(version.Schema.OpenAPIV3Schema, &wanted)); err != nil {
				return err
			}
			published, known := schemas.Published(document, definition.Spec.Group, version.Name)[definition.Spec.Names.Kind]
			if !known || len(schemas.Lacks(wanted, published))+len(schemas.Lacks(published, wanted)) > 0 && definition.Spec.Group == v2.GroupVersion.Group {
				return fmt.Errorf("%s publishes another schema of %s", path, definition.Spec.Names.Kind)
			}
		}
		return nil
	}, "waiting for the schema of %s to be published", definition.Name)
}

// convert reads a value as JSON has it.
func convert(value, into any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// notEstablished says why a definition is not established, or nothing if it is.
func notEstablished(definition *apiextensionsv1.CustomResourceDefinition) string {
	why := "no condition yet"
	for _, condition := range definition.Status.Conditions {
		if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
			return ""
		}
		if condition.Status == apiextensionsv1.ConditionFalse {
			why = condition.Reason + ": " + condition.Message
		}
	}
	return why
}

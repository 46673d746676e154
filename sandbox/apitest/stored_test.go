package apitest

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"homecluster.dev/autoscaler/config/crd"
	"homecluster.dev/autoscaler/sandbox/controlplane"
)

// loose are our definitions as an earlier version may have had them: they know the kinds and refuse nothing.
func loose(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	for _, kind := range kinds {
		name := "infra.homecluster.dev_" + kind.definition + ".yaml"
		text, err := crd.Bases.ReadFile("bases/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &definition); err != nil {
			t.Fatal(err)
		}
		anything := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
		definition.Spec.Versions[0].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{
			Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": anything, "status": anything},
		}
		if text, err = yaml.Marshal(definition); err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: text}
	}
	return files
}

// old is an object that an earlier schema took.
type old struct {
	what   string
	object *unstructured.Unstructured
	// mark is whether a DeleteNodes can be recorded on it, if it is a claim: not where what every claim has is missing.
	mark bool
}

// before lists what earlier schemas may have taken: every value that today's forbids, every rule broken, fields that are no
// more, and labels that disagree.
func before(t *testing.T, namespace string) []old {
	t.Helper()
	var found []old
	add := func(what string, object map[string]any, mark bool) {
		made := (&unstructured.Unstructured{Object: object}).DeepCopy()
		if strings.HasPrefix(made.GetName(), "full") {
			made.SetName(fmt.Sprintf("old-%d", len(found)))
		}
		made.SetFinalizers([]string{"infra.homecluster.dev/nodeclaim-finalizer"})
		found = append(found, old{what, made, mark})
	}
	for kind := range kinds {
		goods := fulls(t, kind, namespace)
		for _, good := range goods {
			unstructured.RemoveNestedField(good.Object, "status")
		}
		good := goods[0]
		add(kind+" with a field of earlier times", put(good.Object, path("spec.powerState"), "on").(map[string]any), true)
		add(kind+" with labels that disagree", put(good.Object, path("metadata.labels"),
			map[string]any{"group": "others", "infra.homecluster.dev/node": "another"}).(map[string]any), true)
		add(kind+" with a namespace of others", put(good.Object, path("spec.slotRef.namespace"), "others").(map[string]any), true)
		for _, p := range places(t, kind) {
			i, at := holding(goods, p)
			if len(p.steps) == 1 || p.steps[0] == "status" || at == nil {
				continue
			}
			good := goods[i]
			for _, fault := range faults(p, get(good.Object, at)) {
				if strings.Contains(fault.want, "must be of type") {
					continue // no field ever had another type, and no client could read it
				}
				if p.schema.Format == "date-time" {
					continue // nor was ever taken for a time what is none
				}
				if fault.value == (absent{}) && strings.HasSuffix(p.String(), "[].name") {
					continue // by it the API server tells items apart: no version did without
				}
				mark := fault.value != (absent{}) // a claim without slot or request is nobody's
				add(fmt.Sprintf("%s %s %s", kind, p, fault.name), put(good.Object, at, fault.value).(map[string]any), mark)
			}
		}
		for _, p := range below(place{kind: kind, schema: definition(t, kind)}) {
			found, at := holding(goods, p)
			for _, rule := range p.schema.XValidations {
				create, _ := when(rule)
				for i, broken := range ruleCases[rule.Message] {
					if !create || broken.value == "" {
						continue
					}
					where := append(append([]any{}, at...), steps(broken.at)...)
					add(fmt.Sprintf("%s %s case %d of: %s", kind, p, i, rule.Message), put(goods[found].Object, where, parsed(t, broken.value)).(map[string]any), true)
				}
			}
		}
	}
	return found
}

// Whatever an earlier schema took can still end: its finalizer can be dropped, its status written, and it can be deleted.
// A claim can also be marked and its deadline be cleared, which is how its machine is given back.
func TestWhatEarlierSchemasTookCanStillEnd(t *testing.T) {
	cp := controlplane.ForTest(t)
	c, namespace := server(t)
	clients := kubernetes.NewForConfigOrDie(cp.Config())
	policies := clients.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	today := func() {
		if err := cp.InstallCRDs(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := cp.InstallPolicies(t.Context()); err != nil {
			t.Fatal(err)
		}
		enforced(t, c, namespace, true)
	}
	if err := policies.Delete(t.Context(), "homelab-autoscaler-claims", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := cp.InstallCRDsFrom(t.Context(), loose(t)); err != nil {
		t.Fatal(err)
	}
	enforced(t, c, namespace, false)
	olds := before(t, namespace)
	for _, old := range olds {
		if err := c.Create(t.Context(), old.object); err != nil {
			t.Errorf("the earlier schema should take a %s: %v", old.what, err)
		}
	}
	today()
	for _, old := range olds {
		ends(t, c, old)
	}
	t.Logf("%4d objects of earlier schemas", len(olds))
}

// enforced waits until the schemas and policies of today, or of earlier, are in force.
func enforced(t *testing.T, c client.Client, namespace string, today bool) {
	t.Helper()
	bad := []*unstructured.Unstructured{
		parse(t, strings.Replace(smallest["Group"], "}}", "}, spec: {minSize: -1}}", 1)),
		parse(t, strings.Replace(smallest["Node"], "kubernetesNodeName: worker-01", "kubernetesNodeName: Worker", 1)),
		parse(t, strings.Replace(smallest["NodeClaim"], "IncreaseSize", "Please", 1)),
		parse(t, strings.Replace(smallest["NodeClaim"], "name: worker-01-manual", "name: worker-01-manual, labels: {group: others}", 1)),
	}
	deadline := time.Now().Add(time.Minute)
	for _, object := range bad {
		object.SetNamespace(namespace)
		for {
			err := c.Create(t.Context(), object.DeepCopy(), client.DryRunAll)
			if (err != nil) == today {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the schemas of today are in force: %v, want %v (%v)", err != nil, today, err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

func ends(t *testing.T, c client.Client, old old) {
	t.Helper()
	patch := func(what, text string, how ...func(client.Patch) error) {
		t.Helper()
		apply := func(p client.Patch) error { return c.Patch(t.Context(), old.object.DeepCopy(), p) }
		if len(how) > 0 {
			apply = how[0]
		}
		if err := apply(client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
			t.Errorf("%s on a %s: %.300v", what, old.what, err)
		}
	}
	phases := map[string]string{"Group": `{"status": {"ready": 1}}`, "Node": `{"status": {"phase": "off", "powerState": "off"}}`,
		"NodeClaim": `{"status": {"phase": "completed", "reason": "NodeDeleted"}}`}
	patch("a status write", phases[old.object.GetKind()], func(p client.Patch) error {
		return c.Status().Patch(t.Context(), old.object.DeepCopy(), p)
	})
	patch("a second finalizer", `{"metadata": {"finalizers": ["example.com/a", "example.com/b"]}}`)
	if old.object.GetKind() == "NodeClaim" && old.mark {
		patch("a DeleteNodes", `{"spec": {"request": {"call": "DeleteNodes", "nodes": ["worker-01"]}}}`)
		patch("the end of the deadline", `{"spec": {"deadlineAt": null}}`)
	}
	if err := c.Delete(t.Context(), old.object.DeepCopy()); err != nil {
		t.Errorf("a delete of a %s: %.300v", old.what, err)
	}
	patch("the drop of its finalizers", `{"metadata": {"finalizers": null}}`)
	left := old.object.DeepCopy()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(left), left); !apierrors.IsNotFound(err) {
		t.Errorf("a %s is still there: %v", old.what, err)
	}
}

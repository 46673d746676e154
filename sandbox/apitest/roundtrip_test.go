package apitest

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/controlplane"
)

// Schema and types are written in two languages. A field that one of them spells differently, prunes, defaults over or
// cannot hold shows here.
func TestEveryLeafComesBackUnchanged(t *testing.T) {
	c, _ := server(t)
	cp := controlplane.ForTest(t)
	tests := map[string]struct {
		full, got client.Object
		parts     func(client.Object) (spec, status any)
		power     string
	}{
		"a group": {new(v2.Group), new(v2.Group), func(o client.Object) (any, any) {
			group := o.(*v2.Group)
			return &group.Spec, &group.Status
		}, ""},
		"a slot": {new(v2.Node), new(v2.Node), func(o client.Object) (any, any) {
			slot := o.(*v2.Node)
			return &slot.Spec, &slot.Status
		}, ""},
		"a claim": {new(v2.NodeClaim), new(v2.NodeClaim), func(o client.Object) (any, any) {
			claim := o.(*v2.NodeClaim)
			return &claim.Spec, &claim.Status
		}, ""},
	}
	for name := range switches() {
		slot := tests["a slot"]
		slot.full, slot.got, slot.power = new(v2.Node), new(v2.Node), name
		tests["a slot with "+name] = slot
	}
	delete(tests, "a slot")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			tt.full.SetNamespace(cp.Namespace(t))
			tt.full.SetName("full")
			spec, status := tt.parts(tt.full)
			f := &filler{power: switches()[tt.power]}
			f.fill(reflect.ValueOf(spec).Elem(), "")
			if slot, ok := tt.full.(*v2.Node); ok {
				slot.Spec.KubernetesNodeName = "worker-01.lan"
			}
			if claim, ok := tt.full.(*v2.NodeClaim); ok {
				claim.Spec.SlotRef.Namespace = claim.Namespace
			}
			f.fill(reflect.ValueOf(status).Elem(), "")
			wantSpec, wantStatus := tt.parts(tt.full.DeepCopyObject().(client.Object))

			if err := c.Create(ctx, tt.full); err != nil {
				t.Fatalf("creating it: %v", err)
			}
			_, status = tt.parts(tt.full)
			reflect.ValueOf(status).Elem().Set(reflect.ValueOf(wantStatus).Elem())
			if err := c.Status().Update(ctx, tt.full); err != nil {
				t.Fatalf("writing its status: %v", err)
			}
			if err := c.Get(ctx, client.ObjectKeyFromObject(tt.full), tt.got); err != nil {
				t.Fatal(err)
			}
			gotSpec, gotStatus := tt.parts(tt.got)
			quantities := cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })
			if diff := cmp.Diff(wantSpec, gotSpec, quantities); diff != "" {
				t.Errorf("spec (-written +read):\n%s", diff)
			}
			if diff := cmp.Diff(wantStatus, gotStatus, quantities); diff != "" {
				t.Errorf("status (-written +read):\n%s", diff)
			}
		})
	}
}

func TestDefaultsAreThoseOfTheDocumentation(t *testing.T) {
	c, namespace := server(t)
	ctx := t.Context()

	group := &v2.Group{}
	group.Namespace, group.Name = namespace, "defaults"
	if err := c.Create(ctx, group); err != nil {
		t.Fatal(err)
	}
	want := v2.GroupSpec{
		Engine:                  v2.EngineClusterAutoscaler,
		NodeReadinessTaints:     []v2.ReadinessTaint{{Key: "node.cilium.io/agent-not-ready", Effect: corev1.TaintEffectNoExecute}},
		UnclaimedMachines:       v2.UnclaimedShutdown,
		RemoveNodeAfterShutdown: new(true),
	}
	if diff := cmp.Diff(want, group.Spec); diff != "" {
		t.Errorf("an empty group (-want +got):\n%s", diff)
	}

	untainted := &v2.Group{Spec: v2.GroupSpec{NodeReadinessTaints: []v2.ReadinessTaint{}}}
	untainted.Namespace, untainted.Name = namespace, "untainted"
	if err := c.Create(ctx, untainted); err != nil {
		t.Fatal(err)
	}
	if got := untainted.Spec.NodeReadinessTaints; got == nil || len(got) != 0 {
		t.Errorf("no readiness taints were asked for, got %v", got)
	}

	slot := &v2.Node{Spec: v2.NodeSpec{
		KubernetesNodeName: "worker-01",
		StartupPodSpec:     v2.MinimalPodSpec{Image: "on"}, ShutdownPodSpec: v2.MinimalPodSpec{Image: "off"},
	}}
	slot.Namespace, slot.Name = namespace, "worker-01"
	if err := c.Create(ctx, slot); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v2.MinimalPodSpec{Image: "on", TTLSecondsAfterFinished: new(int32(600))}, slot.Spec.StartupPodSpec); diff != "" {
		t.Errorf("a power switch (-want +got):\n%s", diff)
	}

	claim := manual(namespace)
	if err := c.Create(ctx, claim); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(new(int32(3600)), claim.Spec.TTLSecondsAfterFinished); diff != "" {
		t.Errorf("a claim's time to live (-want +got):\n%s", diff)
	}
	if claim.Status.Phase != "" {
		t.Errorf("a new claim has phase %q: a phase is written by the controller alone", claim.Status.Phase)
	}
}

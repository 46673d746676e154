package preflight

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/schema"
)

// unreadable finds kinds whose objects are still stored as v1alpha1 though the definition has forgotten it.
func unreadable(s *Snapshot) []Finding {
	var found []Finding
	for _, plural := range s.Unreadable {
		version := `{"name":"v1alpha1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`
		found = append(found, Finding{Severity: Blocks, About: crd(plural),
			Says: "Objects are stored as v1alpha1, which its definition does not know any more, so that nobody can read or delete them. Serve v1alpha1 " +
				"for as long as it takes to copy and delete them, then run this again.",
			Do: []string{
				fmt.Sprintf(`kubectl patch crd %s --type=json -p '[{"op":"add","path":"/spec/versions/-","value":%s}]'`, crd(plural), version),
				fmt.Sprintf("kubectl get %s.%s.%s -A -o yaml >%s.v1alpha1.yaml", plural, Old, v2.GroupVersion.Group, plural),
				fmt.Sprintf("homelab-autoscaler convert <%s.v1alpha1.yaml >%s.v2alpha1.yaml", plural, plural),
				fmt.Sprintf("kubectl delete %s.%s.%s -A --all", plural, Old, v2.GroupVersion.Group),
				fmt.Sprintf(`kubectl patch crd %s --type=json -p '[{"op":"remove","path":"/spec/versions/1"}]'`, crd(plural)),
			}})
	}
	return found
}

// managedFields finds objects to which server-side apply is refused.
func managedFields(s *Snapshot) []Finding {
	var found []Finding
	for _, plural := range []string{"nodes", "groups"} {
		if _, served := s.has(plural, Old); served {
			continue
		}
		for _, object := range s.objects(plural) {
			stale := false
			for _, entry := range object.GetManagedFields() {
				stale = stale || entry.APIVersion == v2.GroupVersion.Group+"/"+Old
			}
			if stale {
				found = append(found, Finding{Severity: Blocks, About: crd(plural) + " " + object.GetNamespace() + "/" + object.GetName(),
					Says: "Its metadata.managedFields name v1alpha1, which is not served any more: the API server refuses every server-side apply to it, " +
						"as Helm, Flux and Argo CD do it, and may refuse other writes. Clearing them loses nothing but who wrote which field.",
					Do: []string{fmt.Sprintf(`kubectl patch %s %s -n %s --type=json -p '[{"op":"replace","path":"/metadata/managedFields","value":[{}]}]'`,
						crd(plural), object.GetName(), object.GetNamespace())}})
			}
		}
	}
	return found
}

// definitions finds kinds of 0.2 that are missing or older than this program.
func definitions(s *Snapshot) []Finding {
	anyNew := slices.ContainsFunc(s.Ours, func(k schema.Kind) bool { there, _ := s.has(k.Plural, New); return there })
	if !anyNew {
		return nil // 0.2 comes with the upgrade
	}
	var found []Finding
	for _, kind := range s.Ours {
		says := ""
		if _, served := s.has(kind.Plural, New); !served {
			says = "It is missing, or does not serve v2alpha1, so that 0.2 does not start."
		} else if missing := schema.Lacks(kind.Schema, published(s.Definitions[kind.Plural])); len(missing) > 0 {
			says = "It is older than this program: it lacks " + schema.Brief(missing) + ". The API server would drop, without a word, what is written there, " +
				"so that a manager of this release does not start. helm upgrade replaces it where crd.enable is true; otherwise:"
		}
		if says != "" {
			found = append(found, Finding{Severity: Blocks, About: crd(kind.Plural), Says: says,
				Do: []string{"kubectl apply --server-side --force-conflicts --field-manager=helm -f config/crd/bases"}})
		}
	}
	return found
}

// published is the schema of v2alpha1 that a definition has.
func published(definition *apiextensionsv1.CustomResourceDefinition) schema.Schema {
	for _, version := range definition.Spec.Versions {
		if version.Name != New || version.Schema == nil {
			continue
		}
		var read schema.Schema
		if raw, err := json.Marshal(version.Schema.OpenAPIV3Schema); err == nil && json.Unmarshal(raw, &read) == nil {
			return read
		}
	}
	return nil
}

// helmOwnership finds definitions that Helm would refuse to replace.
func helmOwnership(s *Snapshot) []Finding {
	var found []Finding
	for _, kind := range s.Ours {
		definition := s.Definitions[kind.Plural]
		if definition == nil || definition.Labels["app.kubernetes.io/managed-by"] == "Helm" {
			continue
		}
		found = append(found, Finding{Severity: Warns, About: crd(kind.Plural),
			Says: "It does not belong to a Helm release. helm upgrade refuses to take over what it does not own, and leaves alone what came from a crds/ " +
				"folder. Give it to the release, or set crd.enable: false and replace the definitions by hand.",
			Do: []string{
				fmt.Sprintf("kubectl label crd %s app.kubernetes.io/managed-by=Helm --overwrite", crd(kind.Plural)),
				fmt.Sprintf("kubectl annotate crd %s meta.helm.sh/release-name=homelab-autoscaler meta.helm.sh/release-namespace=%s --overwrite",
					crd(kind.Plural), s.Namespace),
			}})
	}
	return found
}

// slotOf is the slot whose kubelet registers under a name.
func (s *Snapshot) slotOf(kubeNode string) (unstructured.Unstructured, bool) {
	for _, slot := range s.Slots {
		if kubeNodeName(slot) == kubeNode {
			return slot, true
		}
	}
	return unstructured.Unstructured{}, false
}

// nodeNames finds machines that no slot would know, and slots that are on and would not know their machine.
func nodeNames(s *Snapshot) []Finding {
	var found []Finding
	for _, kubeNode := range s.KubeNodes {
		slot, ours := strings.CutPrefix(kubeNode.Spec.ProviderID, v2.ProviderIDPrefix)
		if _, known := s.slotOf(kubeNode.Name); ours && !known && len(s.Slots) > 0 {
			found = append(found, Finding{Severity: Warns, About: "kubeNode " + kubeNode.Name,
				Says: fmt.Sprintf("Its providerID is homelab://%s, and no slot has spec.kubernetesNodeName %s: its machine belongs to no pool, and nobody will "+
					"switch it off. Name it in the slot of its machine.", slot, kubeNode.Name),
				Do: []string{"kubectl get " + crd("nodes") +
					" -A -o custom-columns=NAMESPACE:.metadata.namespace,SLOT:.metadata.name,KUBENODE:.spec.kubernetesNodeName"}})
		}
	}
	for _, slot := range s.Slots {
		if name := kubeNodeName(slot); text(slot, "status", "powerState") == "on" && len(s.KubeNodes) > 0 && s.kubeNode(name) == nil {
			found = append(found, Finding{Severity: Warns, About: "slot " + slot.GetNamespace() + "/" + slot.GetName(),
				Says: fmt.Sprintf("Its machine is said to be on, and no kubeNode is called %s. If its kubelet registers under another name, a boot never "+
					"becomes ready: correct spec.kubernetesNodeName.", name),
				Do: []string{"kubectl get nodes"}})
		}
	}
	return found
}

// providerIDs finds machines that register with another id than cluster-autoscaler would be told.
func providerIDs(s *Snapshot) []Finding {
	var found []Finding
	for _, slot := range s.Slots {
		kubeNode := s.kubeNode(kubeNodeName(slot))
		if kubeNode == nil || kubeNode.Spec.ProviderID == "" || kubeNode.Spec.ProviderID == declared(slot) {
			continue
		}
		found = append(found, mismatch(s, slot, kubeNode))
	}
	return found
}

func declared(slot unstructured.Unstructured) string {
	if id := text(slot, "spec", "providerID"); id != "" {
		return id
	}
	return v2.ProviderIDPrefix + slot.GetName()
}

func mismatch(s *Snapshot, slot unstructured.Unstructured, kubeNode *corev1.Node) Finding {
	id := kubeNode.Spec.ProviderID
	f := Finding{Severity: Warns, About: "slot " + slot.GetNamespace() + "/" + slot.GetName(),
		Says: fmt.Sprintf("kubeNode %s carries the providerID %s, not %s. 0.2 goes by what the kubeNode carries, and says so in the condition "+
			"ProviderIDMismatch until the slot expects it: spec.providerID: %s.", kubeNode.Name, id, declared(slot), id)}
	if _, served := s.has("nodes", New); served {
		f.Do = []string{fmt.Sprintf(`kubectl patch %s %s -n %s --type=merge -p '{"spec":{"providerID":%q}}'`, crd("nodes"), slot.GetName(), slot.GetNamespace(), id)}
	} else {
		f.Do = []string{"# in its manifest for 0.2, under spec:\nproviderID: " + id}
	}
	return f
}

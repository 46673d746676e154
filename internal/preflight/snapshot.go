package preflight

import (
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/schema"
)

// Old and New are the versions of our API in 0.1 and in 0.2.
const (
	Old = "v1alpha1"
	New = "v2alpha1"
)

// Snapshot is everything that is judged.
type Snapshot struct {
	// Namespace is where the operator is or will be installed.
	Namespace string
	// Kubernetes is the API server's version, as v1.37.2; Major and Minor are its numbers.
	Kubernetes   string
	Major, Minor int
	// Served are the resources that the API server serves, as batch/v1/jobs and, for the core group, v1/nodes.
	Served map[string]bool
	// Definitions are those of our kinds, by plural; a plural without one is not there.
	Definitions map[string]*apiextensionsv1.CustomResourceDefinition
	// Slots and Groups are our objects of all namespaces, in whichever version they are served.
	Slots, Groups []unstructured.Unstructured
	// Unreadable are the plurals of kinds whose objects the API server cannot read any more.
	Unreadable []string
	// Deployments are those of all namespaces, KubeNodes those of the cluster.
	Deployments []appsv1.Deployment
	KubeNodes   []corev1.Node
	// Ours are our kinds as this program knows them.
	Ours []schema.Kind
	// Unread is what could not be read, and why.
	Unread []string
}

// has is whether the definition of a kind has a version, and whether it is served.
func (s *Snapshot) has(plural, version string) (there, served bool) {
	definition := s.Definitions[plural]
	if definition == nil {
		return false, false
	}
	for _, v := range definition.Spec.Versions {
		if v.Name == version {
			return true, v.Served
		}
	}
	return false, false
}

// stored is whether objects of a kind may be stored in a version.
func (s *Snapshot) stored(plural, version string) bool {
	definition := s.Definitions[plural]
	return definition != nil && slices.Contains(definition.Status.StoredVersions, version)
}

// old is whether something of 0.1 is left in the definitions.
func (s *Snapshot) old() bool {
	for plural := range s.Definitions {
		if there, _ := s.has(plural, Old); there || s.stored(plural, Old) {
			return true
		}
	}
	return false
}

func (s *Snapshot) installed() string {
	var found []string
	if s.old() {
		found = append(found, "0.1")
	}
	if there, _ := s.has("nodes", New); there {
		found = append(found, "0.2")
	}
	if len(found) == 0 {
		return "nothing"
	}
	return strings.Join(found, " and ")
}

// objects are those of a kind.
func (s *Snapshot) objects(plural string) []unstructured.Unstructured {
	switch plural {
	case "nodes":
		return s.Slots
	case "groups":
		return s.Groups
	}
	return nil
}

// crd is the name of a kind's definition, as people type it.
func crd(plural string) string { return plural + "." + v2.GroupVersion.Group }

// text is a string in an object, or nothing.
func text(object unstructured.Unstructured, path ...string) string {
	found, _, _ := unstructured.NestedString(object.Object, path...)
	return found
}

// kubeNodeName is what a slot's kubelet registers as. 0.1 went by the slot's name where nothing else was said.
func kubeNodeName(slot unstructured.Unstructured) string {
	if name := text(slot, "spec", "kubernetesNodeName"); name != "" {
		return name
	}
	return slot.GetName()
}

func (s *Snapshot) kubeNode(name string) *corev1.Node {
	for i := range s.KubeNodes {
		if s.KubeNodes[i].Name == name {
			return &s.KubeNodes[i]
		}
	}
	return nil
}

// running is whether a Deployment wants pods.
func running(d appsv1.Deployment) bool { return d.Spec.Replicas == nil || *d.Spec.Replicas > 0 }

// said are the command lines of a Deployment's containers, one word each.
func said(d appsv1.Deployment) []string {
	var words []string
	for _, container := range d.Spec.Template.Spec.Containers {
		words = append(append(words, container.Command...), container.Args...)
	}
	return words
}

// isClient is whether a Deployment runs a cluster-autoscaler that asks us for machines.
func isClient(d appsv1.Deployment) bool {
	return strings.HasSuffix(d.Name, "homelab-autoscaler-cluster-autoscaler") || slices.Contains(said(d), "--cloud-provider=externalgrpc")
}

// isOldManager is whether a Deployment runs the operator of 0.1. Where neither its labels nor its image tell the version (an
// image by its digest, or by a tag like latest), it is taken for that while v1alpha1 is there.
func (s *Snapshot) isOldManager(d appsv1.Deployment) bool {
	if !strings.Contains(d.Name, "homelab-autoscaler") || isClient(d) {
		return false
	}
	told := slices.DeleteFunc(versions(d), func(v string) bool { return !versioned.MatchString(v) })
	if len(told) == 0 {
		return s.old()
	}
	return slices.ContainsFunc(told, func(v string) bool { return strings.HasPrefix(v, "0.1.") })
}

// versioned is what a release's version begins with.
var versioned = regexp.MustCompile(`^[0-9]+\.[0-9]+\.`)

// versions are where a Deployment may say which release it runs, right or wrong.
func versions(d appsv1.Deployment) []string {
	words := []string{d.Labels["app.kubernetes.io/version"], strings.TrimPrefix(d.Labels["helm.sh/chart"], "homelab-autoscaler-")}
	for _, container := range d.Spec.Template.Spec.Containers {
		name, _, _ := strings.Cut(container.Image[strings.LastIndex(container.Image, "/")+1:], "@")
		_, tag, _ := strings.Cut(name, ":")
		words = append(words, tag)
	}
	for i := range words {
		words[i] = strings.TrimPrefix(words[i], "v")
	}
	return words
}

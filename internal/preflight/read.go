package preflight

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/schema"
)

// answerWithin bounds one question.
const answerWithin = 20 * time.Second

// reader takes a snapshot.
type reader struct {
	kinds  *discovery.DiscoveryClient
	client client.Reader
	s      *Snapshot
}

// Read takes a snapshot of a cluster. What it may not read it names in Unread; it fails only where nothing answers.
func Read(ctx context.Context, reach *rest.Config, namespace string) (*Snapshot, error) {
	reach = rest.CopyConfig(reach)
	reach.Timeout, reach.QPS = answerWithin, -1
	scheme, err := kube.NewScheme()
	if err == nil {
		err = apiextensionsv1.AddToScheme(scheme)
	}
	if err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(reach)
	if err != nil {
		return nil, fmt.Errorf("reading how to reach the API server: %w", err)
	}
	r := &reader{kinds: kinds, s: &Snapshot{Namespace: namespace, Definitions: map[string]*apiextensionsv1.CustomResourceDefinition{}}}
	if r.s.Ours, err = schema.Ours(); err != nil {
		return nil, err
	}
	if err := r.version(); err != nil {
		return nil, fmt.Errorf("the API server at %s does not answer: %w", reach.Host, err)
	}
	if r.client, err = client.New(reach, client.Options{Scheme: scheme}); err != nil {
		return nil, fmt.Errorf("reading what the API server at %s serves: %w", reach.Host, err)
	}
	r.served()
	for _, kind := range r.s.Ours {
		r.definition(ctx, kind.Plural)
	}
	r.s.Slots = r.objects(ctx, "nodes", "Node")
	r.s.Groups = r.objects(ctx, "groups", "Group")
	r.others(ctx)
	return r.s, nil
}

func (r *reader) missed(what string, err error) {
	r.s.Unread = append(r.s.Unread, what+": "+strings.Join(strings.Fields(err.Error()), " "))
}

func (r *reader) version() error {
	version, err := r.kinds.ServerVersion()
	if err != nil {
		return err
	}
	r.s.Kubernetes = version.GitVersion
	r.s.Major, _ = strconv.Atoi(version.Major)
	r.s.Minor, _ = strconv.Atoi(strings.TrimRight(version.Minor, "+"))
	return nil
}

// served reads what is served. A group of somebody else that does not answer is no concern of ours.
func (r *reader) served() {
	_, lists, err := r.kinds.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		r.missed("what the API server serves", err)
		return
	}
	r.s.Served = map[string]bool{}
	for _, list := range lists {
		for _, resource := range list.APIResources {
			r.s.Served[list.GroupVersion+"/"+resource.Name] = true
		}
	}
}

func (r *reader) definition(ctx context.Context, plural string) {
	var definition apiextensionsv1.CustomResourceDefinition
	switch err := r.client.Get(ctx, client.ObjectKey{Name: crd(plural)}, &definition); {
	case apierrors.IsNotFound(err):
	case err != nil:
		r.missed("CustomResourceDefinition "+crd(plural), err)
	default:
		r.s.Definitions[plural] = &definition
	}
}

// objects lists a kind of ours in a version that is served, the old one if there is a choice: it has the old fields.
func (r *reader) objects(ctx context.Context, plural, kind string) []unstructured.Unstructured {
	version := Old
	if _, served := r.s.has(plural, Old); !served {
		version = New
		if _, served := r.s.has(plural, New); !served {
			return nil
		}
	}
	found, err := r.list(ctx, runtimeschema.GroupVersionKind{Group: v2.GroupVersion.Group, Version: version, Kind: kind + "List"})
	if err == nil {
		return found
	}
	// It may come as several kinds of error. That the API server, asked for the new version, names the old one is what says
	// that it has met an object which it cannot decode.
	var status apierrors.APIStatus
	if errors.As(err, &status) && version == New && strings.Contains(status.Status().Message, v2.GroupVersion.Group+"/"+Old) {
		r.s.Unreadable = append(r.s.Unreadable, plural)
		return nil
	}
	r.missed(crd(plural), err)
	return nil
}

// page is how many objects are asked for at once. Pages come from the store, as they do for kubectl: a list that comes from
// the watch cache waits for a cache that objects which cannot be decoded keep from filling.
const page = 500

func (r *reader) list(ctx context.Context, kind runtimeschema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	for next := ""; ; {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(kind)
		if err := r.client.List(ctx, &list, client.Limit(page), client.Continue(next)); err != nil {
			return nil, err
		}
		all = append(all, list.Items...)
		if next = list.GetContinue(); next == "" {
			return all, nil
		}
	}
}

func (r *reader) others(ctx context.Context) {
	var deployments appsv1.DeploymentList
	if err := r.client.List(ctx, &deployments); err != nil {
		r.missed("deployments", err)
	}
	var kubeNodes corev1.NodeList
	if err := r.client.List(ctx, &kubeNodes); err != nil {
		r.missed("nodes", err)
	}
	r.s.Deployments, r.s.KubeNodes = deployments.Items, kubeNodes.Items
}

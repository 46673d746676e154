package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/schema"
)

// watchServed is how often a running manager looks whether its kinds are still served.
const watchServed = 30 * time.Second

const applyCRDs = "kubectl apply --server-side --force-conflicts -f config/crd/bases (or the Helm chart)"

var (
	// ErrUnserved is an API server that does not serve our kinds.
	ErrUnserved = errors.New("install the CustomResourceDefinitions: " + applyCRDs)
	// ErrOutdated is an API server whose definitions of our kinds are older than we are. It would drop, without a word, what
	// we save in fields that it does not know.
	ErrOutdated = errors.New("they are older than this manager; replace the CustomResourceDefinitions by those of this release: " + applyCRDs)
)

// unfit is whether an API server definitely does not serve our kinds as we know them.
func unfit(err error) bool { return errors.Is(err, ErrUnserved) || errors.Is(err, ErrOutdated) }

// served is nil when the API server serves our kinds at all.
func (l *look) served(context.Context) error {
	list, err := l.kinds.ServerResourcesForGroupVersion(v2.GroupVersion.String())
	if err != nil && kube.Classify(err) != kube.Gone {
		return err
	}
	kinds, unread := schema.Ours()
	if unread != nil {
		return unread
	}
	var missing []string
	for _, kind := range kinds {
		if err != nil || !serves(list, kind.Plural) || !serves(list, kind.Plural+"/status") {
			missing = append(missing, kind.Plural+"."+v2.GroupVersion.Group)
		}
	}
	slices.Sort(missing)
	if len(missing) > 0 {
		return fmt.Errorf("the API server does not serve %s in version %s: %w", strings.Join(missing, ", "), v2.GroupVersion.Version, ErrUnserved)
	}
	return nil
}

func serves(list *metav1.APIResourceList, resource string) bool {
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource })
}

// current is nil when the API server's definitions of our kinds know every field that we do. It asks for what everybody may
// ask, the published schemas, and reads them again only when they have changed.
func (l *look) current(ctx context.Context) error {
	at, err := l.published(ctx)
	if err != nil || at == l.fitting {
		return err
	}
	document, err := l.fetch(ctx, at)
	if err != nil {
		return err
	}
	kinds, err := schema.Ours()
	if err != nil {
		return err
	}
	var faults []string
	published := schema.Published(document, v2.GroupVersion.Group, v2.GroupVersion.Version)
	for _, kind := range kinds {
		other, known := published[kind.Name]
		if !known {
			return fmt.Errorf("the API server does not publish the schema of %s.%s yet", kind.Plural, v2.GroupVersion.Group)
		}
		if missing := schema.Lacks(kind.Schema, other); len(missing) > 0 {
			faults = append(faults, fmt.Sprintf("%s.%s lacks %s", kind.Plural, v2.GroupVersion.Group, schema.Brief(missing)))
		}
	}
	if len(faults) > 0 {
		return fmt.Errorf("the API server's definition of %s: %w", strings.Join(faults, ", of "), ErrOutdated)
	}
	l.fitting = at
	return nil
}

// published is where the API server publishes the schemas of our kinds. The address changes when they do.
func (l *look) published(ctx context.Context) (string, error) {
	index, err := l.fetch(ctx, "/openapi/v3")
	if err != nil {
		return "", err
	}
	paths, _ := index["paths"].(map[string]any)
	entry, _ := paths["apis/"+v2.GroupVersion.String()].(map[string]any)
	at, _ := entry["serverRelativeURL"].(string)
	if at == "" {
		return "", fmt.Errorf("the API server does not publish the schemas of %s yet", v2.GroupVersion)
	}
	return at, nil
}

// fetch reads a document of the API server.
func (l *look) fetch(ctx context.Context, at string) (map[string]any, error) {
	path, err := url.Parse(at)
	if err != nil {
		return nil, fmt.Errorf("reading the address of a published schema: %w", err)
	}
	request := l.kinds.RESTClient().Get().AbsPath(path.Path).SetHeader("Accept", "application/json")
	for name, values := range path.Query() {
		for _, value := range values {
			request.Param(name, value)
		}
	}
	text, err := request.DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	var document map[string]any
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("reading %s of the API server: %w", path.Path, err)
	}
	return document, nil
}

// stayServed ends the manager when its kinds are no longer served, or only as they were in an older release: with objects
// or fields of ours out of sight, whatever it decided would be wrong. Two looks in a row must agree, and only a definite
// answer counts.
func (m *Manager) stayServed(ctx context.Context) error {
	look, err := newLook(m)
	if err != nil {
		return err
	}
	for before := false; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-m.clock.After(watchServed):
		}
		err := look.served(ctx)
		if err == nil {
			err = look.current(ctx)
		}
		if unfit(err) && before {
			return err
		}
		if unfit(err) {
			m.ready.not(err.Error())
		} else if before {
			m.ready.when(m.answers)
		}
		before = unfit(err)
	}
}

// Package webhook answers the API server's questions about objects of ours before they are stored: it fills in what a
// claim leaves out, refuses what only a look at other objects shows to be wrong, and warns of what is legal and unwise.
//
// Every judgement is one of core/validate; here objects are read for it and answers put into words of the protocol. All
// reads are live, since a claim that was made a moment ago is what matters. Where a read fails the object passes, with a
// warning: our own trouble never stops anybody, and the controllers repair what comes of it. Nothing is asked about
// deletes, about writes of a status, or about objects on their way out.
package webhook

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/kube"
)

// The paths of the questions, as config/webhook registers them.
const (
	PathDefaultClaim  = "/default/nodeclaims"
	PathValidateClaim = "/validate/nodeclaims"
	PathValidateSlot  = "/validate/nodes"
	PathValidateGroup = "/validate/groups"
)

// readTime bounds the reads behind one answer. It is below the time-outs of config/webhook, so that an API server that is
// slow to answer us still gets its own answer.
const readTime = 2 * time.Second

// Config is what the answers are made from.
type Config struct {
	// Namespace is the one that is served; objects of another pass, with a warning.
	Namespace string
	Scheme    *runtime.Scheme
	Live      *kube.Live
	Clock     clock.PassiveClock
	// Policy is what a group's spec overrides.
	Policy policy.Policy
	Log    logr.Logger
}

// Handler answers all questions, each at its path.
func Handler(c Config) (http.Handler, error) {
	mux := http.NewServeMux()
	for path, hook := range map[string]*admission.Webhook{
		PathDefaultClaim:  {Handler: &claimDefaulter{c, admission.NewDecoder(c.Scheme)}},
		PathValidateClaim: admission.WithValidator(c.Scheme, admission.Validator[*v2.NodeClaim](&claimValidator{c})),
		PathValidateSlot:  admission.WithValidator(c.Scheme, admission.Validator[*v2.Node](&slotValidator{c})),
		PathValidateGroup: admission.WithValidator(c.Scheme, admission.Validator[*v2.Group](&groupValidator{c})),
	} {
		handler, err := admission.StandaloneWebhook(hook, admission.StandaloneOptions{Logger: c.Log, MetricsPath: path})
		if err != nil {
			return nil, fmt.Errorf("building the webhook %s: %w", path, err)
		}
		mux.Handle(path, handler)
	}
	return mux, nil
}

// serves is whether an object's namespace is ours; the warning says so if it is not.
func (c *Config) serves(namespace string) (bool, admission.Warnings) {
	if namespace == c.Namespace {
		return true, nil
	}
	return false, admission.Warnings{fmt.Sprintf("this homelab-autoscaler serves namespace %s: in %s nothing will come of this object", c.Namespace, namespace)}
}

// unread lets an object pass that could not be judged.
func (c *Config) unread(err error) (admission.Warnings, error) {
	c.Log.Error(err, "an object passes unjudged")
	return admission.Warnings{"homelab-autoscaler could not look at what surrounds this object, which passes unjudged: " + err.Error()}, nil
}

// refuse is the API server's own kind of error, so that a client shows fields and reasons as it does for the schema's.
func refuse(kind, name string, faults field.ErrorList) error {
	if len(faults) == 0 {
		return nil
	}
	return apierrors.NewInvalid(v2.GroupVersion.WithKind(kind).GroupKind(), name, faults)
}

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, readTime)
}

package manager

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What the manager may do, and no more. The manifests are generated from these lines, and the manager asks at its start
// whether it has been given them.
//
// In its own namespace:
//
// +kubebuilder:rbac:groups=infra.homecluster.dev,namespace=homelab-autoscaler-system,resources=groups,verbs=get;list;watch
// +kubebuilder:rbac:groups=infra.homecluster.dev,namespace=homelab-autoscaler-system,resources=nodes,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infra.homecluster.dev,namespace=homelab-autoscaler-system,resources=nodeclaims,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=infra.homecluster.dev,namespace=homelab-autoscaler-system,resources=groups/status;nodes/status;nodeclaims/status,verbs=patch
// +kubebuilder:rbac:groups=batch,namespace=homelab-autoscaler-system,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,namespace=homelab-autoscaler-system,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",namespace=homelab-autoscaler-system,resources=events,verbs=create;patch;list
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=homelab-autoscaler-system,resources=leases,verbs=get;create;update
//
// Its own certificate, where nobody else keeps one. A creation cannot be bound to a name:
//
// +kubebuilder:rbac:groups="",namespace=homelab-autoscaler-system,resources=secrets,resourceNames=homelab-autoscaler-certs,verbs=get;patch
// +kubebuilder:rbac:groups="",namespace=homelab-autoscaler-system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,resourceNames=homelab-autoscaler,verbs=get;patch
//
// To ask who wants to read the metrics, and whether they may:
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
//
// In the whole cluster: kubeNodes have no namespace, and the pods of a machine that is drained may have any.
//
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get

// right is something the manager does to a kind of object.
type right struct {
	group, resource string
	verbs           []string
	// name is the only object that it is done to; empty: any.
	name string
}

func (l *look) rights() []right {
	const ours = "infra.homecluster.dev"
	rights := []right{
		{group: ours, resource: "groups", verbs: []string{"get", "list", "watch"}},
		{group: ours, resource: "nodes", verbs: []string{"get", "list", "watch", "patch"}},
		{group: ours, resource: "nodeclaims", verbs: []string{"get", "list", "watch", "create", "patch", "delete"}},
		{group: ours, resource: "groups/status", verbs: []string{"patch"}},
		{group: ours, resource: "nodes/status", verbs: []string{"patch"}},
		{group: ours, resource: "nodeclaims/status", verbs: []string{"patch"}},
		{group: "batch", resource: "jobs", verbs: []string{"get", "list", "watch", "create", "patch", "delete"}},
		{group: "events.k8s.io", resource: "events", verbs: []string{"create", "patch"}},
		{group: "", resource: "nodes", verbs: []string{"get", "list", "watch", "patch", "delete"}},
		{group: "", resource: "pods", verbs: []string{"list", "watch"}},
		{group: "", resource: "pods/eviction", verbs: []string{"create"}},
		{group: "policy", resource: "poddisruptionbudgets", verbs: []string{"list", "watch"}},
	}
	if l.config.LeaderElection.Enabled {
		rights = append(rights, right{group: "coordination.k8s.io", resource: "leases", verbs: []string{"get", "create", "update"}})
	}
	return append(rights, l.portRights()...)
}

// portRights are what the ports need that the configuration asks for.
func (l *look) portRights() []right {
	var rights []right
	c := l.config
	if c.OwnCertificate() {
		rights = append(rights,
			right{resource: "secrets", verbs: []string{"get", "patch"}, name: c.TLS.Secret},
			right{resource: "secrets", verbs: []string{"create"}})
		if name := c.Webhook.Configuration; c.Webhook.On() && name != "" {
			const group = "admissionregistration.k8s.io"
			rights = append(rights,
				right{group: group, resource: "mutatingwebhookconfigurations", verbs: []string{"get", "patch"}, name: name},
				right{group: group, resource: "validatingwebhookconfigurations", verbs: []string{"get", "patch"}, name: name})
		}
	}
	if c.MetricsOn() && !c.MetricsInsecure {
		rights = append(rights,
			right{group: "authentication.k8s.io", resource: "tokenreviews", verbs: []string{"create"}},
			right{group: "authorization.k8s.io", resource: "subjectaccessreviews", verbs: []string{"create"}})
	}
	return rights
}

// permitted asks once what we may do and says what is missing. An API server that cannot list its rules completely is
// believed to grant them; a missing one then shows at the first write that needs it.
func (l *look) permitted(ctx context.Context) error {
	review, err := l.clients.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: l.namespace},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("asking what we may do: %w", err)
	}
	if review.Status.Incomplete {
		return nil
	}
	if missing := lacking(l.rights(), review.Status.ResourceRules); len(missing) > 0 {
		return fmt.Errorf("missing rights, apply the Role and ClusterRole of config/rbac (or the Helm chart): %s", strings.Join(missing, ", "))
	}
	return nil
}

// lacking are the rights that no rule grants, as "verb resource.group".
func lacking(rights []right, rules []authorizationv1.ResourceRule) []string {
	var missing []string
	for _, right := range rights {
		for _, verb := range right.verbs {
			if !slices.ContainsFunc(rules, func(rule authorizationv1.ResourceRule) bool { return grants(rule, right, verb) }) {
				missing = append(missing, verb+" "+strings.TrimSuffix(right.resource+"."+right.group, "."))
			}
		}
	}
	return missing
}

func grants(rule authorizationv1.ResourceRule, right right, verb string) bool {
	resource, subresource, _ := strings.Cut(right.resource, "/")
	named := len(rule.ResourceNames) == 0 || right.name != "" && slices.Contains(rule.ResourceNames, right.name)
	return named && has(rule.APIGroups, right.group) && has(rule.Verbs, verb) &&
		(has(rule.Resources, right.resource) || subresource != "" && (has(rule.Resources, resource+"/*") || has(rule.Resources, "*/"+subresource)))
}

func has(list []string, value string) bool {
	return slices.Contains(list, value) || slices.Contains(list, "*")
}

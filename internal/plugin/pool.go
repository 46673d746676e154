package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// pool is what a namespace holds, by name.
type pool struct {
	groups []v2.Group
	slots  []*v2.Node
	claims map[string][]*v2.NodeClaim
}

// load reads the whole namespace.
func (s *session) load(ctx context.Context) (*pool, error) {
	cluster, err := s.connect()
	if err != nil {
		return nil, err
	}
	namespace, err := s.namespace()
	if err != nil {
		return nil, err
	}
	var groups v2.GroupList
	var slots v2.NodeList
	var claims v2.NodeClaimList
	for _, list := range []client.ObjectList{&groups, &slots, &claims} {
		if err := cluster.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("reading the pool in namespace %s: %w", namespace, err)
		}
	}
	p := &pool{groups: groups.Items, claims: map[string][]*v2.NodeClaim{}}
	for i := range slots.Items {
		p.slots = append(p.slots, &slots.Items[i])
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		p.claims[claim.Spec.SlotRef.Name] = append(p.claims[claim.Spec.SlotRef.Name], claim)
	}
	slices.SortFunc(p.slots, func(a, b *v2.Node) int {
		return strings.Compare(a.Labels[v2.LabelGroup]+"/"+a.Name, b.Labels[v2.LabelGroup]+"/"+b.Name)
	})
	return p, nil
}

// slot reads one slot and the claims that name it.
func (s *session) slot(ctx context.Context, name string) (*v2.Node, []*v2.NodeClaim, error) {
	p, err := s.load(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, slot := range p.slots {
		if slot.Name == name {
			return slot, p.claims[name], nil
		}
	}
	namespace, err := s.namespace()
	if err != nil {
		return nil, nil, err
	}
	return nil, nil, fmt.Errorf("there is no slot %s in namespace %s%s", name, namespace, p.hint())
}

// hint names what there is, for whoever mistyped or looks in the wrong namespace.
func (p *pool) hint() string {
	if len(p.slots) == 0 {
		return ", nor any other: use -n to name the namespace of the operator"
	}
	var names []string
	for _, slot := range p.slots {
		names = append(names, slot.Name)
	}
	const most = 10
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return "; there are " + strings.Join(names, ", ")
}

// complete offers the names of slots to a shell.
func (s *session) complete(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	p, err := s.load(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, slot := range p.slots {
		names = append(names, slot.Name+"\t"+string(slot.Status.Phase))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// oneSlot is a command about one slot.
func (s *session) oneSlot(use, short string, run func(ctx context.Context, slot *v2.Node, claims []*v2.NodeClaim) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " SLOT", Short: short, Args: one("SLOT"), ValidArgsFunction: s.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			slot, claims, err := s.slot(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return run(cmd.Context(), slot, claims)
		},
	}
}

// one wants exactly one argument, and shows how.
func one(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return fmt.Errorf("name one %s: %s %s", strings.ReplaceAll(strings.ToLower(what), "|", " or "), cmd.CommandPath(), what)
	}
}

// explain says what is missing where the API server says only that something is.
func explain(err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w: ask whoever runs the cluster for the right to do that", err)
	}
	return err
}

package provider

import (
	"fmt"
	"unicode/utf8"

	"homecluster.dev/autoscaler/internal/core/pool"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

const (
	// maxName bounds a node's name: an invented one is a providerID.
	maxName = 1024
	// maxQuoted bounds what an error repeats of a request.
	maxQuoted = 128
)

// nodeRef reads how a node is called.
func nodeRef(node *pb.ExternalGrpcNode) (pool.NodeRef, error) {
	ref := pool.NodeRef{ProviderID: node.GetProviderID(), Name: node.GetName()}
	switch {
	case node == nil:
		return ref, pool.Faultf(pool.Malformed, "no node is named")
	case ref.ProviderID == "" && ref.Name == "":
		return ref, pool.Faultf(pool.Malformed, "the node has neither providerID nor name")
	case len(ref.ProviderID) > maxName || len(ref.Name) > maxName:
		return ref, pool.Faultf(pool.Malformed, "the node's name %s is too long", quoted(ref.Name))
	}
	return ref, nil
}

func nodeRefs(nodes []*pb.ExternalGrpcNode) ([]pool.NodeRef, error) {
	refs := make([]pool.NodeRef, len(nodes))
	for i, node := range nodes {
		ref, err := nodeRef(node)
		if err != nil {
			return nil, fmt.Errorf("reading node %d of %d: %w", i+1, len(nodes), err)
		}
		refs[i] = ref
	}
	return refs, nil
}

// quoted repeats a name from a request, bounded.
func quoted(name string) string {
	if len(name) <= maxQuoted {
		return fmt.Sprintf("%q", name)
	}
	cut := name[:maxQuoted]
	for len(cut) > 0 && !utf8.ValidString(cut) {
		cut = cut[:len(cut)-1]
	}
	return fmt.Sprintf("%q…", cut)
}

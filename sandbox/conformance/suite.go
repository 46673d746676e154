package conformance

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

const (
	// callTimeout is the client's own: each call carries it as its deadline.
	callTimeout = 5 * time.Second
	// defaultTellWithin is how long a provider may take to tell of what happened in its cluster.
	defaultTellWithin = 20 * time.Second
	// lookAgain is how long between two looks.
	lookAgain = 25 * time.Millisecond
)

// Need is what a case cannot do without.
type Need int

// The needs, each including those before it.
const (
	// Wire is satisfied by an address: the case reads, and asks for what must be refused.
	Wire Need = iota
	// Playground is a group whose machines may be asked for and given back.
	Playground
	// Cluster is a Ground.
	Cluster
)

// Case is one demand of the contract.
type Case struct {
	// RPC is the call that is judged, by its name on the wire.
	RPC string
	// Name is the demand as a sentence.
	Name string
	// Traps are those that the case springs.
	Traps []Trap
	// Need is what the case cannot do without.
	Need Need

	judge func(*run) error
}

// Finding is how a provider met one demand.
type Finding struct {
	// Case is the demand.
	Case Case
	// Unjudged says why the case was not judged; empty: it was.
	Unjudged string
	// Differs says what was not as demanded; empty: the demand is met.
	Differs []string
}

// Suite is a provider to be judged.
type Suite struct {
	// Conn reaches the provider.
	Conn grpc.ClientConnInterface
	// Ground is the provider's cluster; nil: there is none to be had.
	Ground Ground
	// Group is a group that may be scaled, at rest and with a free machine at least, where there is no Ground. Machines of
	// it are asked for and given back at once, which may well switch them on and off.
	Group string
	// TellWithin is how long the provider may take to tell of what happened in its cluster, and a machine of Group to go
	// down; zero: 20 seconds.
	TellWithin time.Duration

	calls tally
}

// tally counts the calls by name and code.
type tally struct {
	mu sync.Mutex
	of map[string]map[codes.Code]int
}

func (t *tally) add(rpc string, code codes.Code) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[string]map[codes.Code]int{}
	}
	if t.of[rpc] == nil {
		t.of[rpc] = map[codes.Code]int{}
	}
	t.of[rpc][code]++
}

// Calls are how often each call was made, by its name on the wire and by the code of its answer.
func (s *Suite) Calls() map[string]map[codes.Code]int {
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	return s.calls.of
}

// Cases are all demands, in the order in which they are best read.
func Cases() []Case {
	return slices.Concat(readCases(), optionCases(), priceCases(), increaseCases(), decreaseCases(), deleteCases(), trapCases())
}

// Judge holds the provider to one demand.
func (s *Suite) Judge(ctx context.Context, c Case) Finding {
	finding := Finding{Case: c}
	switch {
	case c.Need == Cluster && s.Ground == nil:
		finding.Unjudged = "it needs the cluster's side"
		return finding
	case c.Need == Playground && s.Ground == nil && s.Group == "":
		finding.Unjudged = "it needs a group that may be scaled"
		return finding
	}
	r := &run{ctx: ctx, suite: s}
	r.rpc = pb.NewCloudProviderClient(watched{s.Conn, r})
	if err := c.judge(r); err != nil {
		r.differ("%v", err)
	}
	finding.Differs, finding.Unjudged = r.differs, r.unjudged
	return finding
}

// run is one case being judged.
type run struct {
	ctx   context.Context
	suite *Suite
	rpc   pb.CloudProviderClient

	mu       sync.Mutex
	differs  []string
	unjudged string
}

func (r *run) differ(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.differs = append(r.differs, fmt.Sprintf(format, args...))
}

// watched gives each call the client's deadline, counts it, and notes an answer that came too late for the client.
type watched struct {
	grpc.ClientConnInterface
	run *run
}

func (w watched) Invoke(ctx context.Context, method string, args, reply any, options ...grpc.CallOption) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := w.ClientConnInterface.Invoke(ctx, method, args, reply, options...)
	code, rpc := status.Code(err), path.Base(method)
	w.run.suite.calls.add(rpc, code)
	if code == codes.DeadlineExceeded {
		w.run.differ("%s did not answer within %s", rpc, callTimeout)
	}
	return err
}

// until looks again and again until nothing is missing.
func (r *run) until(what string, missing func() string) error {
	within := cmp.Or(r.suite.TellWithin, defaultTellWithin)
	ctx, cancel := context.WithTimeout(r.ctx, within)
	defer cancel()
	for {
		last := missing()
		if last == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s within %s: %s", what, within, last)
		case <-time.After(lookAgain):
		}
	}
}

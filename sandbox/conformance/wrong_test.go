package conformance

import (
	"net"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// flaws are what can be wrong with the toy.
type flaws struct {
	boundsOfPurchase, cleanupForgets, brokenSpoilsAll, believesUpcoming, strangersFail, bootingBelongs, noBoundsForNodes,
	countsGoingDown, listsLate, hidesErrors, listsFirstID, sellsForEver, sellsHeld, sellsFailedFirst, sellsWhatThereIs, decreaseCutsBoots,
	noFloor, deletesAcrossGroups, deletesOneByOne, repetitionFails, neverOff, emptyTemplate, templateTakesNoPods, templateForNewerOnly,
	labelsEverything, allOrNothing, takesAbsurdDefaults, trustsTheID, alwaysHasOptions, optionsForNewerOnly, readsNewerTimesOnly,
	listsWithoutTemplate bool
}

// serve answers as the toy, and returns a suite for it that does not wait long.
func (t *toy) serve(test *testing.T) *Suite {
	test.Helper()
	listener, err := new(net.ListenConfig).Listen(test.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		test.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterCloudProviderServer(server, t)
	go func() { _ = server.Serve(listener) }() // it ends by Stop
	test.Cleanup(server.Stop)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		test.Fatal(err)
	}
	test.Cleanup(func() { _ = conn.Close() })
	return &Suite{Conn: conn, Ground: t, TellWithin: 200 * time.Millisecond}
}

// TestAProviderOfAnotherMakeMeetsEveryDemand judges a provider whose groups, instances and machines are named as ours never
// are.
func TestAProviderOfAnotherMakeMeetsEveryDemand(t *testing.T) {
	suite := newToy(flaws{}).serve(t)
	for _, c := range Cases() {
		if finding := suite.Judge(t.Context(), c); len(finding.Differs) > 0 || finding.Unjudged != "" {
			t.Errorf("%s, %s: differs %q, unjudged %q", c.RPC, c.Name, finding.Differs, finding.Unjudged)
		}
	}
}

// TestEachFlawIsFound builds one thing wrong into the toy after another: the suite finds it, in a case that springs the
// trap.
func TestEachFlawIsFound(t *testing.T) {
	trapped := map[Trap]bool{}
	for name, test := range map[string]struct {
		flaw flaws
		// traps are those under which it must be found; none: any case will do.
		traps []Trap
	}{
		"a machine that was given back never rests":             {flaws{neverOff: true}, []Trap{TrapNodesLeftBehind, TrapLingeringMarks}},
		"a node whose boot is not through is the group's":       {flaws{bootingBelongs: true}, []Trap{TrapEarlyNodes}},
		"options though nothing is overridden":                  {flaws{alwaysHasOptions: true}, []Trap{TrapHalfOptions}},
		"options without the older durations":                   {flaws{optionsForNewerOnly: true}, []Trap{TrapHalfOptions}},
		"an upcoming fake is taken for the machine it copies":   {flaws{believesUpcoming: true}, []Trap{TrapInventedNodes}},
		"a machine is listed by an id its node does not carry":  {flaws{listsFirstID: true}, []Trap{TrapOtherIDs}},
		"a batch is carried out as far as it is good":           {flaws{deletesOneByOne: true}, []Trap{TrapHalfBatches}},
		"a repeated delete is an error":                         {flaws{repetitionFails: true}, []Trap{TrapHalfBatches}},
		"a template without bytes":                              {flaws{emptyTemplate: true}, []Trap{TrapEmptyTemplates}},
		"a template for newer clients only":                     {flaws{templateForNewerOnly: true}, []Trap{TrapEmptyTemplates}},
		"a template on which no pod fits":                       {flaws{templateTakesNoPods: true}, []Trap{TrapEmptyTemplates}},
		"a group without a template is listed":                  {flaws{listsWithoutTemplate: true}, []Trap{TrapNoTemplates}},
		"a decrease cuts machines off":                          {flaws{decreaseCutsBoots: true}, []Trap{TrapGreedyDecreases}},
		"a failed boot is told without its error":               {flaws{hidesErrors: true}, []Trap{TrapFailedBoots}},
		"a broken group is everybody's error":                   {flaws{brokenSpoilsAll: true}, []Trap{TrapStrayErrors}},
		"a stranger is an error":                                {flaws{strangersFail: true}, []Trap{TrapStrayErrors}},
		"a machine that fails is sold for ever":                 {flaws{sellsForEver: true}, []Trap{TrapHotLoops}},
		"a machine that failed is sold before one that did not": {flaws{sellsFailedFirst: true}, []Trap{TrapHotLoops}},
		"all or nothing for a group of many":                    {flaws{allOrNothing: true}, []Trap{TrapAllOrNothing}},
		"no bounds for a node":                                  {flaws{noBoundsForNodes: true}, []Trap{TrapTwoBounds}},
		"maxSize counts what is not to be had":                  {flaws{boundsOfPurchase: true}, nil},
		"a client that leaves takes its requests along":         {flaws{cleanupForgets: true}, nil},
		"a machine that goes down counts":                       {flaws{countsGoingDown: true}, nil},
		"what was just asked for is not listed":                 {flaws{listsLate: true}, nil},
		"a held machine is sold":                                {flaws{sellsHeld: true}, nil},
		"an increase gives what there is":                       {flaws{sellsWhatThereIs: true}, nil},
		"no floor":                                              {flaws{noFloor: true}, nil},
		"a machine of another group is deleted":                 {flaws{deletesAcrossGroups: true}, nil},
		"a node that is two machines is taken for one":          {flaws{trustsTheID: true}, nil},
		"a machine without an accelerator has its label":        {flaws{labelsEverything: true}, nil},
		"absurd defaults are taken":                             {flaws{takesAbsurdDefaults: true}, nil},
		"only newer clients' times are read":                    {flaws{readsNewerTimesOnly: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			suite := newToy(test.flaw).serve(t)
			var found []Trap
			differing := 0
			for _, c := range Cases() {
				if finding := suite.Judge(t.Context(), c); len(finding.Differs) > 0 {
					found = append(found, c.Traps...)
					differing++
				}
			}
			if differing == 0 {
				t.Error("nothing was found")
			}
			for _, trap := range test.traps {
				trapped[trap] = true
				if !slices.Contains(found, trap) {
					t.Errorf("not sprung: %s; of %q", trap, found)
				}
			}
		})
	}
	for _, c := range Cases() {
		for _, trap := range c.Traps {
			if !trapped[trap] {
				t.Errorf("sprung by a case that no flaw has shown to fail: %s", trap)
			}
		}
	}
}

package conformance

import (
	"fmt"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
	"homecluster.dev/autoscaler/sandbox/controlplane/proxy"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// drawn is one step as the seed decides it, whatever the world looks like when it comes: so that a seed played again has
// the same steps.
type drawn struct {
	what, which, how int
	pause            time.Duration
}

func draw(random *rand.Rand) drawn {
	return drawn{random.IntN(24), random.IntN(1 << 16), random.IntN(1 << 16), time.Duration(random.IntN(1200)) * time.Millisecond}
}

// step makes one call or lets one thing happen, and checks until the next is due.
func (s *sequence) step(d drawn) {
	switch d.what {
	case 0, 1, 2, 3, 4:
		delta := int32(1 + d.how%2)
		s.note(fmt.Sprintf("increase by %d", delta), "increase", s.run.increase("g", delta))
	case 5, 6:
		delta := int32(-1 - d.how%2)
		s.note(fmt.Sprintf("decrease by %d", delta), "decrease", s.run.decrease("g", delta))
	case 7, 8, 9, 10, 11:
		s.giveBack(d)
	case 12:
		s.deleteByHand(d)
	case 13:
		s.askByHand(d)
	case 14:
		s.hold(d)
	case 15, 16:
		s.crash(d)
	case 17, 18:
		s.temper(d)
	case 19:
		metal := s.metal[d.which%len(s.metal)]
		s.tell("the power of %s fails", metal.Name())
		s.done["power lost"]++
		metal.LosePower()
	default:
		s.done["nothing"]++
	}
	s.check()
	for end := time.Now().Add(d.pause); time.Now().Before(end); time.Sleep(lookAgain) {
		s.check()
	}
}

func (s *sequence) tell(format string, args ...any) {
	s.history = append(s.history, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// note takes the answer to a call that writes, and fails for one that no client may get.
func (s *sequence) note(step, call string, err error) {
	code := status.Code(err)
	text := fmt.Sprint(err)
	s.tell("%s: %s", step, text[:min(len(text), 200)])
	s.done[call+" "+code.String()]++
	switch code {
	case codes.OK, codes.FailedPrecondition, codes.Unavailable:
	default:
		s.t.Errorf("%s: %v\n%s", step, err, s.told())
	}
}

// giveBack deletes a listed instance, or two at once, each as its node or as the client invents it.
func (s *sequence) giveBack(d drawn) {
	instances, err := s.run.instances("g")
	if err != nil {
		s.t.Fatal(err)
	}
	ids := keys(instances)
	var (
		nodes []*pb.ExternalGrpcNode
		named []string
	)
	for i := range min(len(ids), 1+d.how%2) {
		id := ids[(d.which+i)%len(ids)]
		node := invented(id, "unregistered")
		if d.how%3 > 0 {
			node = &pb.ExternalGrpcNode{Name: id[len(v2.ProviderIDPrefix):], ProviderID: id}
		}
		nodes, named = append(nodes, node), append(named, node.GetName())
	}
	if len(nodes) > 0 {
		s.note(fmt.Sprintf("delete %v", named), "delete", s.run.remove("g", nodes...))
	}
}

func (s *sequence) deleteByHand(d drawn) {
	claims := s.claims()
	if len(claims) == 0 {
		return
	}
	slots := keys(claims)
	of := claims[slots[d.which%len(slots)]]
	claim := of[d.how%len(of)]
	s.tell("somebody deletes claim %s", claim.Name)
	s.done["deleted by hand"]++
	if err := s.Delete(s.t.Context(), &claim); client.IgnoreNotFound(err) != nil {
		s.t.Fatalf("deleting claim %s by hand: %v", claim.Name, err)
	}
}

// askByHand makes a person's claim, also beside one that lives: no webhook is there to refuse it.
func (s *sequence) askByHand(d drawn) {
	slot := s.metal[d.which%len(s.metal)].Name()
	claim := &v2.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: slot + "-by-hand-" + string(uuid.NewUUID())[:5]},
		Spec: v2.NodeClaimSpec{SlotRef: objectNamed(slot), RequestedBy: somebody,
			Request: v2.ClaimRequest{Call: v2.CallCreate, Group: "g"}},
	}
	s.tell("somebody makes claim %s", claim.Name)
	s.done["made by hand"]++
	s.create(claim)
}

// hold takes a machine out of everybody's hands, or gives it back.
func (s *sequence) hold(d drawn) {
	slot, ctx := s.metal[d.which%len(s.metal)].Name(), s.t.Context()
	s.done["held or released"]++
	if err := retryConflict(func() error {
		object := &v2.Node{}
		if err := s.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: slot}, object); err != nil {
			return err
		}
		object.Spec.Suspend = !object.Spec.Suspend
		s.tell("slot %s is held: %t", slot, object.Spec.Suspend)
		return s.Update(ctx, object)
	}); err != nil {
		s.t.Fatalf("holding slot %s: %v", slot, err)
	}
}

// crash kills the manager, at once or after one of its next writes, while it is asked for a machine.
func (s *sequence) crash(d drawn) {
	at := d.how % 5
	s.done["crash"]++
	s.proxy.Arm(proxy.Fault{Kind: proxy.Cut, At: at})
	_ = s.run.increase("g", 1) // it may die of it
	select {
	case <-s.proxy.Cut():
		s.done["crash between writes"]++
	case <-time.After(time.Second):
		s.proxy.Arm(proxy.Fault{Kind: proxy.Cut})
	}
	s.tell("the manager dies after write %d of those that follow", at)
	s.stop()
	s.start()
	s.tell("the next one answers")
}

// temper gives a machine one of the tempers of metal, the good one among them.
func (s *sequence) temper(d drawn) {
	metal := s.metal[d.which%len(s.metal)]
	seconds := func(n int) metav1.Duration { return metav1.Duration{Duration: time.Duration(n) * time.Second} }
	tempers := map[string]machineroom.Temperament{
		"good":                           {},
		"never boots":                    {NeverBoots: true},
		"swallows a power-on":            {SwallowPowerOn: 1},
		"has a command that lies":        {CommandDoesNothing: 1},
		"ignores a soft off":             {IgnoreSoftOff: 1},
		"has a switch that fails":        {StartupSwitch: machineroom.SwitchErrors},
		"boots slowly":                   {SlowBoot: seconds(5)},
		"dies when ready and comes back": {DiesAfter: seconds(3), ComesBack: 1, ComesBackAfter: seconds(4)},
	}
	names := append(keys(tempers), "good", "good")
	name := names[d.how%len(names)]
	temper := tempers[name]
	s.tell("%s has this temper: %s", metal.Name(), name)
	s.done["temper"]++
	if err := metal.SetTemperament(temper); err != nil {
		s.t.Fatal(err)
	}
}

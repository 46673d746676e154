package rights

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/proto/externalgrpc"
	"homecluster.dev/autoscaler/sandbox/controlplane"
	"homecluster.dev/autoscaler/sandbox/house"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// unused are rights that a life does not need to use, with the reason why they are granted.
var unused = map[string]string{
	"list nodes":                             noStream,
	"list pods":                              noStream,
	"list poddisruptionbudgets.policy":       noStream,
	"list groups.infra.homecluster.dev":      noStream,
	"patch events.events.k8s.io":             "an event that is told again within minutes becomes a series",
	"patch events":                           "so does a core event, which leader election writes",
	"patch secrets homelab-autoscaler-certs": "a certificate is renewed after weeks; sandbox/admission rotates it",
}

// noStream is why lists are granted where watches are.
const noStream = "an API server that cannot begin a watch with what is there is asked for a list first"

// A manager lives a whole life as its ServiceAccount: a scale-up and a scale-down with a drain, asked for by
// cluster-autoscaler's calls; a boot whose Job gets no pod; a machine that somebody switched on, adopted and given back;
// metrics that somebody asks for. It is forbidden nothing, and has no right that it did not use.
func TestTheRulesAreWhatALifeNeeds(t *testing.T) {
	l := move(t)
	mine := func() []request { return requests(t, "system:serviceaccount:"+l.Namespace+":"+account) }
	t.Cleanup(func() { // also of a life that got stuck, for this may be why
		for _, one := range forbidden(mine()) {
			t.Errorf("forbidden: %s %s", one.Verb, one.RequestURI)
		}
	})
	l.scaleUp()
	l.scaleDown()
	l.bootWithoutPod()
	l.adopt()
	l.measure()
	l.Stop()

	asked := mine()
	t.Logf("%d requests", len(asked))
	granted := 0
	for _, role := range roles(t, l.Namespace) {
		for _, right := range rightsOf(role.Rules) {
			granted++
			used := false
			for _, one := range asked {
				used = used || right.uses(one)
			}
			switch reason := unused[right.String()]; {
			case !used && reason == "":
				t.Errorf("%s grants %q, which was not used", role.Kind, right)
			case used && reason != "":
				t.Logf("%q was used, though a life need not: %s", right, reason)
			}
		}
	}
	t.Logf("%d rights, %d of them with a reason instead of a use", granted, len(unused))
}

// life is a home whose manager has its own ServiceAccount and the ports of a cluster.
type life struct {
	*house.Home
	provider externalgrpc.CloudProviderClient
	metrics  string
}

func move(t *testing.T) life {
	t.Helper()
	h := house.New(t)
	l := life{Home: h.Home(t, house.Options{Group: func(group *v2.GroupSpec) {
		group.Engine, group.UnclaimedMachines = v2.EngineClusterAutoscaler, v2.UnclaimedAdopt
	}})}
	addresses := make([]string, 2)
	for i := range addresses {
		var err error
		if addresses[i], err = controlplane.FreeAddress(); err != nil {
			t.Fatal(err)
		}
	}
	l.metrics = addresses[1]
	l.Configure = func(c *config.Config) {
		c.LeaderElection = config.LeaderElection{Enabled: true, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: time.Second}
		c.TLS.Secret = "homelab-autoscaler-certs"
		c.GRPCAddress, c.MetricsAddress = addresses[0], addresses[1]
	}
	l.Manage(admit(t, h.ControlPlane, l.Namespace, roles(t, l.Namespace)))
	conn, err := grpc.NewClient(addresses[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	l.provider = externalgrpc.NewCloudProviderClient(conn)
	return l
}

func (l life) scaleUp() {
	l.T.Helper()
	l.Eventually("the provider takes a request", func(ctx context.Context) string {
		_, err := l.provider.NodeGroupIncreaseSize(ctx, &externalgrpc.NodeGroupIncreaseSizeRequest{Id: house.Pool, Delta: 1})
		if err != nil {
			return err.Error()
		}
		return ""
	})
	l.untilReady()
}

// untilReady waits for a ready claim and returns it.
func (l life) untilReady() (ready *v2.NodeClaim) {
	l.T.Helper()
	l.Eventually("a claim is ready", func(ctx context.Context) string {
		var claims v2.NodeClaimList
		if err := l.Client.List(ctx, &claims, client.InNamespace(l.Namespace)); err != nil {
			return err.Error()
		}
		for i, claim := range claims.Items {
			if claim.Status.Phase == v2.ClaimReady {
				ready = &claims.Items[i]
				return ""
			}
		}
		return fmt.Sprintf("of %d none is", len(claims.Items))
	})
	return ready
}

// untilOff waits until the machine has gone with its kubeNode, and the slot is free.
func (l life) untilOff() {
	l.T.Helper()
	l.Eventually("the slot is off", func(ctx context.Context) string {
		slot, err := l.Slot(ctx)
		if err != nil {
			return err.Error()
		}
		there, err := l.HasKubeNode(ctx)
		if err != nil || there || slot.Status.Phase != v2.SlotOff || len(slot.Finalizers) > 0 {
			return fmt.Sprintf("it is %q with %v, kubeNode %v (%v)", slot.Status.Phase, slot.Finalizers, there, err)
		}
		return ""
	})
}

func (l life) scaleDown() {
	l.T.Helper()
	l.Create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: l.Namespace},
		Spec: corev1.PodSpec{NodeName: l.Machine, TerminationGracePeriodSeconds: new(int64(0)),
			Containers: []corev1.Container{{Name: "db", Image: "none"}}},
	})
	ready := l.untilReady()
	if _, err := l.provider.NodeGroupDeleteNodes(l.T.Context(), &externalgrpc.NodeGroupDeleteNodesRequest{
		Id: house.Pool, Nodes: []*externalgrpc.ExternalGrpcNode{{Name: l.Machine, ProviderID: ready.Status.ProviderID}},
	}); err != nil {
		l.T.Fatal(err)
	}
	l.untilOff()
}

// bootWithoutPod asks for a machine whose startup Job cannot make its pod; why that is stands in the Job's events.
func (l life) bootWithoutPod() {
	l.T.Helper()
	runAs := func(account string) {
		l.T.Helper()
		if err := l.Client.Patch(l.T.Context(), &v2.Node{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: l.Machine}},
			client.RawPatch(types.MergePatchType, []byte(`{"spec": {"startupPodSpec": {"serviceAccount": `+account+`}}}`))); err != nil {
			l.T.Fatal(err)
		}
	}
	runAs(`"nobody"`)
	l.Ask("no-pod", 0)
	l.Eventually("the claim says why its Job has no pod", func(ctx context.Context) string {
		claim, err := l.Claim(ctx, "no-pod")
		if err != nil || claim == nil || !slices.ContainsFunc(claim.Status.Jobs, func(record v2.JobRecord) bool {
			return strings.Contains(record.Message, "nobody")
		}) {
			return fmt.Sprintf("%+v, %v", claim, err)
		}
		return ""
	})
	l.TakeBack("no-pod")
	l.untilOff()
	runAs(`null`)
}

func (l life) adopt() {
	l.T.Helper()
	l.Press(machineroom.ActionOn)
	l.TakeBack(l.untilReady().Name)
	l.untilOff()
}

// measure asks for the metrics as somebody who may not read them, which the manager learns from the API server.
func (l life) measure() {
	l.T.Helper()
	l.Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader", Namespace: l.Namespace}})
	reader := as(l.T, l.ControlPlane, l.Namespace, "reader")
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	request, err := http.NewRequestWithContext(l.T.Context(), http.MethodGet, "https://"+l.metrics+"/metrics", nil)
	if err != nil {
		l.T.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+reader.BearerToken)
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		l.T.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		l.T.Errorf("a stranger's look at the metrics is answered %s", response.Status)
	}
}

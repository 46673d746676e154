package rights

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/proto/externalgrpc"
	"homecluster.dev/autoscaler/sandbox/chart"
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

// The chart is installed by Helm, and its manager lives a whole life with the arguments, the certificates and the rights
// that it has from there and no others: two machines go up and down, with drains, asked for by cluster-autoscaler's calls
// over mutual TLS; a person wakes a third, whose Job gets no pod; somebody asks for the metrics; the release is upgraded
// meanwhile. It is forbidden nothing, and has no right that it did not use.
func TestTheChartIsWhatALifeNeeds(t *testing.T) {
	h := install(t, chart.Namespace, map[string]any{})
	h.neverForbidden()
	h.asked()
	h.furnish()
	h.askByHand()
	provider := h.provider()
	h.scaleUp(provider)
	h.upgrade()
	h.scaleDown(provider)
	h.podIsMissed()
	h.measure()

	roles := boundTo(t, h.clients, h.namespace, h.account())
	h.stop()
	asked := requests(t, h.user())
	t.Logf("%d requests", len(asked))
	granted := 0
	for _, role := range roles {
		for _, right := range rightsOf(role.rules) {
			granted++
			used := slices.ContainsFunc(asked, right.uses)
			switch reason := unused[right.String()]; {
			case !used && reason == "":
				t.Errorf("%s %s grants %q, which was not used", role.kind, role.name, right)
			case used && reason != "":
				t.Logf("%q was used, though a life need not: %s", right, reason)
			}
		}
	}
	t.Logf("%d rights, %d of them with a reason instead of a use", granted, len(unused))
	if granted == 0 {
		t.Error("the chart's ServiceAccount is bound to nothing")
	}
}

// The home's groups, and its machines: two for cluster-autoscaler, and one that cannot be worked, for a person.
const (
	pool, byHand = "pool", "by-hand"
	broken       = "broken"
)

var machines = []string{"one", "two"}

func (h *home) furnish() {
	h.t.Helper()
	for _, name := range []string{pool, byHand} {
		h.create(h.group(name))
	}
	for _, name := range append(machines, broken) {
		metal, err := h.room.AddMachine(machineroom.Machine{Name: name, Labels: map[string]string{v2.LabelNode: name}})
		if err != nil {
			h.t.Fatal(err)
		}
		slot := metal.Slot(h.namespace, pool)
		if name == broken {
			slot.Labels[v2.LabelGroup], slot.Spec.StartupPodSpec.ServiceAccount = byHand, "nobody"
		}
		h.create(&slot)
	}
}

// group has short times, so that a life takes seconds, and yet times that a busy computer keeps.
func (h *home) group(name string) *v2.Group {
	seconds := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Second} }
	return &v2.Group{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: name},
		Spec: v2.GroupSpec{
			NodeReadinessTaints: []v2.ReadinessTaint{},
			Timeouts: &v2.Timeouts{
				StartupJob: seconds(180), Registration: seconds(30), ReadinessGate: seconds(180), ShutdownJob: seconds(180),
				ShutdownSettle: seconds(9), Drain: seconds(5),
			},
		},
	}
}

// wish is a claim of four lines.
func (h *home) wish(name, slot, group string) *v2.NodeClaim {
	return &v2.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.served, Name: name},
		Spec:       v2.NodeClaimSpec{SlotRef: corev1.ObjectReference{Name: slot}, Request: v2.ClaimRequest{Call: v2.CallCreate, Group: group}},
	}
}

// askByHand asks as a person does, and has the webhook fill in the rest.
func (h *home) askByHand() {
	h.t.Helper()
	claim := h.wish("by-hand", broken, byHand)
	h.create(claim)
	if claim.Spec.DeadlineAt == nil || claim.Spec.RequestedBy == "" {
		h.t.Errorf("nobody completed the claim: %+v", claim.Spec)
	}
}

// provider calls as cluster-autoscaler would with the file and the Secret that the chart makes for it.
func (h *home) provider() externalgrpc.CloudProviderClient {
	h.t.Helper()
	file, err := h.clients.CoreV1().ConfigMaps(h.namespace).Get(h.t.Context(), chart.Release+"-cloud-config", metav1.GetOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	var config struct {
		Address string `json:"address"`
	}
	if err := yaml.Unmarshal([]byte(file.Data["cloud-config.yaml"]), &config); err != nil {
		h.t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(config.Address)
	if err != nil || port != fmt.Sprint(h.grpc) {
		h.t.Fatalf("the cloud-config names %q: %v", config.Address, err)
	}
	trusted := h.secretTLS(chart.Release+"-client-tls", host)
	unnamed := trusted.Clone()
	unnamed.Certificates = nil
	if _, err := h.dial(credentials.NewTLS(unnamed)).Refresh(h.t.Context(), &externalgrpc.RefreshRequest{}); err == nil {
		h.t.Error("the provider answers a client without a certificate")
	}
	return h.dial(credentials.NewTLS(trusted))
}

func (h *home) dial(security credentials.TransportCredentials) externalgrpc.CloudProviderClient {
	h.t.Helper()
	conn, err := grpc.NewClient(h.at(h.grpc), grpc.WithTransportCredentials(security))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = conn.Close() })
	return externalgrpc.NewCloudProviderClient(conn)
}

func (h *home) scaleUp(provider externalgrpc.CloudProviderClient) {
	h.t.Helper()
	h.eventually("the provider takes a request for two", func(ctx context.Context) error {
		_, err := provider.NodeGroupIncreaseSize(ctx, &externalgrpc.NodeGroupIncreaseSizeRequest{Id: pool, Delta: int32(len(machines))})
		return err
	})
	h.eventually("both machines are up", func(ctx context.Context) error {
		size, err := provider.NodeGroupTargetSize(ctx, &externalgrpc.NodeGroupTargetSizeRequest{Id: pool})
		if err != nil || size.GetTargetSize() != int32(len(machines)) {
			return fmt.Errorf("the target is %d: %w", size.GetTargetSize(), err)
		}
		return h.each(ctx, v2.SlotReady)
	})
}

// each is nil once all machines of the pool are in a phase.
func (h *home) each(ctx context.Context, phase v2.SlotPhase) error {
	for _, name := range machines {
		var slot v2.Node
		if err := h.client.Get(ctx, client.ObjectKey{Namespace: h.namespace, Name: name}, &slot); err != nil {
			return err
		}
		if slot.Status.Phase != phase {
			return fmt.Errorf("%s is %q", name, slot.Status.Phase)
		}
	}
	return nil
}

func (h *home) scaleDown(provider externalgrpc.CloudProviderClient) {
	h.t.Helper()
	var nodes []*externalgrpc.ExternalGrpcNode
	for _, name := range machines {
		h.create(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "db-" + name, Namespace: "default"},
			Spec: corev1.PodSpec{NodeName: name, TerminationGracePeriodSeconds: new(int64(0)),
				Containers: []corev1.Container{{Name: "db", Image: "none"}}},
		})
		nodes = append(nodes, &externalgrpc.ExternalGrpcNode{Name: name, ProviderID: "homelab://" + name})
	}
	if _, err := provider.NodeGroupDeleteNodes(h.t.Context(), &externalgrpc.NodeGroupDeleteNodesRequest{Id: pool, Nodes: nodes}); err != nil {
		h.t.Fatal(err)
	}
	h.eventually("both machines are down", func(ctx context.Context) error {
		for _, name := range machines {
			if err := h.client.Get(ctx, client.ObjectKey{Name: name}, &corev1.Node{}); !apierrors.IsNotFound(err) {
				return fmt.Errorf("kubeNode %s is there: %w", name, err)
			}
		}
		return h.each(ctx, v2.SlotOff)
	})
	for _, name := range machines {
		log := h.room.Log(machineroom.Of(name))
		if last := log[len(log)-1]; last.On {
			h.t.Errorf("%s has power: %v", name, last)
		}
	}
	size, err := provider.NodeGroupTargetSize(h.t.Context(), &externalgrpc.NodeGroupTargetSizeRequest{Id: pool})
	if err != nil || size.GetTargetSize() != 0 {
		h.t.Errorf("the target is %d in the end: %v", size.GetTargetSize(), err)
	}
}

// podIsMissed waits for the claim whose startup Job cannot make its pod to say why, which stands in the Job's events.
func (h *home) podIsMissed() {
	h.t.Helper()
	claim := h.wish("by-hand", broken, byHand)
	h.eventually("the claim says why its Job has no pod", func(ctx context.Context) error {
		if err := h.client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if !slices.ContainsFunc(claim.Status.Jobs, func(record v2.JobRecord) bool { return strings.Contains(record.Message, "nobody") }) {
			return fmt.Errorf("its Jobs are %+v", claim.Status.Jobs)
		}
		return nil
	})
	if err := h.client.Delete(h.t.Context(), claim); err != nil {
		h.t.Fatal(err)
	}
	h.eventually("the claim is gone", func(ctx context.Context) error {
		if err := h.client.Get(ctx, client.ObjectKeyFromObject(claim), claim); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is %q: %w", claim.Status.Phase, err)
		}
		return nil
	})
}

// measure asks for the metrics as the ServiceMonitor has Prometheus do, and as somebody who may not read them.
func (h *home) measure() {
	h.t.Helper()
	for name, want := range map[string]int{"prometheus": http.StatusOK, "stranger": http.StatusForbidden} {
		h.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: h.namespace}})
		trusted := h.secretTLS(chart.Release+"-certs", chart.Release+"-metrics."+h.namespace+".svc")
		trusted.Certificates = nil
		request, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, "https://"+h.at(h.metrics)+"/metrics", nil)
		if err != nil {
			h.t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+h.as(name).BearerToken)
		transport := &http.Transport{TLSClientConfig: trusted}
		response, err := (&http.Client{Transport: transport}).Do(request)
		if err != nil {
			h.t.Fatal(err)
		}
		_ = response.Body.Close()
		transport.CloseIdleConnections()
		if response.StatusCode != want {
			h.t.Errorf("a look at the metrics by %s is answered %s", name, response.Status)
		}
	}
}

// upgrade changes something that is not the manager's: it runs on, trusted as before.
func (h *home) upgrade() {
	h.t.Helper()
	before := h.managerPod(h.t.Context())
	h.helm("upgrade", chart.Release, chart.Dir(h.t), "--reuse-values", "--set=grpc.timeout=11s")
	hooks, err := h.clients.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(h.t.Context(), chart.Release, metav1.GetOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, hook := range hooks.Webhooks {
		if len(hook.ClientConfig.CABundle) == 0 {
			h.t.Errorf("after an upgrade the API server does not trust %s", hook.Name)
		}
	}
	if after := h.managerPod(h.t.Context()); after.UID != before.UID || after.Status.ContainerStatuses[0].RestartCount != 0 {
		h.t.Errorf("the manager was started anew: %s %+v", after.Name, after.Status)
	}
}

// neverForbidden fails the test in the end for each request of the manager that was: also of a life that got stuck, for this
// may be why.
func (h *home) neverForbidden() {
	h.t.Helper()
	user := h.user()
	h.t.Cleanup(func() {
		for _, one := range forbidden(requests(h.t, user)) {
			h.t.Errorf("forbidden: %s %s", one.Verb, one.RequestURI)
		}
	})
}

// asked waits until the API server asks the webhook behind its Service.
func (h *home) asked() {
	h.t.Helper()
	h.eventually("the API server asks the webhook behind its Service", func(ctx context.Context) error {
		return saying(h.client.Create(ctx, h.wish("probe", "no-such-slot", pool), client.DryRunAll), "there is no slot of this name")
	})
}

// user is the manager, as the API server calls it.
func (h *home) user() string { return "system:serviceaccount:" + h.namespace + ":" + h.account() }

// account is the ServiceAccount of the manager's Deployment.
func (h *home) account() string {
	h.t.Helper()
	d, err := h.clients.AppsV1().Deployments(h.namespace).Get(h.t.Context(), deployment, metav1.GetOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	return d.Spec.Template.Spec.ServiceAccountName
}

// managerPod is the only pod of the manager.
func (h *home) managerPod(ctx context.Context) corev1.Pod {
	h.t.Helper()
	pods, err := h.clients.CoreV1().Pods(h.namespace).List(ctx, metav1.ListOptions{LabelSelector: managers})
	if err != nil || len(pods.Items) != 1 {
		h.t.Fatalf("%d pods of the manager: %v", len(pods.Items), err)
	}
	return pods.Items[0]
}

// ready is nil, or what the manager says it waits for.
func (h *home) ready(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.at(h.probes)+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz answers %s", response.Status)
	}
	return nil
}

// stop takes the manager away, as for good, and waits until its pod has gone: then everything it asked for is in the log.
func (h *home) stop() {
	h.t.Helper()
	h.helm("upgrade", chart.Release, chart.Dir(h.t), "--reuse-values", "--set=controllerManager.replicas=0")
	h.eventually("no pod is left", h.gone)
}

package facts

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func claimWith(change func(*v2.NodeClaim)) *v2.NodeClaim {
	c := &v2.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", CreationTimestamp: metav1.NewTime(noon)}}
	if change != nil {
		change(c)
	}
	return c
}

func TestLiveMarkedWantedAndOwed(t *testing.T) {
	deleted := ptr.To(metav1.NewTime(noon))
	committed := []metav1.Condition{{Type: v2.ConditionMachineCommitted, Status: metav1.ConditionTrue}}
	tests := map[string]struct {
		claim *v2.NodeClaim
		slot  *v2.Node
		want  [4]bool // live, marked, wanted, owes a reversal
	}{
		"a claim with no phase is pending and wanted": {claimWith(nil), &v2.Node{}, [4]bool{true, false, true, false}},
		"a DeleteNodes on record marks before the delete": {
			claimWith(func(c *v2.NodeClaim) {
				c.Spec.Request.Call, c.Status.Phase, c.Finalizers = v2.CallDeleteNodes, v2.ClaimReady, []string{v2.FinalizerNodeClaim}
			}), &v2.Node{}, [4]bool{true, true, false, true},
		},
		"a deleted slot marks its claims": {
			claimWith(func(c *v2.NodeClaim) { c.Status.Phase, c.Finalizers = v2.ClaimBooting, []string{v2.FinalizerNodeClaim} }),
			&v2.Node{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: deleted}}, [4]bool{true, true, false, true},
		},
		"a failed boot owes a reversal while it has our finalizer": {
			claimWith(func(c *v2.NodeClaim) {
				c.Status.Phase, c.Status.Conditions, c.Finalizers = v2.ClaimFailed, committed, []string{v2.FinalizerNodeClaim}
			}), &v2.Node{}, [4]bool{false, false, false, true},
		},
		"without the finalizer nothing is owed": {
			claimWith(func(c *v2.NodeClaim) { c.Status.Phase, c.Status.Conditions = v2.ClaimFailed, committed }),
			&v2.Node{}, [4]bool{false, false, false, false},
		},
		"a superseded claim owes nothing": {
			claimWith(func(c *v2.NodeClaim) {
				c.Status.Phase, c.Status.Conditions, c.Finalizers = v2.ClaimFailed, committed, []string{v2.FinalizerNodeClaim}
				c.Status.Reason = v2.ReasonSuperseded
			}), &v2.Node{}, [4]bool{false, false, false, false},
		},
		"a lost machine owes nothing": {
			claimWith(func(c *v2.NodeClaim) {
				c.Status.Phase, c.Finalizers, c.Status.Reason = v2.ClaimFailed, []string{v2.FinalizerNodeClaim}, v2.ReasonMachineGone
				c.Status.Conditions = append(c.Status.Conditions, committed[0],
					metav1.Condition{Type: v2.ConditionMachineObservedOff, Status: metav1.ConditionTrue})
			}), &v2.Node{}, [4]bool{false, false, false, false},
		},
		"a pending claim never owes one": {
			claimWith(func(c *v2.NodeClaim) { c.DeletionTimestamp, c.Finalizers = deleted, []string{v2.FinalizerNodeClaim} }),
			&v2.Node{}, [4]bool{true, true, false, false},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := [4]bool{Live(test.claim), Marked(test.claim, test.slot), Wanted(test.claim, test.slot), OwesReversal(test.claim, test.slot)}
			if got != test.want {
				t.Errorf("live, marked, wanted, owes = %v, want %v", got, test.want)
			}
		})
	}
}

func TestNewestOrdersByCreationThenName(t *testing.T) {
	a := claimWith(func(c *v2.NodeClaim) { c.Name = "a" })
	b := claimWith(func(c *v2.NodeClaim) { c.Name = "b" })
	later := claimWith(func(c *v2.NodeClaim) {
		c.Name, c.CreationTimestamp, c.Status.Phase = "0", metav1.NewTime(noon.Add(time.Second)), v2.ClaimFailed
	})
	if got := NewestLive([]*v2.NodeClaim{b, later, a}); got != b {
		t.Errorf("newest live is %s", got.Name)
	}
	if got := Newest([]*v2.NodeClaim{b, later, a}); got != later {
		t.Errorf("newest is %s", got.Name)
	}
}

func TestHoldOf(t *testing.T) {
	tests := map[string]struct {
		slot *v2.Node
		held bool
	}{
		"nothing holds":              {&v2.Node{}, false},
		"suspend in Git holds":       {&v2.Node{Spec: v2.NodeSpec{Suspend: true}}, true},
		"the annotation holds":       {held("Filippo: new RAM", ""), true},
		"until a time to come holds": {held("x", noon.Add(time.Minute).Format(time.RFC3339)), true},
		"a time that has come ends":  {held("x", noon.Format(time.RFC3339)), false},
		"an unreadable time holds":   {held("x", "tomorrow"), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := HoldOf(test.slot, noon); got.Held != test.held {
				t.Errorf("hold is %+v", got)
			}
		})
	}
}

func held(why, until string) *v2.Node {
	slot := &v2.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v2.AnnotationHold: why}}}
	if until != "" {
		slot.Annotations[v2.AnnotationHoldUntil] = until
	}
	return slot
}

func TestAPodIsWithoutContainersUntilOneIsMade(t *testing.T) {
	waits := func(reason string) *corev1.Pod {
		p := pod(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}})
		p.Spec.NodeName = "pi"
		return p
	}
	tests := map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"it has a place, and nothing else yet": {&corev1.Pod{Spec: corev1.PodSpec{NodeName: "pi"}}, true},
		"its volumes are being mounted":        {waits("ContainerCreating"), true},
		"its image does not come":              {waits("ErrImagePull"), false},
		"a key of its environment is missing":  {waits("CreateContainerConfigError"), false},
		"it has no place":                      {&corev1.Pod{}, false},
		"it runs":                              {&corev1.Pod{Spec: corev1.PodSpec{NodeName: "pi"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := PodWithoutContainers(test.pod); got != test.want {
				t.Errorf("without containers: %v", got)
			}
		})
	}
}

func TestWhatASwitchCanDo(t *testing.T) {
	request := &v2.HTTPRequest{}
	tests := map[string]struct {
		power              *v2.PowerSwitch
		up, down, readable bool
	}{
		"none":                {nil, false, false, false},
		"a BMC":               {&v2.PowerSwitch{IPMI: &v2.IPMISwitch{}}, true, true, true},
		"Redfish":             {&v2.PowerSwitch{Redfish: &v2.RedfishSwitch{}}, true, true, true},
		"a packet":            {&v2.PowerSwitch{WakeOnLAN: &v2.WakeOnLANSwitch{}}, true, false, false},
		"a packet and ssh":    {&v2.PowerSwitch{WakeOnLAN: &v2.WakeOnLANSwitch{}, SSH: &v2.SSHSwitch{}}, true, true, false},
		"ssh":                 {&v2.PowerSwitch{SSH: &v2.SSHSwitch{}}, false, true, false},
		"a plug":              {&v2.PowerSwitch{HTTP: &v2.HTTPSwitch{PowerOn: request, PowerOff: request}}, true, true, false},
		"a button":            {&v2.PowerSwitch{HTTP: &v2.HTTPSwitch{SoftOff: request, Status: &v2.HTTPStatus{}}}, false, true, true},
		"a plug that goes up": {&v2.PowerSwitch{HTTP: &v2.HTTPSwitch{PowerOn: request}}, true, false, false},
		"a meter":             {&v2.PowerSwitch{HTTP: &v2.HTTPSwitch{Status: &v2.HTTPStatus{}}}, false, false, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			up, down := CanSwitch(test.power, v2.OperationStartup), CanSwitch(test.power, v2.OperationShutdown)
			if readable := ReadableSwitch(test.power); up != test.up || down != test.down || readable != test.readable {
				t.Errorf("up %v, down %v, readable %v", up, down, readable)
			}
		})
	}
}

func TestReadJob(t *testing.T) {
	at := metav1.NewTime(noon)
	running := []*corev1.Pod{pod(corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}})}
	failed := []*corev1.Pod{pod(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		StartedAt: at, ExitCode: 3, Message: "trying\nError: no session \n",
	}})}
	pullsInVain := []*corev1.Pod{pod(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such image"}})}
	findsNoPlace := []*corev1.Pod{{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available",
	}}}}}
	says := func(bytes int) []*corev1.Pod {
		return []*corev1.Pod{pod(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			StartedAt: at, ExitCode: 3, Message: strings.Repeat("x", bytes),
		}})}
	}
	tests := map[string]struct {
		job  *batchv1.Job
		pods []*corev1.Pod
		want JobReading
	}{
		"as much as is kept": {&batchv1.Job{}, says(400), JobReading{StartedAt: noon, ExitCode: ptr.To[int32](3), Message: strings.Repeat("x", 400)}},
		"more than is kept":  {&batchv1.Job{}, says(401), JobReading{StartedAt: noon, ExitCode: ptr.To[int32](3), Message: strings.Repeat("x", 400)}},
		"not started":        {&batchv1.Job{}, nil, JobReading{}},
		"running":            {&batchv1.Job{}, running, JobReading{StartedAt: noon}},
		"waits for its image": {&batchv1.Job{}, pullsInVain, JobReading{
			Message: "ErrImagePull: no such image", Waiting: "ErrImagePull: no such image"}},
		"waits for a place": {&batchv1.Job{}, findsNoPlace, JobReading{
			Message: "Unschedulable: 0/1 nodes are available", Waiting: "Unschedulable: 0/1 nodes are available"}},
		"ended while it waited": {ended(batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded), findsNoPlace,
			JobReading{Finished: true, Outcome: v2.JobNeverStarted, FinishedAt: noon,
				Message: "Unschedulable: 0/1 nodes are available", Waiting: "Unschedulable: 0/1 nodes are available"}},
		"failed, with its last line": {ended(batchv1.JobFailed, "BackoffLimitExceeded"), failed,
			JobReading{Finished: true, Outcome: v2.JobFailed, StartedAt: noon, FinishedAt: noon, ExitCode: ptr.To[int32](3), Message: "Error: no session"}},
		"timed out while running": {ended(batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded), running,
			JobReading{Finished: true, Outcome: v2.JobTimedOut, StartedAt: noon, FinishedAt: noon, Message: "because"}},
		"ended without a container that ran": {ended(batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded), nil,
			JobReading{Finished: true, Outcome: v2.JobNeverStarted, FinishedAt: noon, Message: "because"}},
		"succeeded, pod already collected": {ended(batchv1.JobComplete, ""), nil,
			JobReading{Finished: true, Outcome: v2.JobSucceeded, StartedAt: noon, FinishedAt: noon}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, ReadJob(test.job, test.pods)); diff != "" {
				t.Errorf("reading (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAJobSaysItselfHowItFailed(t *testing.T) {
	tests := map[string]struct {
		job  *batchv1.Job
		want v2.JobOutcome
	}{
		"its time was over": {ended(batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded), v2.JobTimedOut},
		"its pod failed":    {ended(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded), v2.JobFailed},
		"it succeeded":      {ended(batchv1.JobComplete, ""), ""},
		"it runs":           {&batchv1.Job{}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Failure(test.job); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func pod(state corev1.ContainerState) *corev1.Pod {
	return &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: state}}}}
}

func ended(condition batchv1.JobConditionType, reason string) *batchv1.Job {
	return &batchv1.Job{Status: batchv1.JobStatus{StartTime: ptr.To(metav1.NewTime(noon)), Conditions: []batchv1.JobCondition{{
		Type: condition, Status: corev1.ConditionTrue, Reason: reason, Message: "because", LastTransitionTime: metav1.NewTime(noon),
	}}}}
}

func TestGateTaintsMatchKeyAndTheEffectIfGiven(t *testing.T) {
	p := policy.Policy{ReadinessTaints: []v2.ReadinessTaint{{Key: "any"}, {Key: "exact", Effect: corev1.TaintEffectNoExecute}}}
	kubeNode := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{
		{Key: "any", Effect: corev1.TaintEffectNoSchedule},
		{Key: "exact", Effect: corev1.TaintEffectNoSchedule},
		{Key: "exact", Effect: corev1.TaintEffectNoExecute},
		{Key: "other", Effect: corev1.TaintEffectNoExecute},
	}}}
	if got := GateTaints(kubeNode, p); len(got) != 2 || got[0].Key != "any" || got[1].Effect != corev1.TaintEffectNoExecute {
		t.Errorf("gate taints are %v", got)
	}
}

func TestPower(t *testing.T) {
	tests := map[string]struct {
		status  corev1.ConditionStatus
		reading v2.PowerState
		want    Evidence
	}{
		"Ready is on":                                  {corev1.ConditionTrue, "", On},
		"not Ready is on":                              {corev1.ConditionFalse, "", On},
		"Unknown is silent":                            {corev1.ConditionUnknown, "", Silent},
		"no kubeNode is silent":                        {"", "", Silent},
		"a switch that says on is on":                  {corev1.ConditionUnknown, v2.PowerOn, On},
		"a switch that says off is not evidence of on": {"", v2.PowerOff, Silent},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var kubeNode *corev1.Node
			if test.status != "" {
				kubeNode = &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: test.status}}}}
			}
			if got := Power(kubeNode, Reading{State: test.reading}); got != test.want {
				t.Errorf("power is %s, want %s", got, test.want)
			}
		})
	}
}

func TestCoolingOffIsAFunctionOfTheDigest(t *testing.T) {
	finished := ptr.To(metav1.NewTime(noon))
	tests := map[string]struct {
		digest *v2.ClaimDigest
		want   time.Time
	}{
		"no digest":             {nil, time.Time{}},
		"two failures":          {&v2.ClaimDigest{Phase: v2.ClaimFailed, Attempt: 2, FinishedAt: finished}, time.Time{}},
		"three failures":        {&v2.ClaimDigest{Phase: v2.ClaimFailed, Attempt: 3, FinishedAt: finished}, noon.Add(30 * time.Minute)},
		"a boot that was ready": {&v2.ClaimDigest{Phase: v2.ClaimFailed, Attempt: 3, FinishedAt: finished, ReadyAt: finished}, time.Time{}},
		"cleared by hand":       {&v2.ClaimDigest{Phase: v2.ClaimFailed, Attempt: 0, FinishedAt: finished}, time.Time{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := CoolingOffUntil(test.digest, policy.Default(), noon.Add(time.Minute)); !got.Equal(test.want) {
				t.Errorf("cooling off until %s, want %s", got, test.want)
			}
		})
	}
}

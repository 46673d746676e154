package machineroom_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// newLabWithInfra has an always-on control-plane node that is Ready.
func newLabWithInfra(t *testing.T) *lab {
	t.Helper()
	l := newLab(t)
	if err := l.AddAlwaysOn(l.infra(), machineroom.ControlPlane); err != nil {
		t.Fatal(err)
	}
	l.untilReadyIs(l.infra(), corev1.ConditionTrue)
	return l
}

// startJob starts a Job as lifecycle Jobs are: one pod, no second try.
func (l *lab) startJob(name string, change func(*batchv1.JobSpec, *corev1.Container)) {
	l.t.Helper()
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: l.namespace},
		Spec: batchv1.JobSpec{
			BackoffLimit:         new(int32(0)),
			PodReplacementPolicy: new(batchv1.Failed),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy:                corev1.RestartPolicyNever,
				AutomountServiceAccountToken: new(false),
				NodeSelector:                 map[string]string{corev1.LabelHostname: l.infra()},
				Tolerations:                  []corev1.Toleration{{Key: "node-role.kubernetes.io/control-plane", Operator: corev1.TolerationOpExists}},
				Containers: []corev1.Container{{
					Name: "power", Image: "registry.example/tool",
					TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
				}},
			}},
		},
	}
	change(&job.Spec, &job.Spec.Template.Spec.Containers[0])
	if _, err := l.client.BatchV1().Jobs(l.namespace).Create(l.t.Context(), job, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) untilJob(name string, end batchv1.JobConditionType) batchv1.JobCondition {
	l.t.Helper()
	var found batchv1.JobCondition
	l.until(fmt.Sprintf("job %s is %s", name, end), func(ctx context.Context) (string, bool) {
		job, err := l.client.BatchV1().Jobs(l.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		for _, condition := range job.Status.Conditions {
			if condition.Type == end && condition.Status == corev1.ConditionTrue {
				found = condition
				return "", true
			}
		}
		return fmt.Sprintf("%+v", job.Status), false
	})
	return found
}

func (l *lab) podsOfJob(ctx context.Context, job string) []corev1.Pod {
	pods, err := l.client.CoreV1().Pods(l.namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
	if err != nil {
		return nil
	}
	return pods.Items
}

func (l *lab) podOfJob(job string) *corev1.Pod {
	l.t.Helper()
	pods := l.podsOfJob(l.t.Context(), job)
	if len(pods) != 1 {
		l.t.Fatalf("job %s has %d pods", job, len(pods))
	}
	return &pods[0]
}

func (l *lab) secretsAndConfig() {
	l.t.Helper()
	core := l.client.CoreV1()
	_, err := core.Secrets(l.namespace).Create(l.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bmc"}, StringData: map[string]string{"user": "root", "password": "calvin"},
	}, metav1.CreateOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	_, err = core.ConfigMaps(l.namespace).Create(l.t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "hosts"}, Data: map[string]string{"HOST": "192.0.2.7", "PORT": "623"},
	}, metav1.CreateOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
}

func TestJobsRun(t *testing.T) {
	t.Parallel()
	l := newLabWithInfra(t)
	l.secretsAndConfig()
	script := func(text string) func(*batchv1.JobSpec, *corev1.Container) {
		return func(_ *batchv1.JobSpec, c *corev1.Container) { c.Command = []string{"sh", "-c", text} }
	}
	tests := map[string]struct {
		job     func(*batchv1.JobSpec, *corev1.Container)
		log     string
		exit    int32
		message string
	}{
		"a-command-succeeds-and-its-output-is-the-log": {
			job: script("echo power is on; echo really >&2"), log: "power is on\nreally",
		},
		"a-command-fails-with-its-output-as-the-message": {
			job: script("echo wrong password; exit 5"), log: "wrong password", exit: 5, message: "wrong password\n",
		},
		"the-environment-comes-from-where-the-pod-says": {
			job: func(_ *batchv1.JobSpec, c *corev1.Container) {
				c.EnvFrom = []corev1.EnvFromSource{{
					Prefix:       "BMC_",
					ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "hosts"}},
				}}
				c.Env = []corev1.EnvVar{
					{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
						LocalObjectReference: corev1.LocalObjectReference{Name: "bmc"}, Key: "password",
					}}},
					{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
					{Name: "URL", Value: "ipmi://$(BMC_HOST):$(BMC_PORT)"},
				}
				c.Command = []string{"sh", "-c", `echo "$0 $1 $PASSWORD $NODE"; env | grep -c PATH`}
				c.Args = []string{"$(URL)", "on"}
			},
			log: "ipmi://192.0.2.7:623 on calvin " + "INFRA" + "\n1",
		},
		"volumes-are-files-where-the-command-looks-for-them": {
			job: func(spec *batchv1.JobSpec, c *corev1.Container) {
				spec.Template.Spec.Volumes = []corev1.Volume{
					{Name: "keys", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "bmc"}}},
					{Name: "hosts", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
						LocalObjectReference: corev1.LocalObjectReference{Name: "hosts"},
						Items:                []corev1.KeyToPath{{Key: "HOST", Path: "rack/one"}},
					}}},
				}
				c.VolumeMounts = []corev1.VolumeMount{
					{Name: "keys", MountPath: "/etc/bmc", ReadOnly: true}, {Name: "hosts", MountPath: "/etc/bmc-hosts"},
				}
				c.WorkingDir = "/etc/bmc-hosts"
				c.Command = []string{"cat", "/etc/bmc/user", "rack/one"}
			},
			log: "root192.0.2.7",
		},
		"a-tool-that-is-not-there-is-a-start-error": {
			job:  func(_ *batchv1.JobSpec, c *corev1.Container) { c.Command = []string{"/no/such/tool"} },
			exit: 128, message: "no such file or directory",
		},
	}
	for name, test := range tests {
		l.startJob(name, test.job)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := *l
			in.t = t
			end := batchv1.JobComplete
			if test.exit != 0 {
				end = batchv1.JobFailed
			}
			in.untilJob(name, end)
			pod := in.podOfJob(name)
			ended := pod.Status.ContainerStatuses[0].State.Terminated
			if ended == nil || ended.ExitCode != test.exit || !strings.Contains(ended.Message, test.message) {
				t.Errorf("the container ended with %+v, want code %d and message %q", ended, test.exit, test.message)
			}
			want := strings.ReplaceAll(test.log, "INFRA", l.infra())
			if got := in.logs(pod.Name, &corev1.PodLogOptions{}); got != want {
				t.Errorf("log is %q, want %q", got, want)
			}
		})
	}
}

func TestLogsAreServedAsAsked(t *testing.T) {
	t.Parallel()
	l := newLabWithInfra(t)
	l.startPod("talker", l.infra(), func(pod *corev1.Pod) {
		pod.Spec.RestartPolicy = corev1.RestartPolicyNever
		pod.Spec.Containers[0].Command = []string{"sh", "-c", "echo one; echo two; until test -f /go/on; do sleep 0.05; done; echo three"}
		pod.Spec.Volumes = []corev1.Volume{{Name: "go", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "switch"}, Optional: new(true),
		}}}}
		pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "go", MountPath: "/go"}}
		pod.Spec.ActiveDeadlineSeconds = new(int64(3))
	})
	l.untilPod("talker", "runs", running)
	l.until("two lines are in the log", func(context.Context) (string, bool) {
		text := l.logs("talker", &corev1.PodLogOptions{})
		return text, text == "one\ntwo"
	})
	if got := l.logs("talker", &corev1.PodLogOptions{TailLines: new(int64(1))}); got != "two" {
		t.Errorf("the last line is %q", got)
	}
	if got := l.logs("talker", &corev1.PodLogOptions{LimitBytes: new(int64(5))}); got != "one\nt" {
		t.Errorf("the first five bytes are %q", got)
	}
	// Following ends when the pod does, here at its own deadline.
	if got := l.logs("talker", &corev1.PodLogOptions{Follow: true}); got != "one\ntwo" {
		t.Errorf("the whole log is %q", got)
	}
	pod := l.untilPod("talker", "has failed", func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodFailed })
	if pod.Status.Reason != "DeadlineExceeded" {
		t.Errorf("the pod failed for %q", pod.Status.Reason)
	}
}

// TestAJobThatHangsIsKilled: the Job's deadline deletes its pod, and no process of it is left.
func TestAJobThatHangsIsKilled(t *testing.T) {
	t.Parallel()
	l := newLabWithInfra(t)
	mark := "hung-bmc-" + l.namespace
	l.startJob("hangs", func(spec *batchv1.JobSpec, c *corev1.Container) {
		spec.ActiveDeadlineSeconds = new(int64(2))
		c.Command = []string{"sh", "-c", "sh -c 'sleep 1000; : " + mark + "'; : its child is what counts"}
	})
	l.until("the command and its child run", func(context.Context) (string, bool) {
		n := processes(t, mark)
		return fmt.Sprintf("%d processes", n), n == 2
	})
	if end := l.untilJob("hangs", batchv1.JobFailed); end.Reason != batchv1.JobReasonDeadlineExceeded {
		t.Errorf("the job failed for %q", end.Reason)
	}
	l.until("its pod is gone", func(ctx context.Context) (string, bool) { return "it is there", len(l.podsOfJob(ctx, "hangs")) == 0 })
	if n := processes(t, mark); n != 0 {
		t.Errorf("%d processes of it are left", n)
	}
}

// TestAJobWaitsForItsSecret: a pod that cannot start says why, and starts when it can.
func TestAJobWaitsForItsSecret(t *testing.T) {
	t.Parallel()
	l := newLabWithInfra(t)
	l.startJob("waits", func(_ *batchv1.JobSpec, c *corev1.Container) {
		c.Env = []corev1.EnvVar{{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "bmc"}, Key: "password",
		}}}}
		c.Command = []string{"sh", "-c", "echo $PASSWORD"}
	})
	l.until("the pod says what it waits for", func(ctx context.Context) (string, bool) {
		for _, pod := range l.podsOfJob(ctx, "waits") {
			for _, state := range pod.Status.ContainerStatuses {
				return fmt.Sprintf("%+v", state), state.State.Waiting != nil && state.State.Waiting.Reason == "CreateContainerConfigError"
			}
		}
		return "no status", false
	})
	l.secretsAndConfig()
	l.untilJob("waits", batchv1.JobComplete)
	if got := l.logs(l.podOfJob("waits").Name, &corev1.PodLogOptions{}); got != "calvin" {
		t.Errorf("log is %q", got)
	}
}

// TestAPodWithoutACommandSleeps: nothing is known of an image, so nothing is executed.
func TestAPodWithoutACommandSleeps(t *testing.T) {
	t.Parallel()
	l := newLabWithInfra(t)
	l.startPod("service", l.infra(), nil)
	l.untilPod("service", "runs", running)
	if err := l.client.CoreV1().Pods(l.namespace).Delete(t.Context(), "service", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	l.untilPodIsGone("service")
}

// TestSlotPodsWorkTheSwitch: what a slot's pod specs say, run as Jobs, boots the machine and shuts it down.
func TestSlotPodsWorkTheSwitch(t *testing.T) {
	t.Parallel()
	l := newLabWithInfra(t)
	m := l.machine(machineroom.Machine{Name: "worker-01"})
	slot := m.Slot(l.namespace, "pool")
	work := func(name string, spec v2.MinimalPodSpec) *corev1.Pod {
		l.startJob(name, func(_ *batchv1.JobSpec, c *corev1.Container) {
			c.Image, c.Command, c.Args, c.Env = spec.Image, spec.Command, spec.Args, spec.Env
		})
		l.untilJob(name, batchv1.JobComplete)
		return l.podOfJob(name)
	}

	pod := work("up", slot.Spec.StartupPodSpec)
	if on := l.happens(m, 0, machineroom.PoweredOn); on.Source != "switch:"+pod.Name {
		t.Errorf("the power-on came from %q, want the pod %s", on.Source, pod.Name)
	}
	l.untilReadyIs(slot.Spec.KubernetesNodeName, corev1.ConditionTrue)
	work("down", slot.Spec.ShutdownPodSpec)
	l.happens(m, 0, machineroom.PoweredOff)
	l.untilReadyIs(slot.Spec.KubernetesNodeName, corev1.ConditionUnknown)
	if l.PowerOns("worker-01") != 1 || l.DoubleBoots("worker-01") != 0 || l.IsOn("worker-01") {
		t.Errorf("%d power-ons, %d double boots, on: %t", l.PowerOns("worker-01"), l.DoubleBoots("worker-01"), l.IsOn("worker-01"))
	}

	if err := m.SetTemperament(machineroom.Temperament{ShutdownSwitch: machineroom.SwitchErrors}); err != nil {
		t.Fatal(err)
	}
	l.startJob("refused", func(_ *batchv1.JobSpec, c *corev1.Container) {
		c.Command, c.Args, c.Env = slot.Spec.ShutdownPodSpec.Command, slot.Spec.ShutdownPodSpec.Args, slot.Spec.ShutdownPodSpec.Env
	})
	l.untilJob("refused", batchv1.JobFailed)
	if ended := l.podOfJob("refused").Status.ContainerStatuses[0].State.Terminated; ended == nil || ended.ExitCode != 1 ||
		!strings.Contains(ended.Message, "the power switch does not answer") {
		t.Errorf("the refused shutdown ended with %+v", ended)
	}
}

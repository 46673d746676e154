package proxy_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"homecluster.dev/autoscaler/sandbox/controlplane"
	"homecluster.dev/autoscaler/sandbox/controlplane/proxy"
)

func TestMain(m *testing.M) { controlplane.Main(m) }

// world is a proxy before the real API server, a client that goes through it, and one that does not.
type world struct {
	proxy     *proxy.Proxy
	through   kubernetes.Interface
	direct    kubernetes.Interface
	namespace string
}

func newWorld(t *testing.T) world {
	t.Helper()
	cp := controlplane.ForTest(t)
	p, err := proxy.Start(cp.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return world{
		proxy: p, through: kubernetes.NewForConfigOrDie(p.Config()), direct: kubernetes.NewForConfigOrDie(cp.Config()),
		namespace: cp.Namespace(t),
	}
}

// create writes a ConfigMap through the proxy.
func (w world) create(t *testing.T, name string) error {
	t.Helper()
	_, err := w.through.CoreV1().ConfigMaps(w.namespace).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	return err
}

// exists asks the API server itself.
func (w world) exists(t *testing.T, name string) bool {
	t.Helper()
	_, err := w.direct.CoreV1().ConfigMaps(w.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

func TestWritesAreCountedAndReadsAreNot(t *testing.T) {
	w := newWorld(t)
	ctx, maps := t.Context(), w.through.CoreV1().ConfigMaps(w.namespace)
	must(t, w.create(t, "one"))
	one, err := maps.Get(ctx, "one", metav1.GetOptions{})
	must(t, err)
	one.Data = map[string]string{"a": "b"}
	_, err = maps.Update(ctx, one, metav1.UpdateOptions{})
	must(t, err)
	_, err = maps.Patch(ctx, "one", types.MergePatchType, []byte(`{"data":{"c":"d"}}`), metav1.PatchOptions{})
	must(t, err)
	_, err = maps.List(ctx, metav1.ListOptions{})
	must(t, err)
	generated, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "some-"}},
		metav1.CreateOptions{})
	must(t, err)
	must(t, maps.Delete(ctx, "one", metav1.DeleteOptions{}))
	must(t, maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	if err := maps.Delete(ctx, "absent", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("deleting what is absent: %v", err)
	}
	w.uncounted(t)

	want := []proxy.Write{
		w.write(1, "create", "one", http.StatusCreated),
		w.write(2, "update", "one", http.StatusOK),
		w.write(3, "patch", "one", http.StatusOK),
		w.write(4, "create", generated.Name, http.StatusCreated),
		w.write(5, "delete", "one", http.StatusOK),
		w.write(6, "deletecollection", "", http.StatusOK),
		w.write(7, "delete", "absent", http.StatusNotFound),
	}
	if diff := cmp.Diff(want, w.proxy.Writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if got := proxy.Counts(want)["delete configmaps"]; got != 2 {
		t.Errorf("counted %d deletes of config maps, want 2", got)
	}
}

// TestNamesAreReadInTheBinaryEncodingToo matters because clients prefer it for Jobs and events.
func TestNamesAreReadInTheBinaryEncodingToo(t *testing.T) {
	w := newWorld(t)
	config := w.proxy.Config()
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	jobs := kubernetes.NewForConfigOrDie(config).BatchV1().Jobs(w.namespace)
	job := &batchv1.Job{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "power", Image: "power"}},
	}}}}
	job.Name = "slot-1-up-1"
	_, err := jobs.Create(t.Context(), job, metav1.CreateOptions{})
	must(t, err)
	job.Name, job.GenerateName = "", "some-"
	generated, err := jobs.Create(t.Context(), job, metav1.CreateOptions{})
	must(t, err)
	var names []string
	for _, write := range w.proxy.Writes() {
		names = append(names, write.Name)
	}
	if diff := cmp.Diff([]string{"slot-1-up-1", generated.Name}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func (w world) write(number int, verb, name string, status int) proxy.Write {
	return proxy.Write{
		Number: number, Verb: verb, Resource: "configmaps", Namespace: w.namespace, Name: name,
		Status: status, Applied: status < 300,
	}
}

// uncounted makes writes that are no decisions: an event, a dry run, a question.
func (w world) uncounted(t *testing.T) {
	t.Helper()
	_, err := w.through.CoreV1().Events(w.namespace).Create(t.Context(), &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: "told"},
		InvolvedObject: corev1.ObjectReference{Kind: "ConfigMap", Name: "one", Namespace: w.namespace},
	}, metav1.CreateOptions{})
	must(t, err)
	_, err = w.through.CoreV1().ConfigMaps(w.namespace).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "dry"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	must(t, err)
	_, err = w.through.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(),
		&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods"},
		}}, metav1.CreateOptions{})
	must(t, err)
}

func TestCrashPointAppliesTheChosenWriteAndCutsAllThatFollows(t *testing.T) {
	w := newWorld(t)
	for k := range 3 {
		t.Run(fmt.Sprintf("after write %d", k), func(t *testing.T) {
			w.proxy.Arm(proxy.Fault{Kind: proxy.Cut, At: k})
			for n := 1; n <= 3; n++ {
				name := fmt.Sprintf("cut-%d-%d", k, n)
				if err := w.create(t, name); (err == nil) != (n <= k) {
					t.Errorf("write %d was answered with %v", n, err)
				}
				if got := w.exists(t, name); got != (n <= k) {
					t.Errorf("write %d applied: %v", n, got)
				}
			}
			// client-go would try a cut read again for ten seconds.
			err := w.through.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes").MaxRetries(0).Do(t.Context()).Error()
			if _, answered := errors.AsType[*apierrors.StatusError](err); err == nil || answered {
				t.Errorf("a read after the crash point gave %v, want a cut connection", err)
			}
			if got := len(w.proxy.Writes()); got != k {
				t.Errorf("%d writes are on record, want %d", got, k)
			}
		})
	}
	w.proxy.Arm(proxy.Fault{})
	must(t, w.create(t, "after-the-restart"))
}

func TestCrashPointEndsRunningWatches(t *testing.T) {
	w := newWorld(t)
	w.proxy.Arm(proxy.Fault{Kind: proxy.Cut, At: 1})
	watch, err := w.through.CoreV1().ConfigMaps(w.namespace).Watch(t.Context(), metav1.ListOptions{})
	must(t, err)
	defer watch.Stop()
	must(t, w.create(t, "last"))
	deadline := time.After(10 * time.Second)
	select {
	case <-w.proxy.Cut(): // right behind the answer
	case <-deadline:
		t.Fatal("the write was answered and the crash point is not reached")
	}
	for {
		select {
		case _, open := <-watch.ResultChan():
			if !open {
				return
			}
		case <-deadline:
			t.Fatal("the watch outlived the crash point")
		}
	}
}

func TestOneWriteIsRefused(t *testing.T) {
	tests := map[string]struct {
		status int
		is     func(error) bool
	}{
		"as a conflict unless told otherwise": {0, apierrors.IsConflict},
		"as forbidden":                        {http.StatusForbidden, apierrors.IsForbidden},
		"as one too many":                     {http.StatusTooManyRequests, apierrors.IsTooManyRequests},
		"as a fault of the server":            {http.StatusInternalServerError, apierrors.IsInternalError},
	}
	w := newWorld(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w.proxy.Arm(proxy.Fault{Kind: proxy.Refuse, At: 2, Status: test.status})
			suffix := fmt.Sprint(test.status)
			first, second := "one-"+suffix, "two-"+suffix
			must(t, w.create(t, first))
			if err := w.create(t, second); !test.is(err) {
				t.Errorf("refused with %v", err)
			}
			if w.exists(t, second) {
				t.Error("the refused write was applied")
			}
			must(t, w.create(t, second)) // once, not for good
		})
	}
}

func TestOneAnswerIsLost(t *testing.T) {
	w := newWorld(t)
	w.proxy.Arm(proxy.Fault{Kind: proxy.LoseAnswer, At: 1})
	if err := w.create(t, "lost"); !apierrors.IsTimeout(err) {
		t.Errorf("answered with %v, want a time-out", err)
	}
	if !w.exists(t, "lost") {
		t.Error("the write was not applied")
	}
	if writes := w.proxy.Writes(); len(writes) != 1 || !writes[0].Applied {
		t.Errorf("on record: %v", writes)
	}
	must(t, w.create(t, "next"))
}

func TestStrangersAreTurnedAway(t *testing.T) {
	w := newWorld(t)
	config := w.proxy.Config()
	config.BearerToken = "guessed"
	_, err := kubernetes.NewForConfigOrDie(config).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsUnauthorized(err) {
		t.Errorf("a stranger got %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

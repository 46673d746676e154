package demo

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// newScheme knows the kinds that the demo reads and writes.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v2.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme,
		corev1.AddToScheme, eventsv1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// watch tells of every change of the kinds that the story is about, one at a time per kind, until the context ends.
// It returns once the present state has been told.
func watch(ctx context.Context, config *rest.Config, tell func(object client.Object, deleted bool)) error {
	informers, err := cache.New(config, cache.Options{Scheme: newScheme()})
	if err != nil {
		return fmt.Errorf("making watches: %w", err)
	}
	var synced []toolscache.InformerSynced
	for _, kind := range []client.Object{&v2.Group{}, &v2.Node{}, &v2.NodeClaim{}, &corev1.Node{}, &corev1.Pod{},
		&batchv1.Job{}, &eventsv1.Event{}} {
		informer, err := informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching %T: %w", kind, err)
		}
		handle, err := informer.AddEventHandler(handler(tell))
		if err != nil {
			return fmt.Errorf("watching %T: %w", kind, err)
		}
		synced = append(synced, handle.HasSynced)
	}
	go func() {
		// Start returns when the context ends; its watches retry by themselves until then.
		_ = informers.Start(ctx)
	}()
	if !toolscache.WaitForCacheSync(ctx.Done(), synced...) {
		return errors.Join(errors.New("watching: the present state was never told"), context.Cause(ctx))
	}
	return nil
}

func handler(tell func(client.Object, bool)) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { tellObject(tell, o, false) },
		UpdateFunc: func(_, o any) { tellObject(tell, o, false) },
		DeleteFunc: func(o any) {
			if tombstone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = tombstone.Obj
			}
			tellObject(tell, o, true)
		},
	}
}

func tellObject(tell func(client.Object, bool), o any, deleted bool) {
	if object, ok := o.(client.Object); ok {
		tell(object, deleted)
	}
}

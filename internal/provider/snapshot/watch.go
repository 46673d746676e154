package snapshot

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// Watch feeds the store from the informers for as long as they run, and returns once it holds all they knew.
func (s *Store) Watch(ctx context.Context, from cache.Informers) error {
	var told []toolscache.InformerSynced
	for _, object := range []client.Object{&v2.Group{}, &v2.Node{}, &v2.NodeClaim{}, &corev1.Node{}, &batchv1.Job{}} {
		informer, err := from.GetInformer(ctx, object)
		if err != nil {
			return fmt.Errorf("watching %T: %w", object, err)
		}
		registration, err := informer.AddEventHandler(s.handler())
		if err != nil {
			return fmt.Errorf("watching %T: %w", object, err)
		}
		told = append(told, registration.HasSynced)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), told...) {
		return errors.Join(errors.New("waiting for the first lists"), ctx.Err())
	}
	return nil
}

func (s *Store) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { s.take(object, s.Observe) },
		UpdateFunc: func(_, object any) { s.take(object, s.Observe) },
		DeleteFunc: func(object any) {
			if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			s.take(object, s.Forget)
		},
	}
}

// take hands an informer's object over if it is of the store's namespace, or of none.
func (s *Store) take(object any, to func(client.Object)) {
	if o, ok := object.(client.Object); ok && (o.GetNamespace() == s.namespace || o.GetNamespace() == "") {
		to(o)
	}
}

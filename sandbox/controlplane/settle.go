package controlplane

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// settle waits until the controllers have done what every pod needs: the default service account of the default
// namespace exists. It proves that the controller manager works, where its health check only says that it serves.
func (cp *ControlPlane) settle(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(cp.admin)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("asking the API server for its version: %w", err)
	}
	cp.Version = version.GitVersion
	return waitForServiceAccount(ctx, client, metav1.NamespaceDefault)
}

// waitForServiceAccount waits for what admission demands of a namespace before it lets a pod in.
func waitForServiceAccount(ctx context.Context, client kubernetes.Interface, namespace string) error {
	return poll(ctx, func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err
	}, "waiting for the default service account of namespace %s", namespace)
}

// poll tries until it works or the context ends, and then says what was in the way.
func poll(ctx context.Context, try func(context.Context) error, doing string, args ...any) error {
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf(doing+": %w (last: %w)", append(args, context.Cause(ctx), err)...)
		case <-time.After(probeEvery):
		}
	}
}

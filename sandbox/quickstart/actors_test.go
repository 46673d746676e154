package quickstart_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/manager"
	"homecluster.dev/autoscaler/sandbox/standin"
)

// actors stand in for the programs of the chart's pods while these run.
type actors struct {
	stops []func()
	asks  bool
}

// begin lets one act until the end; one that ends before is told of, and missed by whatever the page does next.
func (a *actors) begin(run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := run(ctx); ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "an actor ended:", err)
		}
	}()
	a.stops = append(a.stops, func() { cancel(); <-done })
}

func (a *actors) end() {
	for _, stop := range a.stops {
		stop()
	}
	*a = actors{}
}

// before lets the manager run as soon as its Deployment is there, which may be in the middle of the block; and lets
// cluster-autoscaler ask once a page tells of pods that wake machines: before that it would give back at once, in the short
// times that it has here, what the page wakes by hand.
func (c *cluster) before(t *testing.T, block string) {
	t.Helper()
	if strings.Contains(block, "helm install") {
		dir := t.TempDir()
		c.actors.begin(func(ctx context.Context) error { return c.manage(ctx, dir) })
	}
	if strings.Contains(block, "hello.yaml") && !c.actors.asks {
		c.actors.asks = true
		client := c.standIn(t)
		c.actors.begin(client.Run)
	}
}

// after ends the manager when its Deployment is gone.
func (c *cluster) after(t *testing.T) {
	t.Helper()
	_, err := c.deployment(t.Context())
	if len(c.actors.stops) > 0 && apierrors.IsNotFound(err) {
		c.actors.end()
	}
}

func (c *cluster) deployment(ctx context.Context) (*appsv1.Deployment, error) {
	return c.clients.AppsV1().Deployments(namespace).Get(ctx, "homelab-autoscaler-controller-manager", metav1.GetOptions{})
}

// manage waits for the manager's Deployment and runs what it describes: the arguments, with the files of the volumes that
// they name, and the rights of the service account.
func (c *cluster) manage(ctx context.Context, dir string) error {
	var deployment *appsv1.Deployment
	for deployment == nil {
		found, err := c.deployment(ctx)
		switch {
		case err == nil:
			deployment = found
		case !apierrors.IsNotFound(err) || !pause(ctx):
			return err
		}
	}
	spec := deployment.Spec.Template.Spec
	arguments, err := c.mounted(ctx, spec, dir)
	if err != nil {
		return err
	}
	settings, err := config.Parse(arguments, config.Environment{Getenv: func(string) string { return "" }, ReadFile: os.ReadFile})
	if err != nil {
		return fmt.Errorf("parsing the Deployment's arguments: %w", err)
	}
	settings.GRPCAddress, settings.MetricsAddress, settings.ProbeAddress = "127.0.0.1:0", config.Off, config.Off
	settings.Webhook.Address = config.Off
	if err := c.unhook(ctx); err != nil {
		return err
	}
	reach, err := c.as(ctx, spec.ServiceAccountName)
	if err != nil {
		return err
	}
	quick := policy.Default()
	quick.ShutdownSettle, quick.JoinMinAge, quick.SupersedeSettle = 9*time.Second, 5*time.Second, 2*time.Second
	m, err := manager.New(reach, settings, manager.Options{Log: logr.Discard(), Policy: &quick})
	if err != nil {
		return fmt.Errorf("starting the manager of the Deployment: %w", err)
	}
	c.provider <- m.GRPCAddress()
	return m.Run(ctx)
}

// unhook takes the chart's webhooks away: the API server would look for them in a network that is not there, and wait.
func (c *cluster) unhook(ctx context.Context) error {
	hooks := c.clients.AdmissionregistrationV1()
	all := metav1.ListOptions{}
	return errors.Join(
		hooks.MutatingWebhookConfigurations().DeleteCollection(ctx, metav1.DeleteOptions{}, all),
		hooks.ValidatingWebhookConfigurations().DeleteCollection(ctx, metav1.DeleteOptions{}, all))
}

// mounted are a container's arguments, with the folders that its volumes are mounted to here.
func (c *cluster) mounted(ctx context.Context, spec corev1.PodSpec, dir string) ([]string, error) {
	container := spec.Containers[0]
	var moves []string
	for _, mount := range container.VolumeMounts {
		for _, volume := range spec.Volumes {
			if volume.Name != mount.Name || volume.Secret == nil {
				continue
			}
			secret, err := c.clients.CoreV1().Secrets(namespace).Get(ctx, volume.Secret.SecretName, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			folder := filepath.Join(dir, volume.Name)
			if err := os.MkdirAll(folder, 0o700); err != nil {
				return nil, err
			}
			for name, text := range secret.Data {
				if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
					return nil, err
				}
			}
			moves = append(moves, mount.MountPath, folder)
		}
	}
	move := strings.NewReplacer(moves...)
	var arguments []string
	for _, argument := range container.Args {
		arguments = append(arguments, move.Replace(argument))
	}
	return arguments, nil
}

// as reaches the API server with the rights of a service account.
func (c *cluster) as(ctx context.Context, account string) (*rest.Config, error) {
	token, err := c.clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("getting a token of %s: %w", account, err)
	}
	reach := rest.AnonymousClientConfig(c.plane.Config())
	reach.BearerToken = token.Status.Token
	return reach, nil
}

// standIn is who asks for machines in place of cluster-autoscaler, with the certificate that the chart made for that.
func (c *cluster) standIn(t *testing.T) *standin.Client {
	t.Helper()
	secret, err := c.clients.CoreV1().Secrets(namespace).Get(t.Context(), "homelab-autoscaler-client-tls", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(secret.Data["ca.crt"])
	patience := standin.Defaults()
	patience.Group.UnneededTime, patience.DelayAfterAdd = 8*time.Second, 5*time.Second
	client, err := standin.New(standin.Options{
		Config: c.plane.Config(), Address: <-c.provider, Scan: time.Second, Patience: patience, Settle: time.Second, EvictTimeout: time.Minute,
		TLS: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13,
			ServerName: "homelab-autoscaler." + namespace + ".svc"},
		Clock: clock.RealClock{}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(200 * time.Millisecond):
		return true
	}
}

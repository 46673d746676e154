package observer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/observer/switches"
	"homecluster.dev/autoscaler/internal/power"
)

// Opener makes switches with credentials that it reads from the API server each time, each Secret by its name.
func Opener(live *kube.Live) func(context.Context, *v2.Node) (Opened, error) {
	key := []byte(rand.Text())
	return func(ctx context.Context, slot *v2.Node) (Opened, error) {
		credentials := switches.Credentials{}
		for _, name := range switches.Secrets(slot.Spec.Power) {
			secret, err := live.Secret(ctx, slot.Namespace, name)
			switch {
			case kube.Classify(err) == kube.Denied:
				return Opened{}, fmt.Errorf("%w: the observer may not read Secret %s: name it in the chart's powerObserver.secrets",
					switches.ErrSecret, name)
			case err != nil:
				return Opened{}, fmt.Errorf("%w: %w", switches.ErrSecret, err)
			case secret == nil:
				return Opened{}, fmt.Errorf("%w: there is no Secret %s", switches.ErrSecret, name)
			}
			credentials[name] = secret.Data
		}
		s, err := switches.New(slot.Spec.Power, credentials)
		if err != nil {
			return Opened{}, misconfigured(err)
		}
		return Opened{Switch: s, Shown: credentials.Fingerprint(slot.Spec.Power, key)}, nil
	}
}

// misconfigured is the error, said to be about the declaration unless it is about credentials.
func misconfigured(err error) error {
	for _, other := range []error{switches.ErrSecret, power.ErrCredentials, power.ErrUntrusted} {
		if errors.Is(err, other) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", errMisconfigured, err)
}

package observer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/observer/switches"
	"homecluster.dev/autoscaler/internal/power"
)

// Opener makes switches with credentials that it reads from the API server each time, each Secret by its name.
func Opener(live *kube.Live) func(context.Context, *v2.Node) (Opened, error) {
	return func(ctx context.Context, slot *v2.Node) (Opened, error) {
		credentials := switches.Credentials{}
		var versions []string
		for _, name := range switches.Secrets(slot.Spec.Power) {
			secret, err := live.Secret(ctx, slot.Namespace, name)
			switch {
			case kube.Classify(err) == kube.Denied:
				return Opened{}, fmt.Errorf("%w: the observer may not read Secret %s: name it in the chart's powerObserver.secrets", errSecret, name)
			case err != nil:
				return Opened{}, fmt.Errorf("%w: %w", errSecret, err)
			case secret == nil:
				return Opened{}, fmt.Errorf("%w: there is no Secret %s", errSecret, name)
			}
			credentials[name] = secret.Data
			versions = append(versions, secret.ResourceVersion)
		}
		s, err := switches.New(slot.Spec.Power, credentials)
		if err != nil && !errors.Is(err, power.ErrCredentials) {
			err = fmt.Errorf("%w: %w", errMisconfigured, err)
		}
		return Opened{Switch: s, Version: strings.Join(versions, " ")}, err
	}
}

package validate

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/job"
	"homecluster.dev/autoscaler/internal/core/policy"
)

// ways is whether a machine can be switched on and off at all: by a pod spec, or by its switch.
func ways(path *field.Path, spec v2.NodeSpec) field.ErrorList {
	var faults field.ErrorList
	for _, way := range []struct {
		name string
		spec v2.MinimalPodSpec
		op   v2.Operation
		why  string
	}{
		{"startupPodSpec", spec.StartupPodSpec, v2.OperationStartup,
			"is needed unless power can switch the machine on: ipmi, redfish, wakeOnLan, or http with powerOn"},
		{"shutdownPodSpec", spec.ShutdownPodSpec, v2.OperationShutdown,
			"is needed unless power can switch the machine off: ipmi, redfish, ssh, or http with softOff or powerOff"},
	} {
		switch {
		case !absent(way.spec):
			faults = append(faults, podSpec(path.Child(way.name), way.spec)...)
		case !facts.CanSwitch(spec.Power, way.op):
			faults = append(faults, field.Required(path.Child(way.name), way.why))
		}
	}
	return faults
}

// absent is whether a slot says nothing of its own about an operation.
func absent(spec v2.MinimalPodSpec) bool {
	return spec.Image == "" && len(spec.Command) == 0 && len(spec.Args) == 0 && len(spec.Volumes) == 0 && spec.TTLSecondsAfterFinished == nil
}

// powerSwitch lists what of a switch the schema cannot judge.
func powerSwitch(path *field.Path, p *v2.PowerSwitch) field.ErrorList {
	if p == nil || p.HTTP == nil {
		return nil
	}
	var faults field.ErrorList
	path = path.Child("http")
	if s := p.HTTP.Status; s != nil {
		if _, err := regexp.Compile(s.Pattern); err != nil {
			faults = append(faults, field.Invalid(path.Child("status", "pattern"), s.Pattern, "must be a regular expression: "+err.Error()))
		}
	}
	all := requests(p.HTTP)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if p.HTTP.CredentialsSecretRef == nil && strings.Contains(text(all[name]), "${") {
			faults = append(faults, field.Required(path.Child("credentialsSecretRef"), name+" wants a key of a Secret: which?"))
		}
	}
	return faults
}

// requests are those that a switch has, by their fields.
func requests(p *v2.HTTPSwitch) map[string]*v2.HTTPRequest {
	all := map[string]*v2.HTTPRequest{"powerOn": p.PowerOn, "powerOff": p.PowerOff, "softOff": p.SoftOff}
	if p.Status != nil {
		all["status"] = &p.Status.HTTPRequest
	}
	maps.DeleteFunc(all, func(_ string, r *v2.HTTPRequest) bool { return r == nil })
	return all
}

// text is everything in which a key of the credentials can stand.
func text(r *v2.HTTPRequest) string {
	var headers []string
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		headers = append(headers, name+": "+r.Headers[name])
	}
	return strings.Join(append([]string{r.URL, r.Body}, headers...), "\n")
}

// openHeader is a header field that hands over a secret as it stands.
var openHeader = regexp.MustCompile(`(?mi)^(authorization|(x-)?(api|auth|access)[-a-z]*): [^$\n]+$`)

// powerWarnings says what is legal about a switch and unwise. p is the policy in force for the slot.
func powerWarnings(slot *v2.Node, p policy.Policy) []string {
	power := slot.Spec.Power
	if power == nil {
		return nil
	}
	var warnings []string
	own := !absent(slot.Spec.StartupPodSpec) && !absent(slot.Spec.ShutdownPodSpec)
	if own && !facts.ReadableSwitch(power) {
		warnings = append(warnings, "spec.power: both pod specs win over it, and it cannot be read: it has no use")
	}
	if force := power.ForceAfter; force != nil && absent(slot.Spec.ShutdownPodSpec) && force.Duration > job.LongestGrace(p.ShutdownJob) {
		warnings = append(warnings, fmt.Sprintf("spec.power.forceAfter: a shutdown Job has %s, so the power is cut after %s; raise timeouts.shutdownJob of the group",
			p.ShutdownJob, job.LongestGrace(p.ShutdownJob)))
	}
	if power.HTTP == nil {
		return warnings
	}
	if absent(slot.Spec.ShutdownPodSpec) && power.SSH == nil && power.HTTP.SoftOff == nil && power.HTTP.PowerOff != nil {
		warnings = append(warnings,
			"spec.power.http: powerOff cuts the power of a running system, since there is neither softOff nor ssh: what is not written is lost")
	}
	all := requests(power.HTTP)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if said := text(all[name]); secretWord.MatchString(said) || openHeader.MatchString(said) {
			warnings = append(warnings, fmt.Sprintf("spec.power.http.%s: something in it looks like a secret, and %s; write ${password} or ${token}", name, inTheOpen))
		}
	}
	return warnings
}

package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// check is one question that is put to a snapshot.
type check struct {
	name string
	ask  func(*Snapshot) []Finding
}

// checks are in the order in which a person deals with what they find: what cannot be mended by the upgrade first, then
// the steps of the upgrade itself, then what to expect of it.
var checks = []check{
	{"kubernetes", kubernetes},
	{"autoscaler", autoscaler},
	{"old-operator", oldOperator},
	{"deployments", deployments},
	{"wanted-on", wantedOn},
	{"old-objects", oldObjects},
	{"stored-versions", storedVersions},
	{"unreadable", unreadable},
	{"managed-fields", managedFields},
	{"definitions", definitions},
	{"helm-ownership", helmOwnership},
	{"node-names", nodeNames},
	{"provider-ids", providerIDs},
}

// Judge says what a snapshot shows.
func Judge(s *Snapshot) Report {
	r := Report{Kubernetes: s.Kubernetes, Installed: s.installed(), Findings: []Finding{}, Unread: s.Unread}
	for _, check := range checks {
		r.Checks = append(r.Checks, check.name)
		for _, finding := range check.ask(s) {
			finding.Check = check.name
			r.Findings = append(r.Findings, finding)
		}
	}
	switch {
	case r.count(Blocks) > 0:
		r.Verdict = Blocked
	case len(s.Unread) > 0:
		r.Verdict = Unknown
	default:
		r.Verdict = Ready
	}
	return r
}

// minimum is the first Kubernetes 1.x whose CEL knows what our definitions and admission policies are written in.
const minimum = 30

// needed are resources that 0.2 works with and that an old Kubernetes, or one with features switched off, does not serve.
var needed = []string{
	"admissionregistration.k8s.io/v1/validatingadmissionpolicies", "admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
	"apps/v1/deployments", "authorization.k8s.io/v1/selfsubjectrulesreviews", "batch/v1/jobs", "coordination.k8s.io/v1/leases",
	"events.k8s.io/v1/events", "policy/v1/poddisruptionbudgets",
}

// kubernetes finds an API server that is too old, or serves too little.
func kubernetes(s *Snapshot) []Finding {
	if s.Kubernetes == "" {
		return nil
	}
	var found []Finding
	if s.Major < 1 || s.Major == 1 && s.Minor < minimum {
		found = append(found, Finding{Severity: Blocks, About: s.Kubernetes, Says: fmt.Sprintf(
			"0.2 needs Kubernetes 1.%d: older API servers refuse the rules in its definitions. Upgrade Kubernetes first.", minimum),
			Do: []string{"kubectl version"}})
	}
	var missing []string
	for _, resource := range needed {
		if s.Served != nil && !s.Served[resource] {
			missing = append(missing, resource)
		}
	}
	if len(missing) > 0 {
		found = append(found, Finding{Severity: Blocks, About: strings.Join(missing, ", "),
			Says: "The API server does not serve what 0.2 works with. It is too old, or told by --runtime-config not to.",
			Do:   []string{"kubectl api-versions"}})
	}
	return found
}

// autoscaler finds a client that goes on asking while the pool is to be empty.
func autoscaler(s *Snapshot) []Finding {
	if !s.old() {
		return nil
	}
	var found []Finding
	for _, d := range s.Deployments {
		if isClient(d) && running(d) {
			found = append(found, Finding{Severity: Blocks, About: "Deployment " + d.Namespace + "/" + d.Name,
				Says: "cluster-autoscaler runs: it would go on asking for machines while their slots are deleted and made anew.",
				Do:   []string{fmt.Sprintf("kubectl scale deployment/%s -n %s --replicas=0", d.Name, d.Namespace)}})
		}
	}
	return found
}

// oldOperator finds a running 0.1.
func oldOperator(s *Snapshot) []Finding {
	var found []Finding
	for _, d := range s.Deployments {
		if !s.isOldManager(d) || !running(d) {
			continue
		}
		says := "An operator of 0.1 runs. Its watches fail as soon as v1alpha1 is no longer served. Stopping it switches no machine off."
		if !s.old() {
			says = "An operator of 0.1 runs, and v1alpha1 is not served any more: it restarts for ever."
		}
		found = append(found, Finding{Severity: Blocks, About: "Deployment " + d.Namespace + "/" + d.Name, Says: says,
			Do: []string{fmt.Sprintf("kubectl scale deployment/%s -n %s --replicas=0", d.Name, d.Namespace)}})
	}
	return found
}

// parts are the Deployments of our chart, by the end of their name, with the label by which each selects its pods beside
// the two of the release.
var parts = map[string][2]string{
	"-controller-manager": {"control-plane", "controller-manager"},
	"-cluster-autoscaler": {"app.kubernetes.io/component", "cluster-autoscaler"},
}

// deployments finds those of 0.1 that Helm cannot turn into those of 0.2: what a Deployment selects can never change.
func deployments(s *Snapshot) []Finding {
	if !s.old() {
		return nil
	}
	var found []Finding
	for _, d := range s.Deployments {
		release := d.Annotations["meta.helm.sh/release-name"]
		for _, suffix := range slices.Sorted(maps.Keys(parts)) {
			if release == "" || d.Namespace != s.Namespace || d.Name != release+suffix || d.Spec.Selector == nil {
				continue
			}
			part := parts[suffix]
			want := map[string]string{"app.kubernetes.io/name": "homelab-autoscaler", "app.kubernetes.io/instance": release, part[0]: part[1]}
			if !maps.Equal(want, d.Spec.Selector.MatchLabels) {
				found = append(found, Finding{Severity: Blocks, About: "Deployment " + d.Namespace + "/" + d.Name,
					Says: "It selects its pods by other labels than the Deployment of 0.2, which can never change: helm upgrade is refused. helm upgrade makes it anew.",
					Do:   []string{fmt.Sprintf("kubectl delete deployment/%s -n %s", d.Name, d.Namespace)}})
			}
		}
	}
	return found
}

// wantedOn finds the machines that somebody uses now.
func wantedOn(s *Snapshot) []Finding {
	if !s.old() {
		return nil
	}
	var found []Finding
	for _, slot := range s.Slots {
		asked, seen := text(slot, "spec", "powerState"), text(slot, "status", "powerState")
		if asked != "on" && seen != "on" {
			continue
		}
		group := slot.GetLabels()["group"]
		found = append(found, Finding{Severity: Warns, About: "slot " + slot.GetNamespace() + "/" + slot.GetName(),
			Says: fmt.Sprintf("Its machine is in use (spec.powerState %s, status.powerState %s, status.progress %s). No claim will want it, so 0.2 "+
				"drains it and switches it off two minutes after it first sees it, unless its group says otherwise. To keep it running, put "+
				"unclaimedMachines: Adopt into the spec of Group %s before the slots are made anew. To empty it now:",
				orNone(asked), orNone(seen), orNone(text(slot, "status", "progress")), orNone(group)),
			Do: []string{"kubectl drain " + kubeNodeName(slot) + " --ignore-daemonsets --delete-emptydir-data"}})
	}
	return found
}

func orNone(text string) string {
	if text == "" {
		return "<none>"
	}
	return text
}

// oldObjects finds objects that nobody could read once v1alpha1 is gone.
func oldObjects(s *Snapshot) []Finding {
	var found []Finding
	for _, plural := range []string{"nodes", "groups"} {
		if !s.stored(plural, Old) {
			continue
		}
		byNamespace, stuck := map[string]int{}, map[string][]string{}
		for _, object := range s.objects(plural) {
			byNamespace[object.GetNamespace()]++
			if len(object.GetFinalizers()) > 0 {
				stuck[object.GetNamespace()] = append(stuck[object.GetNamespace()], object.GetName())
			}
		}
		for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
			file := plural + "-" + namespace
			finding := Finding{Severity: Blocks, About: fmt.Sprintf("%d %s in namespace %s", byNamespace[namespace], crd(plural), namespace),
				Says: "They may be stored as v1alpha1, which nobody can read any more once it is gone from the definition. Keep a copy, rewrite it " +
					"for 0.2, and delete them. Their machines stay as they are.",
				Do: []string{
					fmt.Sprintf("kubectl get %s -n %s -o yaml >%s.v1alpha1.yaml", crd(plural), namespace, file),
					fmt.Sprintf("homelab-autoscaler convert <%s.v1alpha1.yaml >%s.v2alpha1.yaml", file, file),
					fmt.Sprintf("kubectl delete %s -n %s --all --wait=false", crd(plural), namespace),
				}}
			for _, name := range stuck[namespace] {
				finding.Do = append(finding.Do, fmt.Sprintf(`kubectl patch %s %s -n %s --type=merge -p '{"metadata":{"finalizers":null}}'`, crd(plural), name, namespace))
			}
			found = append(found, finding)
		}
	}
	return found
}

// storedVersions finds the entry for which the API server refuses definitions without v1alpha1.
func storedVersions(s *Snapshot) []Finding {
	var found []Finding
	for _, plural := range []string{"nodes", "groups"} {
		if !s.stored(plural, Old) {
			continue
		}
		says := "status.storedVersions lists v1alpha1, so the API server refuses a definition without it, and with it the upgrade."
		if len(s.objects(plural)) > 0 {
			says += " Run this only once its objects are deleted: it tells the API server that nothing is stored as v1alpha1."
		}
		found = append(found, Finding{Severity: Blocks, About: crd(plural), Says: says, Do: []string{StoredVersionsPatch(plural)}})
	}
	return found
}

// StoredVersionsPatch is the command that takes v1alpha1 out of a definition's status.storedVersions.
func StoredVersionsPatch(plural string) string {
	return fmt.Sprintf(`kubectl patch crd %s --subresource=status --type=merge -p '{"status":{"storedVersions":[%q]}}'`, crd(plural), New)
}

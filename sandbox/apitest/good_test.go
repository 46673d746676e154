package apitest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// The smallest objects that are right; every odd one changes one thing of them.
var smallest = map[string]string{
	"Group": `{apiVersion: infra.homecluster.dev/v2alpha1, kind: Group, metadata: {name: pool}}`,
	"Node": `{apiVersion: infra.homecluster.dev/v2alpha1, kind: Node, metadata: {name: worker-01}, spec: {
		kubernetesNodeName: worker-01, startupPodSpec: {image: switch-on}, shutdownPodSpec: {image: switch-off}}}`,
	"NodeClaim": `{apiVersion: infra.homecluster.dev/v2alpha1, kind: NodeClaim, metadata: {name: worker-01-manual}, spec: {
		slotRef: {name: worker-01}, request: {call: IncreaseSize, group: pool}}}`,
}

// odd are objects that look strange and are right: kind, path, value in YAML.
var odd = map[string][3]string{
	"a group that says nothing":                 {"Group", "metadata.name", "pool"},
	"a group with an empty spec":                {"Group", "spec", "{}"},
	"a group's name that just is a label value": {"Group", "metadata.name", strings.Repeat("g", 63)},
	"a group's name with dots":                  {"Group", "metadata.name", "rack.1"},
	"a group that only people wake":             {"Group", "spec.engine", "None"},
	"a floor above anything":                    {"Group", "spec.minSize", "2147483647"},
	"a duration in several parts":               {"Group", "spec.maxNodeProvisionTime", "1h30m15.5s"},
	"a duration in milliseconds":                {"Group", "spec.maxNodeProvisionTime", "90000ms"},
	"a duration in fractions of an hour":        {"Group", "spec.maxNodeProvisionTime", "0.25h"},
	"a duration of years":                       {"Group", "spec.scaleDownUnneededTime", "99999h"},
	"a duration whose parts do not descend":     {"Group", "spec.scaleDownUnneededTime", "30m1h"},
	"the shortest duration":                     {"Group", "spec.timeouts", "{drain: 1s}"},
	"timeouts that change nothing":              {"Group", "spec.timeouts", "{}"},
	"a threshold of nothing":                    {"Group", "spec.scaleDownUtilizationThreshold", `"0"`},
	"a threshold of all":                        {"Group", "spec.scaleDownUtilizationThreshold", `"1.000"`},
	"a threshold of many digits":                {"Group", "spec.scaleDownUtilizationThreshold", `"0.33333333333333"`},
	"no readiness taints":                       {"Group", "spec.nodeReadinessTaints", "[]"},
	"a readiness taint with any effect":         {"Group", "spec.nodeReadinessTaints", "[{key: agent}]"},
	"the same readiness taint twice":            {"Group", "spec.nodeReadinessTaints", "[{key: agent}, {key: agent}]"},
	"a pool that grows and shrinks as a whole":  {"Group", "spec.zeroOrMaxNodeScaling", "true"},
	"a label of anybody's":                      {"Group", "metadata.labels", "{group: pool, a.b/c: d}"},
	"a slot's name that just fits":              {"Node", "metadata.name", strings.Repeat("w", 44)},
	"a slot's name of digits":                   {"Node", "metadata.name", `"01"`},
	"a slot's name with dots":                   {"Node", "metadata.name", "worker.01.rack"},
	"a kubeNode named by its address":           {"Node", "spec.kubernetesNodeName", "10.0.0.7"},
	"a kubeNode of one letter":                  {"Node", "spec.kubernetesNodeName", "x"},
	"a capacity in every spelling":              {"Node", "spec.nodeCapacity", `{cpu: 2, memory: 3.2Gi, pods: "110", ephemeral-storage: 1e11, "nvidia.com/gpu": "+1"}`},
	"a capacity without a leading digit":        {"Node", "spec.nodeCapacity", `{cpu: ".5"}`},
	"a capacity of none of a device":            {"Node", "spec.nodeCapacity", `{cpu: 1, "nvidia.com/gpu": 0}`},
	"a capacity of huge pages":                  {"Node", "spec.nodeCapacity", `{"hugepages-2Mi": 1Gi}`},
	"a capacity in thousandths of a byte":       {"Node", "spec.nodeCapacity", "{memory: 3435973836800m}"},
	"an empty capacity":                         {"Node", "spec.nodeCapacity", "{}"},
	"labels without values":                     {"Node", "spec.nodeLabels", `{node-role.kubernetes.io/worker: "", a: ""}`},
	"a label in capitals":                       {"Node", "spec.nodeLabels", "{Room: CELLAR_1.a}"},
	"a taint without a value":                   {"Node", "spec.nodeTaints", "[{key: a, effect: NoSchedule}]"},
	"one key with two effects":                  {"Node", "spec.nodeTaints", "[{key: a, effect: NoSchedule}, {key: a, effect: NoExecute}]"},
	"a taint to remove twice":                   {"Node", "spec.taintsToRemove", "[{key: a, effect: NoSchedule}, {key: a, effect: NoSchedule}]"},
	"a taint that is declared and removed":      {"Node", "spec.taintsToRemove", "[{key: example.com/agent, effect: PreferNoSchedule}]"},
	"a machine that costs nothing":              {"Node", "spec.pricing", `{hourlyRate: "0", podRate: "0.000"}`},
	"a machine that costs a fortune":            {"Node", "spec.pricing", `{hourlyRate: "999999999999.99", podRate: "007"}`},
	"a providerID of another cloud":             {"Node", "spec.providerID", "aws:///eu-central-1a/i-0123456789abcdef0"},
	"a providerID that is none":                 {"Node", "spec.providerID", "worker 01"},
	"a switch instead of pod specs":             {"Node", "spec", "{kubernetesNodeName: a, power: {ipmi: {address: 192.168.1.5, credentialsSecretRef: {name: s}}}}"},
	"a switch that goes up, and a pod spec that goes down": {"Node", "spec",
		"{kubernetesNodeName: a, power: {wakeOnLan: {macAddress: '52:54:00:AB:cd:56'}}, shutdownPodSpec: {image: i}}"},
	"a switch that goes down, and a pod spec that goes up": {"Node", "spec",
		"{kubernetesNodeName: a, power: {ssh: {address: 'fe80::1', user: 'home$', credentialsSecretRef: {name: s}}}, startupPodSpec: {image: i}}"},
	"a magic packet and ssh": {"Node", "spec",
		"{kubernetesNodeName: a, power: {wakeOnLan: {macAddress: '52:54:00:12:34:56', broadcast: 10.0.0.7}, ssh: {address: a, credentialsSecretRef: {name: s}}}}"},
	"a plug without credentials": {"Node", "spec",
		"{kubernetesNodeName: a, power: {http: {powerOn: {url: 'http://10.0.0.7/relay/0?turn=on'}, powerOff: {url: 'http://[fe80::1]:8080'}}}}"},
	"a switch that is only read, beside pod specs": {"Node", "spec.power", "{http: {status: {url: 'http://plug.lan/cm?cmnd=Power', jsonPath: 'POWER'}}}"},
	"a password where it is replaced": {"Node", "spec.power",
		"{http: {powerOn: {url: 'http://plug.lan/${username}?p=${password}', headers: {authorization: 'Bearer ${token}'}, body: '$100 ${token}'}, credentialsSecretRef: {name: s}}}"},
	"a path as tools write it": {"Node", "spec.power", "{http: {status: {url: 'http://a', jsonPath: '$.switch:0.relays[0][1].ison'}}}"},
	"a BMC by a name with its root, and with an underscore as home networks have them": {"Node", "spec.power",
		"{ipmi: {address: bmc_1.lan., credentialsSecretRef: {name: s}}, ssh: {address: _worker_1.lan, credentialsSecretRef: {name: s}}}"},
	"a BMC's URL by such a name": {"Node", "spec.power", "{redfish: {url: 'https://bmc_1.lan.:8443', credentialsSecretRef: {name: s}}}"},
	"a BMC by its IPv6 address":  {"Node", "spec.power", "{redfish: {url: 'https://[2001:db8::1]/', credentialsSecretRef: {name: s}}}"},
	"a certificate that is taken as it is, said twice": {"Node", "spec.power",
		"{redfish: {url: 'http://bmc', tls: {insecureSkipVerify: false, caSecretRef: {name: s}}, credentialsSecretRef: {name: s}}}"},
	"power that is cut": {"Node", "spec.power", "{forceAfter: 90s, http: {powerOff: {url: 'http://a'}, status: {url: 'http://a'}}}"},

	"a slot that is held":                               {"Node", "spec.suspend", "true"},
	"a slot without a group":                            {"Node", "metadata.labels", "{}"},
	"a slot with a hold that cannot be read":            {"Node", "metadata.annotations", `{infra.homecluster.dev/hold: "", infra.homecluster.dev/hold-until: soon}`},
	"an image by its digest":                            {"Node", "spec.startupPodSpec.image", "registry.lan:5000/a/b@sha256:" + strings.Repeat("0", 64)},
	"a password on the command line":                    {"Node", "spec.startupPodSpec.args", `[-P, password, "", "two\nlines"]`},
	"a variable without a value":                        {"Node", "spec.startupPodSpec.env", "[{name: EMPTY}]"},
	"a variable of an odd name":                         {"Node", "spec.startupPodSpec.env", "[{name: a.b-c}, {name: _}]"},
	"a variable with a source and an empty value":       {"Node", "spec.startupPodSpec.env", `[{name: A, value: "", valueFrom: {secretKeyRef: {name: a, key: b}}}]`},
	"a volume at the root":                              {"Node", "spec.startupPodSpec.volumes", "[{name: a, mountPath: /, secretName: s}]"},
	"one Secret at two places":                          {"Node", "spec.startupPodSpec.volumes", "[{name: a, mountPath: /a, secretName: s}, {name: b, mountPath: /a/, secretName: s}]"},
	"a toleration of everything":                        {"Node", "spec.startupPodSpec.tolerations", "[{operator: Exists}]"},
	"a toleration with nothing but empty strings":       {"Node", "spec.startupPodSpec.tolerations", `[{key: a, operator: "", effect: ""}]`},
	"a privileged container":                            {"Node", "spec.startupPodSpec.securityContext", "{privileged: true}"},
	"root by number":                                    {"Node", "spec.startupPodSpec.securityContext", "{runAsUser: 0}"},
	"an image that does without root":                   {"Node", "spec.startupPodSpec.podSecurityContext", "{runAsNonRoot: true, runAsUser: 2147483647}"},
	"a Job that is collected at once":                   {"Node", "spec.startupPodSpec.ttlSecondsAfterFinished", "0"},
	"no ServiceAccount, said so":                        {"Node", "spec.startupPodSpec.serviceAccount", `""`},
	"nothing but an image":                              {"Node", "spec.startupPodSpec", "{image: a}"},
	"a slot that is made while it is deleted elsewhere": {"Node", "metadata.finalizers", "[infra.homecluster.dev/slot-finalizer]"},
	"a claim's name that just fits":                     {"NodeClaim", "metadata.name", strings.Repeat("c", 51)},
	"a claim for a slot of a long name":                 {"NodeClaim", "spec.slotRef.name", strings.Repeat("w", 253)},
	"a claim that says what kind a slot is":             {"NodeClaim", "spec.slotRef", "{name: worker-01, kind: Node, apiVersion: infra.homecluster.dev/v2alpha1}"},
	"a claim for a slot of an odd kind":                 {"NodeClaim", "spec.slotRef", "{name: worker-01, kind: Server}"},
	"a claim of an engine that is to come":              {"NodeClaim", "spec.request.call", "Create"},
	"a claim that is marked already, from a backup":     {"NodeClaim", "spec.request", "{call: DeleteNodes, group: pool, nodes: [worker-01]}"},
	"a claim of a decrease":                             {"NodeClaim", "spec.request", "{call: DecreaseTargetSize, group: pool, delta: -1}"},
	"a group with dots":                                 {"NodeClaim", "spec.request.group", "rack.1"},
	"a deadline in another zone":                        {"NodeClaim", "spec.deadlineAt", `"2026-03-04T10:30:00+01:00"`},
	"a deadline that has passed long ago":               {"NodeClaim", "spec.deadlineAt", `"1970-01-01T00:00:00Z"`},
	"a deadline at the end of time":                     {"NodeClaim", "spec.deadlineAt", `"9999-12-31T23:59:59.999999999Z"`},
	"a request from the future":                         {"NodeClaim", "spec.requestedAt", `"2126-03-04T09:38:15.123Z"`},
	"a request by somebody with a long name":            {"NodeClaim", "spec.requestedBy", strings.Repeat("é", 256)},
	"a request in several lines":                        {"NodeClaim", "spec.requestedBy", `"alice\n<alice@example.com>"`},
	"a claim that is collected at once":                 {"NodeClaim", "spec.ttlSecondsAfterFinished", "0"},
	"a claim with its number of the episode":            {"NodeClaim", "spec.episode", "9223372036854775807"},
	"a claim with empty fields":                         {"NodeClaim", "spec.slotRef", `{name: worker-01, namespace: "", uid: ""}`},
	"a claim with labels that agree":                    {"NodeClaim", "metadata.labels", "{group: pool, infra.homecluster.dev/node: worker-01}"},
	"a claim with labels of anybody's":                  {"NodeClaim", "metadata.labels", `{app: x, infra.homecluster.dev/node: ""}`},
}

// limits are, at every place, the values that its schema just allows.
func limits(p place) map[string]any {
	s, found := p.schema, map[string]any{}
	for _, allowed := range s.Enum {
		var text string
		_ = json.Unmarshal(allowed.Raw, &text) // our enums are strings
		found["one of the list: "+text] = text
	}
	if s.Minimum != nil {
		found["as small as can be"] = int64(*s.Minimum)
	}
	if s.Maximum != nil {
		found["as large as can be"] = int64(*s.Maximum)
	}
	if s.MaxLength != nil && s.Format == "" && len(s.Enum) == 0 && !strings.Contains(fmt.Sprint(s.XValidations), "decimal number") &&
		!strings.Contains(fmt.Sprint(s.XValidations), "duration") {
		found["as long as can be"] = longest(p, int(*s.MaxLength))
	}
	return found
}

// longest is a text of a length that the rules of its place take.
func longest(p place, n int) string {
	name := p.steps[len(p.steps)-1]
	switch {
	case name == "mountPath":
		return "/" + strings.Repeat("a", n-1)
	case name == "key" && n == 317:
		return strings.Repeat("a", 253) + "/" + strings.Repeat("b", 63)
	case name == "url":
		return "https://" + strings.Repeat("a", n-len("https://"))
	case name == "address":
		return strings.Repeat("a", n)
	case name == "macAddress":
		return "52:54:00:12:34:56"
	case name == "broadcast":
		return "192.168.100.255"
	case name == "hostKeyFingerprint":
		return "SHA256:" + strings.Repeat("a", n-len("SHA256:"))
	}
	return strings.Repeat("1", n)
}

// Objects that are right are taken, at the limits of the schema too, and every one of them can be read by our own types:
// one that could not would keep a manager from listing its whole kind.
func TestWhatIsRightIsTaken(t *testing.T) {
	c, namespace := server(t)
	taken := 0
	for name, o := range odd {
		t.Run(name, func(t *testing.T) {
			object := parse(t, smallest[o[0]])
			object.SetNamespace(namespace)
			right(t, c, &unstructured.Unstructured{Object: put(object.Object, path(o[1]), parsed(t, o[2])).(map[string]any)})
			taken++
		})
	}
	t.Logf("%4d odd objects", taken)
	if taken < 60 {
		t.Errorf("%d odd objects, want at least 60", taken)
	}
	atLimits := 0
	for kind := range kinds {
		goods := fulls(t, kind, namespace)
		for _, p := range places(t, kind) {
			if p.steps[0] == "status" || p.String() == "spec.slotRef.namespace" {
				continue
			}
			for name, limit := range limits(p) {
				t.Run(fmt.Sprintf("%s %s %s", kind, p, name), func(t *testing.T) {
					i, at := holding(goods, p)
					if at == nil {
						t.Fatalf("testdata/full has no %s %s", kind, p)
					}
					right(t, c, &unstructured.Unstructured{Object: put(goods[i].Object, at, limit).(map[string]any)})
					atLimits++
				})
			}
		}
	}
	t.Logf("%4d objects at the limits of a field", atLimits)
}

// path reads a dotted path.
func path(dotted string) []any {
	var at []any
	for step := range strings.SplitSeq(dotted, ".") {
		at = append(at, step)
	}
	return at
}

func right(t *testing.T, c client.Client, object *unstructured.Unstructured) {
	t.Helper()
	if err := c.Create(t.Context(), object, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	readable(t, object)
}

// readable fails for an object that the types of Go cannot hold.
func readable(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	raw, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	typed := map[string]any{"Group": &v2.Group{}, "Node": &v2.Node{}, "NodeClaim": &v2.NodeClaim{}}[object.GetKind()]
	if err := json.Unmarshal(raw, typed); err != nil {
		t.Errorf("the API server takes what no client can read: %v", err)
	}
}

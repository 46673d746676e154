package apitest

import (
	"slices"
	"strings"
)

// Cases that several rules share.
var (
	badDurations = []ruleCase{
		{value: "0s"}, {value: "-5m"}, {value: "soon"}, {value: `"90"`}, {value: "999ms"}, {value: "100000h"}, {value: "1h 30m"},
		{value: `""`}, {value: "1d"}, {value: "9999999h"},
	}
	badNames    = []ruleCase{{value: "Worker-01"}, {value: "worker_01"}, {value: "worker-01."}, {value: "-worker"}, {value: "worker 01"}, {value: "wörker"}}
	badTaintKey = []ruleCase{
		{value: "gpu/"}, {value: "/gpu"}, {value: "GPU.example.com/a/b"}, {value: `"a b"`}, {value: strings.Repeat("k", 64)}, {value: "gpu="},
	}
)

// in are cases below a place.
func in(at string, cases []ruleCase) []ruleCase {
	var moved []ruleCase
	for _, c := range cases {
		c.at = at
		moved = append(moved, c)
	}
	return moved
}

// ruleCases are, for the message of each rule, ways to break it.
var ruleCases = map[string][]ruleCase{
	"metadata.name is a label value on its slots: at most 63 characters": {
		{at: "metadata.name", value: strings.Repeat("g", 64)},
	},
	"must be a duration of at least 1s, such as 90s, 15m or 1h30m":  badDurations,
	"must be a duration from 1s to 24h, such as 90s, 15m or 1h30m":  append(slices.Clone(badDurations), ruleCase{value: "24h1s"}),
	"must be a taint's key, such as node.cilium.io/agent-not-ready": badTaintKey,
	`must be a decimal number from 0 to 1, in quotes, such as "0.5"`: {
		{value: `"1.5"`}, {value: `"-0.1"`}, {value: `"50%"`}, {value: `half`}, {value: `"0,5"`}, {value: `".5"`}, {value: `"1.01"`}, {value: `""`}, {value: `"NaN"`},
	},

	"metadata.name starts the names of its claims and Jobs, which are label values: at most 44 characters": {
		{at: "metadata.name", value: strings.Repeat("w", 45)},
	},
	"a slot needs a spec: the name of its kubeNode, and how the machine is switched on and off": {{at: "spec"}},
	"cannot change while a claim of this slot is live, which status.lastClaim names: delete the claim, and change it once the slot is off": {
		{at: "spec.kubernetesNodeName", value: "other.lan", before: "{phase: pending}"},
		{at: "spec.kubernetesNodeName", value: "other.lan", before: "{phase: booting}"},
		{at: "spec.kubernetesNodeName", value: "other.lan", before: "{phase: ready}"},
		{at: "spec.kubernetesNodeName", value: "other.lan", before: "{phase: draining, lastClaim: {name: full-1, slot: full, phase: booting}}"},
		{at: "spec.kubernetesNodeName", value: "other.lan", before: "{phase: draining, lastClaim: {name: full-1, slot: full, phase: ready}}"},
	},
	"must be a name that a kubelet registers with: lower-case letters, digits, '-' and '.', such as worker-01.lan": badNames,
	"every value must be a quantity, such as 7800m, 30Gi or 110": {
		{value: "{cpu: 1, memory: much}"}, {value: `{memory: "3.2 Gi"}`}, {value: "{memory: 30GB}"}, {value: `{memory: ""}`}, {value: "{cpu: 1, example.com/gpu: one}"},
	},
	"a machine cannot offer less than nothing: leave out what it does not have": {
		{value: "{cpu: -1}"}, {value: `{cpu: "-1"}`}, {value: "{cpu: 4, example.com/gpu: -1}"}, {value: "{memory: -30Gi}"},
	},
	"a machine without cpu, memory or pods can run nothing: give the real number, or leave it out": {
		{value: "{cpu: 0}"}, {value: `{cpu: "0"}`}, {value: "{cpu: 4, memory: 0Gi}"}, {value: `{pods: "0.0"}`}, {value: "{cpu: 00m}"}, {value: "{cpu: 0e3}"},
	},
	"a label's key is a name, with or without a prefix such as example.com/, of letters, digits, '-', '_' and '.', at most 63": {
		{value: `{"a b": c}`}, {value: `{"": c}`}, {value: "{a/b/c: d}"}, {value: "{example.com/: c}"}, {value: "{room: cellar, -a: b}"},
		{value: "{" + strings.Repeat("k", 64) + ": c}"},
	},
	"a label's value is letters, digits, '-', '_' and '.', at most 63": {
		{value: `{room: "the cellar"}`}, {value: "{room: cellar, floor: -1-}"}, {value: "{room: käller}"},
	},
	"no two taints may share key and effect: a kubeNode can carry only one of them": {
		{value: "[{key: a, value: b, effect: NoSchedule}, {key: a, value: c, effect: NoSchedule}]"},
	},
	"must be a taint's key, such as example.com/gpu": in("key", badTaintKey),
	"must be a label value: letters, digits, '-', '_' and '.', at most 63": {
		{at: "value", value: `"a b"`}, {at: "value", value: "-a"}, {at: "value", value: "a/b"},
	},
	`must be a decimal number, in quotes and not negative, such as "0.05"`: {
		{value: "cheap"}, {value: `"-0.05"`}, {value: `"1e3"`}, {value: `"0,05"`}, {value: `"5 EUR"`}, {value: `""`}, {value: `"NaN"`}, {value: `"Inf"`},
		{value: `"1000000000000"`},
	},
	"must be the name of an environment variable, without '=' and its value": {{at: "name", value: "HOST=bmc.lan"}},
	"takes value or valueFrom, not both":                                     {{at: "valueFrom", value: "{fieldRef: {fieldPath: metadata.name}}"}},
	"takes exactly one source, such as secretKeyRef": {
		{value: "{name: A, valueFrom: {}}"},
		{value: "{name: A, valueFrom: {secretKeyRef: {name: a, key: b}, configMapKeyRef: {name: a, key: b}}}"},
	},
	"secretKeyRef and configMapKeyRef need a name: that of the Secret or ConfigMap with the key": {
		{value: "{name: A, valueFrom: {secretKeyRef: {key: b}}}"},
		{value: `{name: A, valueFrom: {configMapKeyRef: {name: "", key: b}}}`},
	},
	"takes exactly one of secretRef and configMapRef, with its name": {
		{value: "{}"}, {value: "{prefix: A_}"}, {value: "{secretRef: {name: a}, configMapRef: {name: a}}"}, {value: "{secretRef: {}}"},
		{value: `{configMapRef: {name: ""}}`},
	},
	"must be an image reference without spaces, such as docker.io/library/busybox:1.37": {
		{value: `" busybox"`}, {value: `"busybox:1.37 "`}, {value: `"busybox latest"`}, {value: `"busybox\n"`}, {value: `"\tbusybox"`},
	},
	"must be the name of a Secret of the slot's namespace":         {{at: "name"}, {at: "name", value: `""`}},
	"must be the name of a ServiceAccount of the slot's namespace": badNames,
	"no two volumes may share a mountPath": {
		{value: "[{name: a, mountPath: /a, secretName: s}, {name: b, mountPath: /a, configMapName: c}]"},
	},
	"exactly one of secretName and configMapName must be set": {
		{value: "{name: a, mountPath: /a}"}, {value: "{name: a, mountPath: /a, secretName: s, configMapName: c}"},
	},
	"must be an absolute path without a colon, such as /ssh": {
		{value: "ssh"}, {value: "./ssh"}, {value: `"/ssh:ro"`}, {value: `""`}, {value: "~/ssh"},
	},
	"is needed unless power can switch the machine on: ipmi, redfish, wakeOnLan, or http with powerOn": {
		{value: "{kubernetesNodeName: a, shutdownPodSpec: {image: i}}"},
		{value: "{kubernetesNodeName: a, shutdownPodSpec: {image: i}, power: {ssh: {address: a, credentialsSecretRef: {name: s}}}}"},
		{value: "{kubernetesNodeName: a, shutdownPodSpec: {image: i}, power: {http: {status: {url: 'http://a'}, powerOff: {url: 'http://a'}}}}"},
	},
	"is needed unless power can switch the machine off: ipmi, redfish, ssh, or http with softOff or powerOff": {
		{value: "{kubernetesNodeName: a, startupPodSpec: {image: i}}"},
		{value: "{kubernetesNodeName: a, power: {wakeOnLan: {macAddress: '52:54:00:12:34:56'}}}"},
		{value: "{kubernetesNodeName: a, power: {http: {status: {url: 'http://a'}, powerOn: {url: 'http://a'}}}}"},
	},
	"takes at most one of ipmi, redfish, http and wakeOnLan: a machine has one switch, and ssh may go with any": {
		{at: "wakeOnLan", value: "{macAddress: '52:54:00:12:34:56'}"},
		{at: "http", value: "{powerOff: {url: 'http://a'}}"},
		{at: "redfish", value: "{url: 'https://a', credentialsSecretRef: {name: s}}"},
	},
	"must say which switch the machine has: ipmi, redfish, http, wakeOnLan or ssh": {{value: "{}"}, {value: "{nodeSelector: {a: b}}"}},
	"needs a switch that can cut the power and be read: ipmi, redfish, or http with powerOff and status": {
		{value: "{wakeOnLan: {macAddress: '52:54:00:12:34:56'}, forceAfter: 1m}"},
		{value: "{ssh: {address: a, credentialsSecretRef: {name: s}}, forceAfter: 1m}"},
		{value: "{http: {powerOn: {url: 'http://a'}, powerOff: {url: 'http://a'}}, forceAfter: 1m}"},
		{value: "{http: {powerOn: {url: 'http://a'}, softOff: {url: 'http://a'}, status: {url: 'http://a'}}, forceAfter: 1m}"},
	},
	"http.softOff is an orderly way down already: keep one of the two": {
		{value: "{http: {powerOn: {url: 'http://a'}, softOff: {url: 'http://a'}}, ssh: {address: a, credentialsSecretRef: {name: s}}}"},
	},
	"must be the name of a Secret: lower-case letters, digits, '-' and '.', such as worker-01-bmc": badNames,
	"must be a host name or an IP address without a port, such as worker-01-bmc.lan": {
		{value: "bmc.lan:623"}, {value: "10.0.0.300"}, {value: `"1"`}, {value: `"[fe80::1]"`}, {value: "'fe80::1%eth0'"}, {value: "admin@bmc.lan"}, {value: "https://bmc.lan"},
		{value: `""`}, {value: `"bmc lan"`}, {value: "bmc..lan"}, {value: "bmc.lan.."}, {value: "."}, {value: "10.0.0.5."}, {value: "-bmc"}, {value: "bmc-.lan"}, {value: "--dry-run"},
	},
	"must be 17 or 3: the others do not encrypt, or are broken": {{value: "8"}, {value: "16"}},
	"must be an address with https:// (or http://) and without a path or a password, such as https://worker-01-bmc.lan": {
		{value: "bmc.lan"}, {value: "ftp://bmc.lan"}, {value: "https://"}, {value: "https://admin:secret@bmc.lan"}, {value: "https://bmc.lan/redfish/v1"},
		{value: "'https://bmc.lan?a=b'"}, {value: "'https://bmc .lan'"}, {value: "https://bmc.lan:port"}, {value: `""`},
	},
	"must be the last part of the system's path below /redfish/v1/Systems, such as 1 or System.Embedded.1": {
		{value: "/redfish/v1/Systems/1"}, {value: `"System 1"`}, {value: "'1?a=b'"},
	},
	"insecureSkipVerify verifies nothing, so caSecretRef has no use beside it": {{value: "{caSecretRef: {name: a}, insecureSkipVerify: true}"}},
	"needs a request that works the switch: powerOn, powerOff, softOff or status": {
		{value: "{}"}, {value: "{credentialsSecretRef: {name: s}, tls: {}}"},
	},
	"must be a URL with http:// or https:// and without a password before the host, such as http://plug.lan/relay/0?turn=on": {
		{value: "plug.lan/relay/0"}, {value: "https://admin:secret@plug.lan"}, {value: "http:///relay"}, {value: `"http://plug.lan/a b"`}, {value: "http://plug.lan/%zz"},
		{value: "http://plug.lan:http/"}, {value: "mqtt://plug.lan"}, {value: `""`},
	},
	"only ${username}, ${password} and ${token} are replaced":                           {{value: "'http://a/?key=${key}'"}, {value: "'http://a/?key=${token}${'"}},
	"of a header field's value only ${username}, ${password} and ${token} are replaced": {{value: `{X-Key: "${key}"}`}},
	"a header field's name is letters, digits and '-', such as X-Api-Key": {
		{value: `{"": a}`}, {value: `{"X Key": a}`}, {value: `{"X-Key:": a}`}, {value: `{"X-Key\n": a}`},
	},
	"a header field's value is one line":  {{value: `{X-Key: "a\nX-Other: b"}`}, {value: `{X-Key: "a\tb"}`}},
	"takes jsonPath or pattern, not both": {{value: "{url: 'http://a', jsonPath: a, pattern: b}"}},
	"onAbove compares numbers, so onValue and offValue have no use beside it": {
		{value: `{url: "http://a", onAbove: "10", onValue: "on"}`}, {value: `{url: "http://a", onAbove: "10", offValue: "off"}`},
	},
	"must be names parted by dots, with numbers in brackets, such as relays[0].ison": {
		{value: "relays[]"}, {value: "relays[0"}, {value: "a..b"}, {value: "a."}, {value: `"relays[x]"`}, {value: `"a b"`}, {value: "$"}, {value: "relays[-1]"},
	},
	`must be a decimal number, in quotes and not negative, such as "10"`: {
		{value: `"-1"`}, {value: "ten"}, {value: `"1e3"`}, {value: `"10 W"`}, {value: `""`}, {value: `"NaN"`}, {value: `".5"`}, {value: `"1000000"`},
	},
	"must be the hardware address of one network card, with colons, such as 52:54:00:12:34:56": {
		{value: "52-54-00-12-34-56"}, {value: "'525400123456'"}, {value: "'52:54:00:12:34'"}, {value: "'ff:ff:ff:ff:ff:ff'"}, {value: "'00:00:00:00:00:00'"},
		{value: "'01:00:5e:00:00:01'"}, {value: "'52:54:00:12:34:5g'"}, {value: `""`},
	},
	"must be an IPv4 address, such as 192.168.1.255": {{value: "192.168.1"}, {value: "192.168.1.256"}, {value: "'ff02::1'"}, {value: "lan"}, {value: `""`}},
	"must be the name of a user of the machine, such as poweroff": {
		{value: "-oProxyCommand=a"}, {value: "a@b"}, {value: `"a b"`}, {value: "root:root"},
	},
	"must be what ssh-keygen -l prints, SHA256: and 43 characters": {
		{value: "3ZLEYFaBZNSQvTCkxbqYsDDBWDzWlMx5VKWjvYEGqhQ"}, {value: "SHA256:3ZLE"}, {value: "MD5:16:27:ac:a5:76:28:2d:36:63:1b:56"},
	},
	"must be a DNS label: lower-case letters, digits and '-', such as ssh-key": {
		{value: "SSH"}, {value: "ssh_key"}, {value: "ssh.key"}, {value: "-ssh"}, {value: "ssh-"},
	},

	"metadata.name starts the names of its Jobs, which are label values: at most 51 characters": {
		{at: "metadata.name", value: strings.Repeat("c", 52)},
	},
	"a claim needs a spec: the slot it asks for in slotRef, and the request": {{at: "spec"}},
	"a claim records one request: requestedAt cannot change": {
		{at: "requestedAt"}, {at: "requestedAt", value: `"2026-03-04T09:38:16Z"`}, {at: "requestedAt", value: `"2026-03-04T09:38:15+01:00"`},
	},
	"a claim records one request: requestedBy cannot change": {{at: "requestedBy"}, {at: "requestedBy", value: "bob"}},
	"a deadline can be cleared, not set or moved": {
		{at: "deadlineAt", value: `"2026-03-04T10:53:15Z"`}, {at: "deadlineAt", value: `"2026-03-04T09:53:14Z"`}, {at: "deadlineAt", value: `"9999-12-31T23:59:59Z"`},
	},
	"the deadline must lie after requestedAt": {
		{at: "deadlineAt", value: `"2026-03-04T09:38:15Z"`}, {at: "deadlineAt", value: `"2026-03-04T10:38:14+01:00"`}, {at: "deadlineAt", value: `"0001-01-01T00:00:00Z"`},
	},
	"a claim records one request: maxNodeProvisionTime cannot change": {
		{at: "maxNodeProvisionTime"}, {at: "maxNodeProvisionTime", value: "15m1s"},
	},
	"a claim records one request: ttlSecondsAfterFinished cannot change": {{at: "ttlSecondsAfterFinished", value: "1"}},
	"an episode's number is given once, when the claim is made":          {{at: "episode"}, {at: "episode", value: "4"}},
	"a claim records one request: group cannot change":                   {{at: "group", value: "other"}},
	"a claim records one request: delta cannot change":                   {{at: "delta"}, {at: "delta", value: "1"}, {at: "delta", value: "-2"}},
	"only a DeleteNodes can be recorded on a claim": {
		{at: "call", value: "Create"}, {at: "call", value: "Delete"}, {at: "call", value: "DecreaseTargetSize"},
	},
	"nodes can change only together with the record of a DeleteNodes":                            {{at: "nodes"}, {at: "nodes", value: "[other]"}},
	"must be the name of a Group: lower-case letters, digits, '-' and '.', such as worker-nodes": in("group", badNames),
	"the slot's name is required":                                                            {{at: "name"}, {at: "name", value: `""`}, {value: "{kind: Node}"}},
	"a claim asks for one slot: slotRef cannot change":                                       {{at: "name", value: "other"}, {at: "name"}},
	"must be the name of a slot: lower-case letters, digits, '-' and '.', such as worker-01": in("name", badNames),
}

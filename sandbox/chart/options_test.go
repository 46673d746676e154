package chart_test

import (
	"maps"
	"slices"

	"homecluster.dev/autoscaler/sandbox/controlplane/pki"
)

// setting are values by their dotted paths.
type setting map[string]any

// option is a value, or some that only make sense together, with what may be chosen for it; the first choice is the
// default and says nothing.
type option struct {
	choices []setting
	// given is without what a choice has no effect, and says nothing of itself.
	given setting
}

// choose lists choices for one value, the default left out.
func choose(path string, values ...any) option {
	o := option{choices: []setting{{}}}
	for _, value := range values {
		o.choices = append(o.choices, setting{path: value})
	}
	return o
}

// either lists choices of several values, the default left out.
func either(settings ...setting) option { return option{choices: append([]setting{{}}, settings...)} }

// when adds what the choices need to have an effect.
func (o option) when(given setting) option { return option{choices: o.choices, given: given} }

// Parts of Kubernetes objects that a person may hand on.
var (
	someLabels      = map[string]any{"team": "home"}
	someResources   = map[string]any{"limits": map[string]any{"memory": "1Gi", "cpu": "1"}}
	someTolerations = []any{map[string]any{"key": "home", "operator": "Exists"}}
	somePeers       = []any{map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": "monitoring"}}}}
	somePriorities  = map[string]any{"10": []any{".*"}, "50": []any{"^pool$", "^small-.*"}}
	someAuthority   = authority()
	someDigest      = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	someAffinity    = map[string]any{
		"nodeAffinity": map[string]any{
			"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{"nodeSelectorTerms": []any{
				map[string]any{"matchExpressions": []any{map[string]any{"key": "a", "operator": "Exists"}}},
				map[string]any{"matchFields": []any{map[string]any{"key": "metadata.name", "operator": "In", "values": []any{"always-on"}}}},
			}},
			"preferredDuringSchedulingIgnoredDuringExecution": []any{map[string]any{
				"weight": 1, "preference": map[string]any{"matchExpressions": []any{map[string]any{"key": "b", "operator": "Exists"}}},
			}},
		},
		"podAntiAffinity": map[string]any{"preferredDuringSchedulingIgnoredDuringExecution": []any{map[string]any{
			"weight": 1, "podAffinityTerm": map[string]any{"topologyKey": "kubernetes.io/hostname"},
		}}},
	}
	certManager = setting{"certificates.source": "certManager"}
)

// authority is one in PEM, which the API server reads.
func authority() string {
	made, err := pki.NewAuthority("home")
	if err != nil {
		panic(err)
	}
	return string(made.Cert)
}

// options are all values of the chart; a test holds them to that.
func options() []option {
	all := []option{
		choose("nameOverride", "hla"),
		choose("fullnameOverride", "hla", "a-name-as-long-as-the-schema-allows-which-is-sixty-three-letters"[:63]),
		choose("commonLabels", someLabels),
		choose("imagePullSecrets", []any{map[string]any{"name": "registry"}}),
		choose("watchNamespace", "pool"),
		either(setting{"crd.keep": false}, setting{"crd.enable": false}).when(setting{"crd.enable": true}),
		choose("rbac.enable", false),
		either(setting{"serviceAccount.name": "mine", "serviceAccount.annotations": someLabels},
			setting{"serviceAccount.create": false, "serviceAccount.name": "mine"}),
		choose("grpc.port", 8443),
		choose("grpc.timeout", "30s"),
		either(setting{"grpc.allowedClientNames": []any{"a", "b.home"}}, setting{"certificates.source": "none"},
			setting{"certificates.source": "certManager"},
			setting{"certificates.source": "certManager", "certificates.certManager.issuerRef": map[string]any{"name": "home", "kind": "ClusterIssuer"}},
			setting{"certificates.source": "secret", "certificates.secret.server": "server", "certificates.secret.client": "client"},
			setting{"certificates.source": "helm"}),
		choose("certificates.certManager.serverDuration", "720h").when(certManager),
		choose("certificates.certManager.clientDuration", "8760h").when(certManager),
		either(setting{"metrics.serviceMonitor.enable": true}, setting{"metrics.enable": false}),
		choose("metrics.port", 9090),
		choose("metrics.insecure", true),
		choose("metrics.readers", []any{map[string]any{"name": "prometheus", "namespace": "monitoring"}}),
		choose("metrics.serviceMonitor.tokenSecret", map[string]any{"name": "prometheus", "key": "token"}).when(setting{"metrics.serviceMonitor.enable": true}),
		choose("webhook.enable", false),
		choose("webhook.port", 10250),
		either(setting{"tls.names": []any{"autoscaler.lan", "192.0.2.7", "2001:db8::7"}}, setting{"tls.source": "certManager"},
			setting{"tls.source": "certManager", "tls.names": []any{"autoscaler.lan", "192.0.2.7", "2001:db8::7"}},
			setting{"tls.source": "secret", "tls.secret.name": "mine", "tls.secret.caBundle": someAuthority}),
		choose("metrics.serviceMonitor.interval", "1m").when(setting{"metrics.serviceMonitor.enable": true}),
		choose("metrics.serviceMonitor.labels", someLabels).when(setting{"metrics.serviceMonitor.enable": true}),
		choose("metrics.prometheusRule.enable", true),
		choose("metrics.prometheusRule.labels", someLabels).when(setting{"metrics.prometheusRule.enable": true}),
		choose("metrics.dashboard.enable", true),
		choose("metrics.dashboard.labels", someLabels).when(setting{"metrics.dashboard.enable": true}),
		choose("metrics.dashboard.annotations", someLabels).when(setting{"metrics.dashboard.enable": true}),
		either(setting{"powerJobs.priorityClass.name": "power"}, setting{"powerJobs.priorityClass.create": false},
			setting{"powerJobs.priorityClass.create": false, "powerJobs.priorityClass.name": "system-cluster-critical"}),
		choose("powerJobs.priorityClass.value", 1, -5),
		choose("powerJobs.image.repository", "registry.lan:5000/power"),
		choose("powerJobs.image.tag", "v9.9.9"),
		choose("powerJobs.image.digest", someDigest),
		either(setting{"uninstall.quiesce.wait": "1m"}, setting{"uninstall.quiesce.enable": false}),
		choose("networkPolicy.enable", true),
		choose("networkPolicy.grpcFrom", somePeers).when(setting{"networkPolicy.enable": true}),
		choose("networkPolicy.metricsFrom", somePeers).when(setting{"networkPolicy.enable": true}),
	}
	return slices.Concat(all, managerOptions(), autoscalerOptions(), observerOptions())
}

func observerOptions() []option {
	const o = "powerObserver."
	on := setting{o + "enable": true}
	return []option{
		choose(o+"enable", true),
		choose(o+"image.repository", "registry.lan:5000/observer").when(on),
		choose(o+"image.tag", "v9.9.9").when(on),
		choose(o+"image.digest", someDigest).when(on),
		choose(o+"image.pullPolicy", "Always", "Never").when(on),
		choose(o+"secrets", []any{"worker-01-bmc", "plug.lan"}).when(on),
		choose(o+"resources", someResources).when(on),
		choose(o+"affinity", someAffinity).when(on),
		choose(o+"nodeSelector", someLabels).when(on),
		choose(o+"tolerations", []any{}, someTolerations).when(on),
		choose(o+"hostNetwork", true).when(on),
	}
}

func managerOptions() []option {
	const m = "controllerManager."
	return append(podOptions(m),
		either(setting{m + "replicas": 0}, setting{m + "replicas": 2}, setting{m + "leaderElection.enable": false}),
		choose(m+"log.level", "debug", "warn", "error"),
		choose(m+"log.format", "json"),
		choose(m+"startTimeout", "1h30m"),
		choose(m+"probePort", 9081),
		choose(m+"leaderElection.leaseDuration", "2m"),
		choose(m+"leaderElection.renewDeadline", "30s"),
		choose(m+"leaderElection.retryPeriod", "1s"),
		choose(m+"topologySpreadConstraints", []any{}, []any{map[string]any{"maxSkew": 2, "topologyKey": "zone",
			"whenUnsatisfiable": "DoNotSchedule", "labelSelector": map[string]any{"matchLabels": someLabels}}}),
		choose(m+"podSecurityContext", map[string]any{"fsGroup": 1000}),
		choose(m+"securityContext", map[string]any{"runAsUser": 1000}),
		choose(m+"terminationGracePeriodSeconds", 0),
		choose(m+"extraArgs", []any{"--log-level=debug"}),
		choose(m+"extraEnv", []any{map[string]any{"name": "GOMEMLIMIT", "value": "200MiB"}}),
		either(setting{m + "extraVolumes": []any{map[string]any{"name": "more", "emptyDir": map[string]any{}}},
			m + "extraVolumeMounts": []any{map[string]any{"name": "more", "mountPath": "/more"}}}),
	)
}

func autoscalerOptions() []option {
	const a = "clusterAutoscaler."
	return append(podOptions(a),
		choose(a+"enable", false),
		choose(a+"replicas", 0, 2),
		choose(a+"logLevel", 5),
		choose(a+"maxNodeProvisionTime", "25m"),
		choose(a+"enforceNodeGroupMinSize", false),
		choose(a+"scaleDownUnneededTime", "1h"),
		choose(a+"scaleDownDelayAfterAdd", "1h"),
		either(setting{a + "expander": "price"}, setting{a + "expander": "priority,least-waste", a + "priorities": somePriorities}),
		choose(a+"startupTaints", []any{}, []any{"a", "b/c"}),
		choose(a+"skipNodesWithLocalStorage", true),
		choose(a+"skipNodesWithSystemPods", true),
		choose(a+"ignoreDaemonsetsUtilization", false),
		choose(a+"extraArgs", []any{"--scan-interval=30s", "--balance-similar-node-groups"}),
		either(setting{a + "serviceAccount.name": "mine-too", a + "serviceAccount.annotations": someLabels},
			setting{a + "serviceAccount.create": false, a + "serviceAccount.name": "mine-too"}),
	)
}

// podOptions are those that both Deployments have.
func podOptions(prefix string) []option {
	return []option{
		choose(prefix+"image.repository", "registry.lan:5000/autoscaler"),
		choose(prefix+"image.tag", "v9.9.9"),
		choose(prefix+"image.digest", someDigest),
		choose(prefix+"image.pullPolicy", "Always", "Never"),
		choose(prefix+"resources", someResources),
		choose(prefix+"priorityClassName", "", "system-node-critical"),
		choose(prefix+"affinity", someAffinity),
		choose(prefix+"nodeSelector", someLabels),
		choose(prefix+"tolerations", []any{}, someTolerations),
		choose(prefix+"podAnnotations", someLabels),
		choose(prefix+"podLabels", someLabels),
		either(setting{prefix + "podDisruptionBudget.enable": false}, setting{prefix + "podDisruptionBudget.maxUnavailable": "50%"}),
	}
}

// merged are settings laid over each other, as values.
func merged(settings ...setting) map[string]any {
	all := setting{}
	for _, s := range settings {
		maps.Copy(all, s)
	}
	return set(map[string]any{}, all)
}

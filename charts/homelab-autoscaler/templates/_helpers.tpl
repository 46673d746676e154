{{- define "homelab-autoscaler.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* The first part of every name: the release's, with the chart's unless it says so already. 40 characters leave room for
"-controller-manager" and its like in a name of 63. */}}
{{- define "homelab-autoscaler.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "homelab-autoscaler.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "homelab-autoscaler.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "homelab-autoscaler.watchNamespace" -}}
{{- .Values.watchNamespace | default .Release.Namespace -}}
{{- end -}}

{{/* What the selectors of all our pods have in common. It must never change: a Deployment's selector cannot. */}}
{{- define "homelab-autoscaler.identity" -}}
app.kubernetes.io/name: {{ include "homelab-autoscaler.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "homelab-autoscaler.managerSelector" -}}
{{ include "homelab-autoscaler.identity" . }}
control-plane: controller-manager
{{- end -}}

{{- define "homelab-autoscaler.autoscalerSelector" -}}
{{ include "homelab-autoscaler.identity" . }}
app.kubernetes.io/component: cluster-autoscaler
{{- end -}}

{{- define "homelab-autoscaler.observerSelector" -}}
{{ include "homelab-autoscaler.identity" . }}
app.kubernetes.io/component: power-observer
{{- end -}}

{{- define "homelab-autoscaler.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: {{ include "homelab-autoscaler.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "homelab-autoscaler.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (printf "%s-controller-manager" (include "homelab-autoscaler.fullname" .)) -}}
{{- else -}}
{{- required "serviceAccount.create is false: name the one that exists in serviceAccount.name" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "homelab-autoscaler.autoscalerServiceAccount" -}}
{{- $account := .Values.clusterAutoscaler.serviceAccount -}}
{{- if $account.create -}}
{{- $account.name | default (printf "%s-cluster-autoscaler" (include "homelab-autoscaler.fullname" .)) -}}
{{- else -}}
{{- required "clusterAutoscaler.serviceAccount.create is false: name the one that exists in clusterAutoscaler.serviceAccount.name" $account.name -}}
{{- end -}}
{{- end -}}

{{/* An image's reference: dict "image" and "tag", the tag if none is given. */}}
{{- define "homelab-autoscaler.image" -}}
{{- if .image.digest -}}
{{- printf "%s@%s" .image.repository .image.digest -}}
{{- else -}}
{{- printf "%s:%s" .image.repository (.image.tag | default .tag) -}}
{{- end -}}
{{- end -}}

{{/* The host under which cluster-autoscaler finds the provider, and which the provider's certificate names. */}}
{{- define "homelab-autoscaler.host" -}}
{{- printf "%s.%s.svc" (include "homelab-autoscaler.fullname" .) .Release.Namespace -}}
{{- end -}}

{{/* The common name of cluster-autoscaler's certificate. */}}
{{- define "homelab-autoscaler.clientName" -}}
{{- printf "%s-cluster-autoscaler" (include "homelab-autoscaler.fullname" .) -}}
{{- end -}}

{{- define "homelab-autoscaler.serverSecret" -}}
{{- if eq .Values.certificates.source "secret" -}}
{{- required "certificates.source is secret: name the provider's Secret in certificates.secret.server" .Values.certificates.secret.server -}}
{{- else -}}
{{- printf "%s-provider-tls" (include "homelab-autoscaler.fullname" .) -}}
{{- end -}}
{{- end -}}

{{- define "homelab-autoscaler.clientSecret" -}}
{{- if eq .Values.certificates.source "secret" -}}
{{- required "certificates.source is secret: name cluster-autoscaler's Secret in certificates.secret.client" .Values.certificates.secret.client -}}
{{- else -}}
{{- printf "%s-client-tls" (include "homelab-autoscaler.fullname" .) -}}
{{- end -}}
{{- end -}}

{{/* The host under which Prometheus finds the metrics. */}}
{{- define "homelab-autoscaler.metricsHost" -}}
{{- printf "%s-metrics.%s.svc" (include "homelab-autoscaler.fullname" .) .Release.Namespace -}}
{{- end -}}

{{/* "true" where metrics are told only to those who may read them. */}}
{{- define "homelab-autoscaler.guardedMetrics" -}}
{{- if and .Values.metrics.enable (not .Values.metrics.insecure) }}true{{ end -}}
{{- end -}}

{{/* "true" where the webhook's or the metrics' port shows a certificate. */}}
{{- define "homelab-autoscaler.portsCertified" -}}
{{- if or .Values.webhook.enable (include "homelab-autoscaler.guardedMetrics" .) }}true{{ end -}}
{{- end -}}

{{/* "true" where the manager makes that certificate itself. */}}
{{- define "homelab-autoscaler.ownCertificate" -}}
{{- if and (include "homelab-autoscaler.portsCertified" .) (eq .Values.tls.source "manager") }}true{{ end -}}
{{- end -}}

{{/* The Secret with that certificate. The manager keeps its own in the namespace that it serves. */}}
{{- define "homelab-autoscaler.portsSecret" -}}
{{- if eq .Values.tls.source "manager" -}}
{{- printf "%s-certs" (include "homelab-autoscaler.fullname" .) -}}
{{- else if eq .Values.tls.source "certManager" -}}
{{- printf "%s-ports-tls" (include "homelab-autoscaler.fullname" .) -}}
{{- else -}}
{{- required "tls.source is secret: name the Secret in tls.secret.name" .Values.tls.secret.name -}}
{{- end -}}
{{- end -}}

{{/* Where a ServiceMonitor finds that Secret beside it. */}}
{{- define "homelab-autoscaler.monitorNamespace" -}}
{{- if and (include "homelab-autoscaler.guardedMetrics" .) (include "homelab-autoscaler.ownCertificate" .) -}}
{{- include "homelab-autoscaler.watchNamespace" . -}}
{{- else -}}
{{- .Release.Namespace -}}
{{- end -}}
{{- end -}}

{{/* The names of that certificate, as a list: the two Services', and what a person adds. */}}
{{- define "homelab-autoscaler.portsNames" -}}
{{- $names := .Values.tls.names -}}
{{- if include "homelab-autoscaler.guardedMetrics" . -}}
{{- $host := include "homelab-autoscaler.metricsHost" . -}}
{{- $names = concat $names (list $host (printf "%s.cluster.local" $host)) -}}
{{- end -}}
{{- if .Values.webhook.enable -}}
{{- $host := printf "%s-webhook.%s.svc" (include "homelab-autoscaler.fullname" .) .Release.Namespace -}}
{{- $names = concat $names (list $host (printf "%s.cluster.local" $host)) -}}
{{- end -}}
{{- toJson $names -}}
{{- end -}}

{{- define "homelab-autoscaler.priorityClass" -}}
{{- if .Values.powerJobs.priorityClass.create -}}
{{- .Values.powerJobs.priorityClass.name | default (printf "%s-power" (include "homelab-autoscaler.fullname" .)) -}}
{{- else -}}
{{- .Values.powerJobs.priorityClass.name -}}
{{- end -}}
{{- end -}}

{{/* An affinity that keeps a pod off the machines of every pool, whatever else it asks for. Terms are alternatives, so each
of them gets the expression. */}}
{{- define "homelab-autoscaler.affinity" -}}
{{- $affinity := deepCopy . -}}
{{- $off := dict "key" "infra.homecluster.dev/node" "operator" "DoesNotExist" -}}
{{- $node := get $affinity "nodeAffinity" | default dict -}}
{{- $required := get $node "requiredDuringSchedulingIgnoredDuringExecution" | default dict -}}
{{- $terms := list -}}
{{- range get $required "nodeSelectorTerms" | default (list dict) -}}
{{- $terms = append $terms (set . "matchExpressions" (append (get . "matchExpressions" | default list) $off)) -}}
{{- end -}}
{{- $_ := set $node "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" $terms) -}}
{{- toYaml (set $affinity "nodeAffinity" $node) -}}
{{- end -}}

{{/* The labels of an object with some of its own, which win: dict "root" and "own". */}}
{{- define "homelab-autoscaler.labelsWith" -}}
{{- toYaml (merge (deepCopy .own) (fromYaml (include "homelab-autoscaler.labels" .root))) -}}
{{- end -}}

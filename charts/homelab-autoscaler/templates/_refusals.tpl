{{/* What a schema cannot say: values that contradict each other. */}}
{{- define "homelab-autoscaler.refuse" -}}
{{- $manager := .Values.controllerManager -}}
{{- if and (gt (int $manager.replicas) 1) (not $manager.leaderElection.enable) -}}
{{- fail "controllerManager.replicas is more than 1 without leaderElection.enable: all of them would decide" -}}
{{- end -}}
{{- if and (eq .Values.certificates.source "none") .Values.grpc.allowedClientNames -}}
{{- fail "grpc.allowedClientNames needs certificates: with certificates.source none nobody shows one" -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor.enable (not .Values.metrics.enable) -}}
{{- fail "metrics.serviceMonitor.enable needs metrics.enable: there is nothing to scrape" -}}
{{- end -}}
{{- if and (eq .Values.tls.source "secret") .Values.webhook.enable (not .Values.tls.secret.caBundle) -}}
{{- fail "tls.source secret needs tls.secret.caBundle, the authority in PEM: else the API server trusts no webhook" -}}
{{- end -}}
{{- if and .Values.tls.names (eq .Values.tls.source "secret") -}}
{{- fail "tls.names contradicts tls.source secret: the names are those of the certificate in the Secret" -}}
{{- end -}}
{{- if and (contains "priority" .Values.clusterAutoscaler.expander) .Values.clusterAutoscaler.enable (not .Values.clusterAutoscaler.priorities) -}}
{{- fail "clusterAutoscaler.expander priority needs clusterAutoscaler.priorities, for example {50: [\".*\"]}" -}}
{{- end -}}
{{- end -}}

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
{{- if and (contains "priority" .Values.clusterAutoscaler.expander) .Values.clusterAutoscaler.enable (not .Values.clusterAutoscaler.priorities) -}}
{{- fail "clusterAutoscaler.expander priority needs clusterAutoscaler.priorities, for example {50: [\".*\"]}" -}}
{{- end -}}
{{- end -}}

{{/* Written by make generate from config/rbac/role.yaml and config/rbac/observer/role.yaml. */}}
{{- define "homelab-autoscaler.clusterRules" -}}
- apiGroups:
  - ""
  resources:
  - namespaces
  verbs:
  - get
- apiGroups:
  - ""
  resources:
  - nodes
  verbs:
  - delete
  - get
  - list
  - patch
  - watch
- apiGroups:
  - ""
  resources:
  - pods
  verbs:
  - list
  - watch
- apiGroups:
  - ""
  resources:
  - pods/eviction
  verbs:
  - create
{{- if and (include "homelab-autoscaler.ownCertificate" .) .Values.webhook.enable }}
- apiGroups:
  - admissionregistration.k8s.io
  resourceNames:
  - {{ include "homelab-autoscaler.fullname" . }}
  resources:
  - mutatingwebhookconfigurations
  - validatingwebhookconfigurations
  verbs:
  - get
  - patch
{{- end }}
{{- if include "homelab-autoscaler.guardedMetrics" . }}
- apiGroups:
  - authentication.k8s.io
  resources:
  - tokenreviews
  verbs:
  - create
{{- end }}
{{- if include "homelab-autoscaler.guardedMetrics" . }}
- apiGroups:
  - authorization.k8s.io
  resources:
  - subjectaccessreviews
  verbs:
  - create
{{- end }}
- apiGroups:
  - policy
  resources:
  - poddisruptionbudgets
  verbs:
  - list
  - watch
{{- end -}}
{{- define "homelab-autoscaler.namespaceRules" -}}
- apiGroups:
  - ""
  resources:
  - events
  verbs:
  - create
  - list
  - patch
{{- if include "homelab-autoscaler.ownCertificate" . }}
- apiGroups:
  - ""
  resources:
  - secrets
  verbs:
  - create
{{- end }}
{{- if include "homelab-autoscaler.ownCertificate" . }}
- apiGroups:
  - ""
  resourceNames:
  - {{ include "homelab-autoscaler.fullname" . }}-certs
  resources:
  - secrets
  verbs:
  - get
  - patch
{{- end }}
- apiGroups:
  - batch
  resources:
  - jobs
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - watch
{{- if .Values.controllerManager.leaderElection.enable }}
- apiGroups:
  - coordination.k8s.io
  resources:
  - leases
  verbs:
  - create
  - get
  - update
{{- end }}
- apiGroups:
  - events.k8s.io
  resources:
  - events
  verbs:
  - create
  - patch
- apiGroups:
  - infra.homecluster.dev
  resources:
  - groups
  verbs:
  - get
  - list
  - watch
- apiGroups:
  - infra.homecluster.dev
  resources:
  - groups/status
  - nodeclaims/status
  - nodes/status
  verbs:
  - patch
- apiGroups:
  - infra.homecluster.dev
  resources:
  - nodeclaims
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - watch
- apiGroups:
  - infra.homecluster.dev
  resources:
  - nodes
  verbs:
  - get
  - list
  - patch
  - watch
{{- end -}}
{{- define "homelab-autoscaler.observerRules" -}}
- apiGroups:
  - infra.homecluster.dev
  resources:
  - nodeclaims
  - nodes
  verbs:
  - get
  - list
  - watch
- apiGroups:
  - infra.homecluster.dev
  resources:
  - nodes/status
  verbs:
  - patch
{{- end -}}

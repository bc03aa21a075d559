{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- define "berth.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "berth.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "berth.name" .) }}
{{- end }}

{{- define "berth.selector" -}}
app.kubernetes.io/name: berth
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "berth.labels" -}}
{{ include "berth.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "berth.leaseNamespace" -}}
{{ .Values.lease.namespace | default .Release.Namespace }}
{{- end }}

{{- define "berth.schedulerConfig" -}}
{{- if hasKey .Values.config "leaderElection" }}{{ fail "config.leaderElection: set `lease` instead, which the rules are made of" }}{{ end }}
{{- $lease := dict "leaderElect" true "resourceName" .Values.lease.name "resourceNamespace" (include "berth.leaseNamespace" .) }}
{{- mustMerge (dict "leaderElection" $lease) .Values.config | toYaml }}
{{- end }}

{{- define "moonlynx.name" -}}
{{- if contains "moonlynx" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-moonlynx" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "moonlynx.selector" -}}
app.kubernetes.io/name: moonlynx
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "moonlynx.labels" -}}
{{ include "moonlynx.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "moonlynx.keys" -}}
{{- if .Values.keysSecret }}{{ .Values.keysSecret }}{{ else if .Values.keys }}{{ include "moonlynx.name" . }}-keys{{ end }}
{{- end }}

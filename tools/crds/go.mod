module homecluster.dev/autoscaler/tools/crds

go 1.26.7

// Other projects' CustomResourceDefinitions, by which the chart's objects of their kinds are tried. Nothing is built here:
// the tests read the files of these modules.
require (
	github.com/cert-manager/cert-manager v1.21.2
	github.com/prometheus-operator/prometheus-operator v0.85.0
)

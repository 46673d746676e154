// Package admission holds the ValidatingAdmissionPolicies of the API, for programs that install them themselves: the
// sandbox and the tests. They say what the rules of the CustomResourceDefinitions cannot.
package admission

import "embed"

// Policies are the policies with their bindings, one YAML file for each subject.
//
//go:embed *.yaml
var Policies embed.FS

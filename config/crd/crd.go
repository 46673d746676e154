// Package crd holds the CustomResourceDefinitions of the API, generated from api/v2alpha1, for programs that install them
// themselves: the sandbox and the tests.
package crd

import "embed"

// Bases are the definitions, one YAML file for each kind, in the folder "bases".
//
//go:embed bases/*.yaml
var Bases embed.FS

// Package webhook holds the webhook configurations, for programs that install them themselves: the sandbox and the tests.
package webhook

import _ "embed"

// Configurations are the two configurations, in one YAML file.
//
//go:embed webhooks.yaml
var Configurations []byte

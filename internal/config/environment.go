package config

import (
	"os"
	"strings"
)

// namespaceFile holds the namespace of the pod's service account.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// Environment is what surrounds the process.
type Environment struct {
	// Getenv reads an environment variable; empty: not set.
	Getenv func(string) string
	// ReadFile reads a file.
	ReadFile func(string) ([]byte, error)
}

// Process is the environment of this process.
func Process() Environment { return Environment{Getenv: os.Getenv, ReadFile: os.ReadFile} }

// namespace is the pod's own, or empty outside a pod.
func (e Environment) namespace() string {
	if own := e.Getenv("POD_NAMESPACE"); own != "" {
		return own
	}
	text, err := e.ReadFile(namespaceFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

package main

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// plugin is krew's manifest, as its documentation has it.
type plugin struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       pluginSpec     `json:"spec"`
}

type pluginSpec struct {
	Version          string   `json:"version"`
	Homepage         string   `json:"homepage"`
	ShortDescription string   `json:"shortDescription"`
	Description      string   `json:"description"`
	Caveats          string   `json:"caveats"`
	Platforms        []packed `json:"platforms"`
}

type packed struct {
	Selector metav1.LabelSelector `json:"selector"`
	URI      string               `json:"uri"`
	SHA256   string               `json:"sha256"`
	Bin      string               `json:"bin"`
	Files    []map[string]string  `json:"files"`
}

// manifest is the file that goes into an index of krew.
func manifest(version, url string, sums map[platform]string) ([]byte, error) {
	m := plugin{APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: map[string]any{"name": name},
		Spec: pluginSpec{
			Version: version, Homepage: "https://homecluster.dev/autoscaler",
			ShortDescription: "See and steer machines that are switched on demand",
			Description: "Shows the machines that homelab-autoscaler switches on when pods need them and off when they do not:\n" +
				"the pool at a glance, the story of a machine that did not come up and what to do about it, what is on and\n" +
				"what it costs. Wakes a machine, gives it back, and holds it for maintenance.\n",
			Caveats: "Needs homelab-autoscaler in the cluster; use -n to name the namespace that it serves.\n",
		}}
	for _, p := range platforms {
		if sums[p] == "" {
			return nil, fmt.Errorf("there is no archive for %s", p)
		}
		m.Spec.Platforms = append(m.Spec.Platforms, packed{
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{"os": p.os, "arch": p.arch}},
			URI:      strings.TrimSuffix(url, "/") + "/" + p.archive(), SHA256: sums[p], Bin: p.binary(),
			Files: []map[string]string{{"from": p.binary(), "to": "."}, {"from": "LICENSE", "to": "."}},
		})
	}
	return yaml.Marshal(m)
}

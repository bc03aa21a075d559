// SPDX-License-Identifier: Apache-2.0

// Licences keeps pods that are annotated example.com/licence: NAME on nodes that are labelled
// example.com/licences.NAME, and prefers nodes without licences for all others.
package main

import (
	"strings"

	"berth.dev/plugin/api"
	"berth.dev/plugin/plugin"
	v1 "berth.dev/plugin/v1"
)

const annotation, label = "example.com/licence", "example.com/licences."

// Description tells Berth what the verdicts read, so that it asks once for all pods with the same licence.
var Description = plugin.Description{
	Name: "example.com/licences", Version: "1.0",
	Signature: []string{"metadata.annotations[" + annotation + "]"},
	DependsOn: []string{"NodeLabels"},
	Events:    []*v1.Event{{Resource: "Node", Actions: []string{"Add", "UpdateNodeLabel"}}},
}

// New makes the plugin for a profile.
func New(plugin.Session) (*plugin.Hooks, error) {
	return &plugin.Hooks{Filter: filter, Score: score}, nil
}

func filter(pod *api.Pod, node *plugin.Node) *plugin.Status {
	licence := pod.GetMetadata().GetAnnotations()[annotation]
	if _, has := node.Object.GetMetadata().GetLabels()[label+licence]; licence != "" && !has {
		return plugin.Unresolvable("node(s) had no licence for " + licence)
	}
	return nil
}

func score(pod *api.Pod, node *plugin.Node) int64 {
	for key := range node.Object.GetMetadata().GetLabels() {
		if strings.HasPrefix(key, label) && pod.GetMetadata().GetAnnotations()[annotation] == "" {
			return 0
		}
	}
	return 100
}

func main() { plugin.Main(Description, New) }

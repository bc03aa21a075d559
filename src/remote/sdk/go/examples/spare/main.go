// SPDX-License-Identifier: Apache-2.0

// Spare makes room for pods that fit nowhere: pods that are labelled example.com/spare=true go, whatever their priority.
package main

import (
	"sort"

	"berth.dev/plugin/api"
	"berth.dev/plugin/plugin"
	v1 "berth.dev/plugin/v1"
)

const label = "example.com/spare"

// Description names no signature: no verdict is to be remembered.
var Description = plugin.Description{Name: "example.com/spare", Version: "1.0"}

// New makes the plugin for a profile.
func New(plugin.Session) (*plugin.Hooks, error) { return &plugin.Hooks{PostFilter: postFilter}, nil }

func isSpare(pod *api.Pod) bool { return pod.GetMetadata().GetLabels()[label] == "true" }

func postFilter(pod *api.Pod, nodes *plugin.Nodes, codes []byte) (string, []string, *plugin.Status) {
	if isSpare(pod) {
		return "", nil, plugin.Unschedulable("")
	}
	for index, node := range nodes.All {
		if v1.Code(codes[index]) != v1.Code_UNSCHEDULABLE { // there is no such node, or evicting pods does not help on it
			continue
		}
		var victims []string
		for uid, there := range node.Pods {
			if isSpare(there) {
				victims = append(victims, uid)
			}
		}
		if len(victims) > 0 {
			sort.Strings(victims)
			return node.Name(), victims, nil
		}
	}
	return "", nil, plugin.Unschedulable("no pod is spare")
}

func main() { plugin.Main(Description, New) }

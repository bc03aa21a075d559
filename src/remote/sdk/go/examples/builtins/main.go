// SPDX-License-Identifier: Apache-2.0

// Builtins are two of kube-scheduler's plugins as remote ones, NodeUnschedulable and TaintToleration of v1.35: what
// they say of each node is held against Berth's own by tests/remote/conformance.py.
package main

import (
	"log"
	"os"

	"berth.dev/plugin/api"
	"berth.dev/plugin/plugin"
	v1 "berth.dev/plugin/v1"
)

// v1.Toleration.ToleratesTaint of kubernetes v1.35.
func tolerates(tolerations []*api.Toleration, taint *api.Taint, counts func(*api.Toleration) bool) bool {
	for _, t := range tolerations {
		if !counts(t) || (t.GetEffect() != "" && t.GetEffect() != taint.GetEffect()) ||
			(t.GetKey() != "" && t.GetKey() != taint.GetKey()) {
			continue
		}
		switch t.GetOperator() {
		case "", "Equal":
			if t.GetValue() == taint.GetValue() {
				return true
			}
		case "Exists":
			return true
		}
	}
	return false
}

func any(*api.Toleration) bool { return true }

// As component-helpers GetMatchingTolerations for PreferNoSchedule.
func prefers(t *api.Toleration) bool {
	return t.GetEffect() == "" || t.GetEffect() == "PreferNoSchedule"
}

func nodeUnschedulable(plugin.Session) (*plugin.Hooks, error) {
	taint := &api.Taint{Key: ptr("node.kubernetes.io/unschedulable"), Effect: ptr("NoSchedule")}
	rejection := plugin.Unresolvable("node(s) were unschedulable")
	return &plugin.Hooks{Filter: func(pod *api.Pod, node *plugin.Node) *plugin.Status {
		if !node.Object.GetSpec().GetUnschedulable() || tolerates(pod.GetSpec().GetTolerations(), taint, any) {
			return nil
		}
		return rejection
	}}, nil
}

func taintToleration(plugin.Session) (*plugin.Hooks, error) {
	rejection := plugin.Unresolvable("node(s) had untolerated taint(s)") // once: there may be thousands
	filter := func(pod *api.Pod, node *plugin.Node) *plugin.Status {
		for _, taint := range node.Object.GetSpec().GetTaints() {
			hard := taint.GetEffect() == "NoSchedule" || taint.GetEffect() == "NoExecute"
			if hard && !tolerates(pod.GetSpec().GetTolerations(), taint, any) {
				return rejection
			}
		}
		return nil
	}
	score := func(pod *api.Pod, node *plugin.Node) (count int64) {
		for _, taint := range node.Object.GetSpec().GetTaints() {
			if taint.GetEffect() == "PreferNoSchedule" && !tolerates(pod.GetSpec().GetTolerations(), taint, prefers) {
				count++
			}
		}
		return count
	}
	return &plugin.Hooks{Filter: filter, Score: score}, nil
}

func ptr(s string) *string { return &s }

// The arguments are two addresses, for NodeUnschedulable and TaintToleration.
func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: builtins ADDRESS_OF_NODE_UNSCHEDULABLE ADDRESS_OF_TAINT_TOLERATION")
	}
	go func() {
		log.Fatal(plugin.Serve(os.Args[1], plugin.Description{
			Name: "NodeUnschedulable", Signature: []string{"spec.tolerations"}, DependsOn: []string{"NodeUnschedulable"},
		}, nodeUnschedulable))
	}()
	log.Fatal(plugin.Serve(os.Args[2], plugin.Description{
		Name: "TaintToleration", Signature: []string{"spec.tolerations"}, DependsOn: []string{"NodeTaints"},
		Normalization: v1.Normalization_LOWER_IS_BETTER,
	}, taintToleration))
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"berth.dev/plugin/api"
	"berth.dev/plugin/plugin"
	"berth.dev/plugin/plugintest"
	v1 "berth.dev/plugin/v1"
)

func taintedNodes(count int) *plugin.Nodes {
	nodes := &plugin.Nodes{}
	for i := 0; i < count; i++ {
		node := plugintest.Node(fmt.Sprintf("n%d", i), map[string]string{"kubernetes.io/hostname": fmt.Sprintf("n%d", i)})
		node.Spec = &api.NodeSpec{}
		if i%3 == 0 {
			node.Spec.Taints = append(node.Spec.Taints, &api.Taint{
				Key: proto.String("team"), Value: proto.String(fmt.Sprint(i % 7)), Effect: proto.String("NoSchedule")})
		}
		if i%5 == 0 {
			node.Spec.Taints = append(node.Spec.Taints, &api.Taint{
				Key: proto.String("spot"), Value: proto.String("true"), Effect: proto.String("PreferNoSchedule")})
		}
		// As a message that was parsed: strings of its own.
		bytes, _ := proto.Marshal(node)
		parsed := &api.Node{}
		_ = proto.Unmarshal(bytes, parsed)
		nodes.All = append(nodes.All, &plugin.Node{Object: parsed, Pods: map[string]*api.Pod{}})
	}
	return nodes
}

// What a question about a pod never seen costs the process, but for gRPC.
func BenchmarkEvaluate5000Nodes(b *testing.B) {
	nodes := taintedNodes(5000)
	hooks, _ := taintToleration(plugin.Session{})
	pod := plugintest.Pod("p", nil)
	pod.Spec = &api.PodSpec{Tolerations: []*api.Toleration{
		{Key: proto.String("team"), Operator: proto.String("Equal"), Value: proto.String("x"), Effect: proto.String("NoSchedule")}}}
	question := &v1.Evaluate{Pod: pod, Points: []v1.Point{v1.Point_FILTER, v1.Point_SCORE}}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		plugin.Evaluate(hooks, nodes, question)
	}
}

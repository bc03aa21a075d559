// SPDX-License-Identifier: Apache-2.0

// Package plugintest runs a plugin as Berth would, without a scheduler: over gRPC in this process.
package plugintest

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"berth.dev/plugin/api"
	"berth.dev/plugin/plugin"
	v1 "berth.dev/plugin/v1"
)

// Scheduler is one end of a session; the plugin is at the other.
type Scheduler struct {
	t           testing.TB
	stream      v1.Plugin_SessionClient
	Description *v1.Description
	names       []string
	pods        map[string][]string // uids by node
	revision    uint64
}

// Start begins a session with these arguments, in JSON.
func Start(t testing.TB, description plugin.Description, factory plugin.Factory, arguments string) *Scheduler {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	check(t, plugin.Register(server, description, factory))
	go func() { _ = server.Serve(listener) }()
	connection, err := grpc.NewClient("passthrough:///plugin", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	check(t, err)
	t.Cleanup(func() { connection.Close(); server.Stop() })
	client := v1.NewPluginClient(connection)
	s := &Scheduler{t: t}
	s.Description, err = client.Describe(context.Background(), &v1.DescribeRequest{ProtocolVersion: 1})
	check(t, err)
	s.stream, err = client.Session(context.Background())
	check(t, err)
	s.send(&v1.ToPlugin{Message: &v1.ToPlugin_Start{Start: &v1.Start{ProtocolVersion: 1, Plugin: "Test", ArgumentsJson: arguments}}})
	if started := s.receive().GetStarted(); started.GetError() != "" {
		t.Fatalf("the plugin refuses its arguments: %s", started.GetError())
	}
	return s
}

// SetNodes tells the plugin that these, and no others, are the nodes; they have no pods.
func (s *Scheduler) SetNodes(nodes ...*api.Node) {
	s.t.Helper()
	s.revision++
	update := &v1.Update{Revision: s.revision, Full: true, NodeCount: uint32(len(nodes))}
	s.names, s.pods = nil, map[string][]string{}
	for index, node := range nodes {
		s.names = append(s.names, node.GetMetadata().GetName())
		update.Nodes = append(update.Nodes, &v1.NodeState{Index: uint32(index), Node: node})
	}
	s.send(&v1.ToPlugin{Message: &v1.ToPlugin_Update{Update: update}})
	if synced := s.receive().GetSynced(); synced.GetRevision() != s.revision {
		s.t.Fatalf("the plugin did not take in the nodes: %v", synced)
	}
}

// SetPods tells the plugin that these, and no others, are on that node.
func (s *Scheduler) SetPods(node string, pods ...*api.Pod) {
	s.t.Helper()
	s.revision++
	index := slices.Index(s.names, node)
	if index < 0 {
		s.t.Fatalf("there is no node %s", node)
	}
	state := &v1.NodeState{Index: uint32(index), PodsRemoved: s.pods[node], Pods: pods}
	s.pods[node] = nil
	for _, pod := range pods {
		s.pods[node] = append(s.pods[node], plugin.UID(pod))
	}
	update := &v1.Update{Revision: s.revision, NodeCount: uint32(len(s.names)), Nodes: []*v1.NodeState{state}}
	s.send(&v1.ToPlugin{Message: &v1.ToPlugin_Update{Update: update}})
}

// PostFilter asks what is done for a pod that fits nowhere, codes by node name: a node and victims, or why nothing is.
func (s *Scheduler) PostFilter(pod *api.Pod, codes map[string]v1.Code) (node string, victims []string, why string) {
	s.t.Helper()
	question := &v1.PostFilter{Id: 1, Revision: s.revision, Pod: pod}
	for _, name := range s.names {
		question.Codes = append(question.Codes, byte(codes[name]))
	}
	s.send(&v1.ToPlugin{Message: &v1.ToPlugin_PostFilter{PostFilter: question}})
	answer := s.receive().GetPostFilter()
	if answer == nil {
		s.t.Fatal("the plugin gave no result")
	}
	return answer.NominatedNode, answer.VictimUids, strings.Join(answer.GetStatus().GetReasons(), "; ")
}

// Evaluate asks about a pod: why nodes are rejected ("" if they are not), and scores, by name.
func (s *Scheduler) Evaluate(pod *api.Pod) (rejections map[string]string, scores map[string]int64) {
	s.t.Helper()
	s.send(&v1.ToPlugin{Message: &v1.ToPlugin_Evaluate{Evaluate: &v1.Evaluate{
		Id: 1, Revision: s.revision, Pod: pod, Points: s.Description.Points}}})
	answer := s.receive().GetEvaluation()
	if answer == nil {
		s.t.Fatal("the plugin gave no verdicts")
	}
	rejections, scores = map[string]string{}, map[string]int64{}
	rejected := 0
	for index, name := range s.names {
		rejections[name] = ""
		if len(answer.Rejected) > 0 && answer.Rejected[index/8]>>(index%8)&1 == 1 {
			rejections[name] = answer.Reasons[answer.ReasonIds[rejected]].Reasons[0]
			rejected++
		}
		switch answer.ScoreWidth {
		case 0:
			scores[name] = 0
		case 1:
			scores[name] = int64(int8(answer.Scores[index]))
		default:
			s.t.Fatal("the test kit reads scores of one byte")
		}
	}
	return rejections, scores
}

// Call makes one of the calls for a pod that has a node.
func (s *Scheduler) Call(point v1.PodPoint, pod *api.Pod, node string) *v1.CallResult {
	s.t.Helper()
	s.send(&v1.ToPlugin{Message: &v1.ToPlugin_Call{Call: &v1.PodCall{Id: 1, Point: point, Pod: pod, Node: node}}})
	return s.receive().GetCall()
}

// Pod and Node make objects with a name, labels and annotations.
func Pod(name string, annotations map[string]string) *api.Pod {
	return &api.Pod{Metadata: &api.ObjectMeta{Name: proto.String(name), Namespace: proto.String("default"), Annotations: annotations}}
}

// Node makes a node.
func Node(name string, labels map[string]string) *api.Node {
	return &api.Node{Metadata: &api.ObjectMeta{Name: proto.String(name), Labels: labels}}
}

func (s *Scheduler) send(message *v1.ToPlugin) {
	s.t.Helper()
	check(s.t, s.stream.Send(message))
}

func (s *Scheduler) receive() *v1.FromPlugin {
	s.t.Helper()
	message, err := s.stream.Recv()
	check(s.t, err)
	return message
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

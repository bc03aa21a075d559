// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand"
	"testing"

	"google.golang.org/protobuf/proto"

	"berth.dev/plugin/api"
	v1 "berth.dev/plugin/v1"
)

// What is packed is what the hooks said, node by node.
func TestEvaluatePacksWhatTheHooksSay(t *testing.T) {
	for seed := int64(1); seed <= 200; seed++ {
		random := rand.New(rand.NewSource(seed))
		nodes := &Nodes{}
		verdicts, scores := map[*Node]*Status{}, map[*Node]int64{}
		shared := Unschedulable("shared")
		widest := int64(1) << random.Intn(40)
		kinds := 1 + random.Intn(400)
		for i := 0; i < random.Intn(600); i++ {
			if random.Intn(10) == 0 {
				nodes.All = append(nodes.All, nil)
				continue
			}
			node := &Node{Object: &api.Node{Metadata: &api.ObjectMeta{Name: proto.String(fmt.Sprint("n", i))}}}
			nodes.All = append(nodes.All, node)
			scores[node] = random.Int63n(2*widest+1) - widest
			switch random.Intn(4) {
			case 0:
				verdicts[node] = shared
			case 1:
				verdicts[node] = Unresolvable(fmt.Sprint("kind ", random.Intn(kinds)))
			}
		}
		hooks := &Hooks{
			Filter: func(_ *api.Pod, node *Node) *Status { return verdicts[node] },
			Score:  func(_ *api.Pod, node *Node) int64 { return scores[node] },
		}
		answer := Evaluate(hooks, nodes, &v1.Evaluate{Id: 3, Revision: 4, Points: hooks.points()})
		if answer.Id != 3 || answer.Revision != 4 || len(answer.Reasons) > mostReasons {
			t.Fatalf("seed %d: %d reasons of question %d", seed, len(answer.Reasons), answer.Id)
		}
		rejected := 0
		for index, node := range nodes.All {
			is := len(answer.Rejected) > 0 && answer.Rejected[index/8]>>(index%8)&1 == 1
			want := verdicts[node]
			if is != (node != nil && want != nil) {
				t.Fatalf("seed %d: node %d is rejected: %v", seed, index, is)
			}
			if is {
				reason := answer.Reasons[answer.ReasonIds[rejected]]
				if len(answer.Reasons) < mostReasons && (reason.Code != want.Code || reason.Reasons[0] != want.Reasons[0]) {
					t.Fatalf("seed %d: node %d is rejected for %v", seed, index, reason)
				}
				rejected++
				continue
			}
			got := int64(0)
			switch answer.ScoreWidth {
			case 1:
				got = int64(int8(answer.Scores[index]))
			case 8:
				got = int64(binary.LittleEndian.Uint64(answer.Scores[8*index:]))
			}
			if node != nil && got != scores[node] {
				t.Fatalf("seed %d: node %d has score %d, and not %d", seed, index, got, scores[node])
			}
		}
		if rejected != len(answer.ReasonIds) {
			t.Fatalf("seed %d: %d reasons of %d nodes", seed, len(answer.ReasonIds), rejected)
		}
	}
}

// Filter and Score are asked of the nodes that PreFilter names, if it names any.
func TestPreFilterNamesNodes(t *testing.T) {
	nodes := &Nodes{}
	for i := 0; i < 20; i++ {
		nodes.All = append(nodes.All, &Node{Object: &api.Node{Metadata: &api.ObjectMeta{Name: proto.String(fmt.Sprint("n", i))}}})
	}
	nodes.All[3] = nil
	asked := 0
	var eligible []string
	hooks := &Hooks{
		PreFilter: func(*api.Pod, *Nodes) ([]string, *Status) { return eligible, nil },
		Filter:    func(*api.Pod, *Node) *Status { asked++; return Unschedulable("none") },
	}
	question := &v1.Evaluate{Points: hooks.points()}
	if answer := Evaluate(hooks, nodes, question); asked != 19 || answer.Eligible != nil {
		t.Fatalf("%d nodes were filtered, %v are eligible", asked, answer.Eligible)
	}
	asked, eligible = 0, []string{"n1", "n3", "n17", "elsewhere"}
	answer := Evaluate(hooks, nodes, question)
	want := []byte{1 << 1, 0, 1 << 1}
	if asked != 2 || !bytes.Equal(answer.Eligible, want) || !bytes.Equal(answer.Rejected, want) {
		t.Fatalf("%d nodes were filtered, %v are eligible, %v rejected", asked, answer.Eligible, answer.Rejected)
	}
	asked, eligible = 0, []string{}
	if answer := Evaluate(hooks, nodes, question); asked != 0 || len(answer.Eligible) != 3 {
		t.Fatalf("%d nodes were filtered, %v are eligible", asked, answer.Eligible)
	}
}

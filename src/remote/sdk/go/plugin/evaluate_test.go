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

// A hook that panics fails its call and no other one: of Score, the verdicts count.
func TestAPanicIsAnError(t *testing.T) {
	nodes := &Nodes{}
	for i := 0; i < 3; i++ {
		nodes.All = append(nodes.All, &Node{Object: &api.Node{Metadata: &api.ObjectMeta{Name: proto.String(fmt.Sprint("n", i))}}})
	}
	scored := []string{}
	hooks := &Hooks{
		Filter: func(_ *api.Pod, node *Node) *Status {
			if node.Name() == "n1" {
				return Unschedulable("n1")
			}
			return &Status{Code: v1.Code_SUCCESS}
		},
		Score: func(_ *api.Pod, node *Node) int64 {
			scored = append(scored, node.Name())
			if node.Name() == "n2" {
				panic("no score")
			}
			return 7
		},
	}
	answer := Evaluate(hooks, nodes, &v1.Evaluate{Points: hooks.points()})
	if answer.Status != nil || answer.ScoreStatus.GetCode() != v1.Code_ERROR || answer.ScoreStatus.Reasons[0] != "panic: no score" {
		t.Fatalf("a panic of Score: %v", answer)
	}
	if !bytes.Equal(answer.Rejected, []byte{1 << 1}) || answer.Scores != nil || fmt.Sprint(scored) != "[n0 n2]" {
		t.Fatalf("a panic of Score: %v, asked for %v", answer, scored)
	}
	hooks.Filter = func(*api.Pod, *Node) *Status { panic("no verdict") }
	answer = Evaluate(hooks, nodes, &v1.Evaluate{Points: hooks.points()})
	if answer.Status.GetCode() != v1.Code_ERROR || answer.Rejected != nil || answer.Scores != nil {
		t.Fatalf("a panic of Filter: %v", answer)
	}
	hooks.PostFilter = func(*api.Pod, *Nodes, []byte) (string, []string, *Status) { panic("no plan") }
	if said := postFilter(hooks, nodes, &v1.PostFilter{Id: 5}).GetPostFilter(); said.Id != 5 || said.Status.Code != v1.Code_ERROR {
		t.Fatalf("a panic of PostFilter: %v", said)
	}
	for _, point := range []v1.PodPoint{v1.PodPoint_CALL_RESERVE, v1.PodPoint_CALL_PERMIT, v1.PodPoint_CALL_PRE_BIND, v1.PodPoint_CALL_BIND} {
		panics := func(*api.Pod, string) *Status { panic("no call") }
		hooks.Reserve, hooks.PreBind, hooks.Bind = panics, panics, panics
		hooks.Permit = func(*api.Pod, string) (int64, *Status) { panic("no call") }
		said := make(chan *v1.FromPlugin, 2)
		call(hooks, &v1.PodCall{Id: 6, Point: point}, func(message *v1.FromPlugin) { said <- message })
		if result := (<-said).GetCall(); result.Id != 6 || result.Status.Code != v1.Code_ERROR {
			t.Fatalf("a panic at %v: %v", point, result)
		}
	}
	hooks.Unreserve = func(*api.Pod, string) { panic("no call") }
	call(hooks, &v1.PodCall{Point: v1.PodPoint_CALL_UNRESERVE}, func(*v1.FromPlugin) { t.Fatal("nobody waits for an answer") })
}

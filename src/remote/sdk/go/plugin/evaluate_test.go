// SPDX-License-Identifier: Apache-2.0

package plugin

import (
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

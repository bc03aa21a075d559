// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/binary"
	"fmt"
	"log"
	"runtime/debug"
	"slices"
	"strings"

	"berth.dev/plugin/api"
	v1 "berth.dev/plugin/v1"
)

const mostReasons = 250

// recovered makes a panic of a hook, which is recover()'s argument, an ERROR; nil if there was none. Where it was is logged
// for the operator of the plugin.
func recovered(panicked any) *Status {
	if panicked == nil {
		return nil
	}
	log.Printf("plugin: panic: %v\n%s", panicked, debug.Stack())
	return &Status{v1.Code_ERROR, []string{fmt.Sprintf("panic: %v", panicked)}}
}

// Evaluate asks the hooks about one node after another and packs what they say. What panics is an ERROR; in Score, of the
// scores alone.
func Evaluate(hooks *Hooks, nodes *Nodes, question *v1.Evaluate) *v1.Evaluation {
	answer := &v1.Evaluation{Id: question.Id, Revision: question.Revision}
	if status := judge(hooks, nodes, question, answer); status != nil {
		return &v1.Evaluation{Id: question.Id, Revision: question.Revision, Status: status.message()}
	}
	return answer
}

// judge returns what PreFilter or Filter failed with.
func judge(hooks *Hooks, nodes *Nodes, question *v1.Evaluate, answer *v1.Evaluation) (failed *Status) {
	defer func() {
		if status := recovered(recover()); status != nil {
			failed = status
		}
	}()
	all := nodes.All
	if question.Hypothetical != nil {
		all = []*Node{nodes.hypothetical(question.Hypothetical)}
	}
	filter := hooks.Filter != nil && slices.Contains(question.Points, v1.Point_FILTER)
	if hooks.PreFilter != nil && slices.Contains(question.Points, v1.Point_PRE_FILTER) {
		eligible, status := hooks.PreFilter(question.Pod, nodes)
		answer.PreFilter = status.message()
		if status != nil && status.Code == v1.Code_ERROR {
			return status
		}
		filter = filter && status == nil
		if eligible != nil && question.Hypothetical == nil { // which is one of these already
			all = nodes.only(eligible)
			answer.Eligible = bitmap(all)
		}
	}
	score := hooks.Score != nil && slices.Contains(question.Points, v1.Point_SCORE)
	if !filter && !score {
		return nil
	}
	packer := packer{answer: answer, nodes: len(all)}
	if filter {
		for index, node := range all {
			if node == nil {
				continue
			}
			if status := hooks.Filter(question.Pod, node); status != nil && status.Code != v1.Code_SUCCESS {
				packer.reject(index, status)
			}
		}
	}
	if score {
		packer.scoreAll(hooks, question.Pod, all)
	}
	return nil
}

// only has nil in place of the nodes that are not named.
func (n *Nodes) only(names []string) []*Node {
	named := make(map[string]bool, len(names))
	for _, name := range names {
		named[name] = true
	}
	only := make([]*Node, len(n.All))
	for index, node := range n.All {
		if node != nil && named[node.Name()] {
			only[index] = node
		}
	}
	return only
}

// bitmap has a bit for each node that is there.
func bitmap(nodes []*Node) []byte {
	bits := make([]byte, (len(nodes)+7)/8)
	for index, node := range nodes {
		if node != nil {
			bits[index/8] |= 1 << (index % 8)
		}
	}
	return bits
}

// packer writes what is said of one node after another into an answer.
type packer struct {
	answer    *v1.Evaluation
	nodes     int
	positions map[string]byte // in answer.Reasons
	// Mostly many nodes are rejected for one reason, if the plugin makes it once with one Status.
	last         *Status
	lastPosition byte
}

func (p *packer) reject(index int, status *Status) {
	if p.last == nil {
		p.answer.Rejected = make([]byte, (p.nodes+7)/8)
		p.answer.ReasonIds = make([]byte, 0, p.nodes)
	}
	if p.last != status {
		if p.last == nil || p.last.Code != status.Code || !slices.Equal(p.last.Reasons, status.Reasons) {
			p.lastPosition = p.positionOf(status)
		}
		p.last = status
	}
	p.answer.Rejected[index/8] |= 1 << (index % 8)
	p.answer.ReasonIds = append(p.answer.ReasonIds, p.lastPosition)
}

// positionOf finds the status among answer.Reasons, or adds it.
func (p *packer) positionOf(status *Status) byte {
	key := status.Code.String() + "\x00" + strings.Join(status.Reasons, "\x00")
	position, known := p.positions[key]
	if !known && len(p.positions) == mostReasons { // the last one stands for all others
		return mostReasons - 1
	}
	if !known {
		if p.positions == nil {
			p.positions = map[string]byte{}
		}
		position = byte(len(p.positions))
		p.positions[key] = position
		p.answer.Reasons = append(p.answer.Reasons, status.message())
	}
	return position
}

// scoreAll asks for the scores of the nodes that are not rejected: others would not count. A panic ends the scores, and the
// verdicts count.
func (p *packer) scoreAll(hooks *Hooks, pod *api.Pod, all []*Node) {
	defer func() {
		if status := recovered(recover()); status != nil {
			p.answer.ScoreStatus, p.answer.Scores, p.answer.ScoreWidth = status.message(), nil, 0
		}
	}()
	for index, node := range all {
		if node == nil || (p.last != nil && p.answer.Rejected[index/8]>>(index%8)&1 == 1) {
			continue
		}
		p.score(index, hooks.Score(pod, node))
	}
}

// score writes bytes as long as all fit into one each.
func (p *packer) score(index int, score int64) {
	if score == 0 {
		return
	}
	if p.answer.ScoreWidth == 0 {
		p.answer.ScoreWidth, p.answer.Scores = 1, make([]byte, p.nodes)
	}
	if p.answer.ScoreWidth == 1 {
		if score == int64(int8(score)) {
			p.answer.Scores[index] = byte(score)
			return
		}
		narrow := p.answer.Scores
		p.answer.ScoreWidth, p.answer.Scores = 8, make([]byte, 8*p.nodes)
		for i, b := range narrow {
			binary.LittleEndian.PutUint64(p.answer.Scores[8*i:], uint64(int8(b)))
		}
	}
	binary.LittleEndian.PutUint64(p.answer.Scores[8*index:], uint64(score))
}

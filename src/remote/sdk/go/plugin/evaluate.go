// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/binary"
	"slices"
	"strings"

	v1 "berth.dev/plugin/v1"
)

const mostReasons = 250

// Evaluate asks the hooks about one node after another and packs what they say.
func Evaluate(hooks *Hooks, nodes *Nodes, question *v1.Evaluate) *v1.Evaluation {
	answer := &v1.Evaluation{Id: question.Id, Revision: question.Revision}
	all := nodes.All
	if question.Hypothetical != nil {
		all = []*Node{nodes.hypothetical(question.Hypothetical)}
	}
	filter := hooks.Filter != nil && slices.Contains(question.Points, v1.Point_FILTER)
	if hooks.PreFilter != nil && slices.Contains(question.Points, v1.Point_PRE_FILTER) {
		status := hooks.PreFilter(question.Pod, nodes)
		answer.PreFilter = status.message()
		if status != nil && status.Code == v1.Code_ERROR {
			answer.Status, answer.PreFilter = status.message(), nil
			return answer
		}
		filter = filter && status == nil
	}
	score := hooks.Score != nil && slices.Contains(question.Points, v1.Point_SCORE)
	if !filter && !score {
		return answer
	}
	packer := packer{answer: answer, nodes: len(all)}
	for index, node := range all {
		if node == nil {
			continue
		}
		if filter {
			if status := hooks.Filter(question.Pod, node); status != nil {
				packer.reject(index, status)
				continue // its score would not count
			}
		}
		if score {
			packer.score(index, hooks.Score(question.Pod, node))
		}
	}
	return answer
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

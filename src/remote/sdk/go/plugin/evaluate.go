// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/binary"
	"slices"
	"strings"

	v1 "berth.dev/plugin/v1"
)

const mostReasons = 250

// Evaluate asks the hooks about every node and packs what they say.
func Evaluate(hooks *Hooks, nodes *Nodes, question *v1.Evaluate) *v1.Evaluation {
	answer := &v1.Evaluation{Id: question.Id, Revision: question.Revision}
	asked := map[v1.Point]bool{}
	for _, point := range question.Points {
		asked[point] = true
	}
	all := nodes.All
	if question.Hypothetical != nil {
		all = []*Node{nodes.hypothetical(question.Hypothetical)}
	}
	filter := hooks.Filter != nil && asked[v1.Point_FILTER]
	if hooks.PreFilter != nil && asked[v1.Point_PRE_FILTER] {
		status := hooks.PreFilter(question.Pod, nodes)
		answer.PreFilter = status.message()
		if status != nil && status.Code == v1.Code_ERROR {
			answer.Status, answer.PreFilter = status.message(), nil
			return answer
		}
		filter = filter && status == nil
	}
	if filter {
		packVerdicts(hooks, all, question, answer)
	}
	if hooks.Score != nil && asked[v1.Point_SCORE] {
		packScores(hooks, all, question, answer)
	}
	return answer
}

func packVerdicts(hooks *Hooks, all []*Node, question *v1.Evaluate, answer *v1.Evaluation) {
	positions := map[string]byte{}
	var last *Status // mostly many nodes are rejected for one reason
	var lastPosition byte
	for index, node := range all {
		if node == nil {
			continue
		}
		status := hooks.Filter(question.Pod, node)
		if status == nil {
			continue
		}
		if last == nil || last.Code != status.Code || !slices.Equal(last.Reasons, status.Reasons) {
			last, lastPosition = status, positionOf(status, positions, answer)
		}
		if answer.Rejected == nil {
			answer.Rejected = make([]byte, (len(all)+7)/8)
		}
		answer.Rejected[index/8] |= 1 << (index % 8)
		answer.ReasonIds = append(answer.ReasonIds, lastPosition)
	}
}

// positionOf finds the status among answer.Reasons, or adds it.
func positionOf(status *Status, positions map[string]byte, answer *v1.Evaluation) byte {
	key := status.Code.String() + "\x00" + strings.Join(status.Reasons, "\x00")
	position, known := positions[key]
	if !known && len(positions) == mostReasons { // the last one stands for all others
		return mostReasons - 1
	}
	if !known {
		position = byte(len(positions))
		positions[key] = position
		answer.Reasons = append(answer.Reasons, status.message())
	}
	return position
}

func packScores(hooks *Hooks, all []*Node, question *v1.Evaluate, answer *v1.Evaluation) {
	scores := make([]int64, len(all))
	width := 0
	for index, node := range all {
		if node == nil {
			continue
		}
		score := hooks.Score(question.Pod, node)
		scores[index] = score
		if score != 0 && width == 0 {
			width = 1
		}
		if score != int64(int8(score)) {
			width = 8
		}
	}
	answer.ScoreWidth = uint32(width)
	switch width {
	case 1:
		answer.Scores = make([]byte, len(all))
		for index, score := range scores {
			answer.Scores[index] = byte(score)
		}
	case 8:
		answer.Scores = make([]byte, 8*len(all))
		for index, score := range scores {
			binary.LittleEndian.PutUint64(answer.Scores[8*index:], uint64(score))
		}
	}
}

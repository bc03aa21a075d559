// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"berth.dev/plugin/plugintest"
)

func TestLicences(t *testing.T) {
	scheduler := plugintest.Start(t, Description, New, "{}")
	scheduler.SetNodes(plugintest.Node("plain", nil), plugintest.Node("cad", map[string]string{label + "cad": "2"}))

	rejections, _ := scheduler.Evaluate(plugintest.Pod("p", map[string]string{annotation: "cad"}))
	if rejections["plain"] != "node(s) had no licence for cad" || rejections["cad"] != "" {
		t.Errorf("a pod with a licence: %v", rejections)
	}
	rejections, scores := scheduler.Evaluate(plugintest.Pod("q", nil))
	if rejections["plain"] != "" || rejections["cad"] != "" || scores["plain"] != 100 || scores["cad"] != 0 {
		t.Errorf("a pod without: %v %v", rejections, scores)
	}
}

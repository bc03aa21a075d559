// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"berth.dev/plugin/plugintest"
	v1 "berth.dev/plugin/v1"
)

func TestSpare(t *testing.T) {
	spare := plugintest.Pod("c", nil)
	spare.Metadata.Labels = map[string]string{label: "true"}
	codes := map[string]v1.Code{"tainted": v1.Code_UNSCHEDULABLE_AND_UNRESOLVABLE, "full": v1.Code_UNSCHEDULABLE}
	scheduler := plugintest.Start(t, Description, New, "{}")
	scheduler.SetNodes(plugintest.Node("tainted", nil), plugintest.Node("full", nil))
	scheduler.SetPods("tainted", spare)
	if _, _, why := scheduler.PostFilter(plugintest.Pod("p", nil), codes); why != "no pod is spare" {
		t.Errorf("nobody is spare where it helps: %q", why)
	}
	scheduler.SetPods("full", plugintest.Pod("b", nil), spare)
	node, victims, why := scheduler.PostFilter(plugintest.Pod("p", nil), codes)
	if node != "full" || len(victims) != 1 || victims[0] != "Pod/default/c" || why != "" {
		t.Errorf("a spare pod goes: %q %v %q", node, victims, why)
	}
	if node, _, _ := scheduler.PostFilter(spare, codes); node != "" {
		t.Errorf("for a spare pod nobody goes: %q", node)
	}
}

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the example "spare" of an SDK, and a scheduler with it: pods that are spare make room, and no others.

    post_filter.py BERTH COMMAND...    COMMAND serves the plugin at the address that is added to it
"""
import os
import sys

import served_plugin

CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: Spare}], disabled: [{name: DefaultPreemption}]}}
  pluginConfig:
  - name: Spare
    args: {kind: RemotePluginArgs, address: 'ADDRESS', deadline: 20s, startTimeout: 60s}
"""
POD = "{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: {%s}}, spec: {%spriority: %d, " \
      "containers: [{name: c, resources: {requests: {cpu: %d}}}]}}"
CLUSTER = "\n---\n".join([
    "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, memory: 10Gi, pods: 100}}}",
    "{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: 4, memory: 10Gi, pods: 100}}}",
    POD % ("a", "", "nodeName: n1, ", 0, 4),
    POD % ("b", "", "nodeName: n2, ", 0, 2),
    POD % ("c", "'example.com/spare': 'true'", "nodeName: n2, ", 1000, 2),
    POD % ("wants-two", "", "", 10, 2),
    POD % ("wants-four", "", "", 5, 4)])

command = sys.argv[2:]
simulated, _ = served_plugin.simulate(sys.argv[1], command, CONFIGURATION, CLUSTER)
placements = {p["pod"]: p["node"] for p in simulated["placements"]}
assert simulated["evicted"] == ["default/c"], simulated
assert placements["default/wants-two"] == "n2" and placements["default/wants-four"] is None, placements
reason = [p["reason"] for p in simulated["placements"] if p["pod"] == "default/wants-four"][0]
assert "no pod is spare" in reason, reason
print("%s makes room as it should" % os.path.basename(command[-1]))

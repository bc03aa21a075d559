#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the example "spare" of an SDK, and a scheduler with it: pods that are spare make room, and no others.

    post_filter.py BERTH COMMAND...    COMMAND serves the plugin at the address that is added to it
"""
import json
import os
import subprocess
import sys
import tempfile

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

berth, command = sys.argv[1], sys.argv[2:]
with tempfile.TemporaryDirectory() as folder:
    address = "unix:%s/plugin.sock" % folder
    config, cluster = os.path.join(folder, "config.yaml"), os.path.join(folder, "cluster.yaml")
    for path, text in (config, CONFIGURATION.replace("ADDRESS", address)), (cluster, CLUSTER):
        with open(path, "w") as f:
            f.write(text)
    process = subprocess.Popen(command + [address])
    try:
        subprocess.run([berth, "validate", config], check=True)
        simulated = json.loads(subprocess.run([berth, "simulate", "--config", config, "--cluster", cluster, "-o", "json"],
                                              check=True, stdout=subprocess.PIPE).stdout)
        placements = {p["pod"]: p["node"] for p in simulated["placements"]}
        assert simulated["evicted"] == ["default/c"], simulated
        assert placements["default/wants-two"] == "n2" and placements["default/wants-four"] is None, placements
        reason = [p["reason"] for p in simulated["placements"] if p["pod"] == "default/wants-four"][0]
        assert "no pod is spare" in reason, reason
        print("%s makes room as it should" % os.path.basename(command[-1]))
    finally:
        process.kill()
        process.wait()

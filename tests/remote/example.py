#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the example "licences" of an SDK, and a scheduler with it: the placements are those that it asks for.

    example.py BERTH COMMAND...    COMMAND serves the plugin at the address that is added to it
"""
import json
import os
import subprocess
import sys
import tempfile
import time

CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: Licences, weight: 10}]}}
  pluginConfig:
  - name: Licences
    args: {kind: RemotePluginArgs, address: 'ADDRESS', deadline: 20s, startTimeout: 60s}
"""
CLUSTER = """
{apiVersion: v1, kind: Node, metadata: {name: plain}, status: {allocatable: {cpu: 100, memory: 100Gi, pods: 100}}}
---
{apiVersion: v1, kind: Node, metadata: {name: cad, labels: {example.com/licences.cad: '2'}},
 status: {allocatable: {cpu: 100, memory: 100Gi, pods: 100}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: any}, spec: {containers: [{name: c}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: needs-cad, annotations: {example.com/licence: cad}}, spec: {containers: [{name: c}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: needs-cam, annotations: {example.com/licence: cam}}, spec: {containers: [{name: c}]}}
"""
WANT = {"default/any": "plain", "default/needs-cad": "cad", "default/needs-cam": None}

berth, command = sys.argv[1], sys.argv[2:]
with tempfile.TemporaryDirectory() as folder:
    address = "unix:%s/plugin.sock" % folder
    config, cluster = os.path.join(folder, "config.yaml"), os.path.join(folder, "cluster.yaml")
    for path, text in (config, CONFIGURATION.replace("ADDRESS", address)), (cluster, CLUSTER):
        with open(path, "w") as f:
            f.write(text)
    process = subprocess.Popen(command + [address])
    try:
        described = json.loads(subprocess.run([berth, "describe-plugin", address], check=True, stdout=subprocess.PIPE).stdout)
        assert described["name"] == "example.com/licences", described
        subprocess.run([berth, "validate", config], check=True)
        started = time.time()
        simulated = subprocess.run([berth, "simulate", "--config", config, "--cluster", cluster, "-o", "json"], check=True,
                                   stdout=subprocess.PIPE).stdout
        placements = {p["pod"]: p["node"] for p in json.loads(simulated)["placements"]}
        assert placements == WANT, placements
        reason = [p["reason"] for p in json.loads(simulated)["placements"] if p["pod"] == "default/needs-cam"][0]
        assert "no licence for cam" in reason, reason
        print("%s places pods as it should, in %.1f s" % (os.path.basename(command[-1]), time.time() - started))
    finally:
        process.kill()
        process.wait()

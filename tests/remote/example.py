#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the example "licences" of an SDK, and a scheduler with it: the placements are those that it asks for.

    example.py BERTH COMMAND...    COMMAND serves the plugin at the address that is added to it
"""
import os
import sys

import served_plugin

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

command = sys.argv[2:]
simulated, described = served_plugin.simulate(sys.argv[1], command, CONFIGURATION, CLUSTER)
assert described["name"] == "example.com/licences", described
placements = {p["pod"]: p["node"] for p in simulated["placements"]}
assert placements == WANT, placements
reason = [p["reason"] for p in simulated["placements"] if p["pod"] == "default/needs-cam"][0]
assert "no licence for cam" in reason, reason
print("%s places pods as it should" % os.path.basename(command[-1]))

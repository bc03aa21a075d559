#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a cluster for measuring the steps: 5,000 nodes in racks of 20, and pods that wait.

    generate.py alike|mixed|full [PODS]

alike: all pods are of one app and ask for generation 1. mixed: every other pod is of one of four apps and
asks for one of three generations, the others for nothing; they have four sizes. full: alike, and each rack
has its 20 pods of the app already.
"""
import json
import sys

NODES, NODES_A_RACK, PODS_A_RACK = 5000, 20, 20


def pod(name, labels, cpu="100m", **spec):
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu, "memory": "200Mi"}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default", "labels": labels},
            "spec": {"containers": [container], **spec}}


def node_labels(rack):
    return {"example.com/rack": f"rack-{rack:03d}", "example.com/generation": str(rack % 4)}


def pod_labels(app, generation):
    return {"app": app, "example.com/min-generation": str(generation)}


def objects(workload, pods):
    for i in range(NODES):
        yield {"apiVersion": "v1", "kind": "Node",
               "metadata": {"name": f"node-{i:04d}", "labels": node_labels(i // NODES_A_RACK)},
               "status": {"allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}}}
    if workload == "full":
        for i in range(NODES // NODES_A_RACK * PODS_A_RACK):
            yield pod(f"running-{i}", pod_labels("web", 1), nodeName=f"node-{i % NODES:04d}")
    for i in range(pods):
        if workload == "mixed":
            labels = pod_labels(f"app-{i // 2 % 4}", i // 2 % 3) if i % 2 else {}
            yield pod(f"pod-{i}", labels, f"{100 + i // 8 % 4 * 50}m")
        else:
            yield pod(f"pod-{i}", pod_labels("web", 1))


if __name__ == "__main__":
    for each in objects(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 4000):
        print(json.dumps(each))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a cluster that pods of ten queues fill, queues with fair shares in cohorts, and pods that wait for their share.

    shares.py QUEUES PODS [COHORTS]
"""
import json
import sys

NODES, CPUS = 500, 8
FAIR = {"min": {"cpu": "0"}, "reclaim": {"strategy": "FairShare"}}


def quota(name, **spec):
    return {"apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "ClusterQuota", "metadata": {"name": name}, "spec": {**FAIR, **spec}}


def pod(name, queue, **spec):
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "q-%04d" % queue},
            "spec": {"containers": [container], **spec}}


def objects(queues, pods, cohorts):
    for i in range(NODES):
        yield {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n%04d" % i},
               "status": {"allocatable": {"cpu": str(CPUS), "memory": "32Gi", "pods": "110"}}}
    for i in range(cohorts):
        yield quota("cohort-%d" % i)
    for i in range(queues):
        yield quota("q-%04d" % i, parent="cohort-%d" % (i % cohorts), namespaces=["q-%04d" % i])
    for i in range(NODES * CPUS):
        yield pod("r-%05d" % i, i % 10, nodeName="n%04d" % (i // CPUS))
    for i in range(pods):
        yield pod("w-%05d" % i, i % queues)


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    for made in objects(given[0], given[1], given[2] if len(given) > 2 else 10):
        print(json.dumps(made))

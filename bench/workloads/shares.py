#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a cluster that pods of ten queues fill, queues with fair shares in cohorts, and pods that wait for their share.

    shares.py QUEUES PODS [COHORTS [SEED]]

With a seed pods are unlike: of other requests and priorities, a fifth of those that wait in gangs of four.
"""
import json
import random
import sys

NODES, CPUS = 500, 8
FAIR = {"min": {"cpu": "0"}, "reclaim": {"strategy": "FairShare"}}
GANG = "gang.scheduling.koordinator.sh"


def quota(name, **spec):
    return {"apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "ClusterQuota", "metadata": {"name": name}, "spec": {**FAIR, **spec}}


def pod(name, queue, milli_cpu=1000, annotations=None, **spec):
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "%dm" % milli_cpu if milli_cpu % 1000 else str(milli_cpu // 1000)}}}
    metadata = {"name": name, "namespace": "q-%04d" % queue, **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}


def unlike(queues, pods, rng):
    running = 0
    for node in range(NODES):
        left = CPUS * 1000
        while left:
            milli_cpu = min(left, rng.choice((250, 500, 1000, 1000, 2000, 4000)))
            yield pod("r-%05d" % running, rng.randrange(10), milli_cpu, nodeName="n%04d" % node, priority=rng.choice((0, 0, 10, 100)))
            running, left = running + 1, left - milli_cpu
    made = 0
    while made < pods:
        queue, priority, members = rng.randrange(queues), rng.choice((0, 0, 10)), 4 if rng.random() < 0.0625 else 1
        marks = {GANG + "/name": "g-%05d" % made, GANG + "/min-available": "4"} if members > 1 else None
        for i in range(made, min(pods, made + members)):
            yield pod("w-%05d" % i, queue, rng.choice((250, 500, 1000, 1000, 2000, 4000)), marks, priority=priority)
        made += members


def objects(queues, pods, cohorts, seed):
    for i in range(NODES):
        yield {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n%04d" % i},
               "status": {"allocatable": {"cpu": str(CPUS), "memory": "32Gi", "pods": "110"}}}
    for i in range(cohorts):
        yield quota("cohort-%d" % i)
    for i in range(queues):
        yield quota("q-%04d" % i, parent="cohort-%d" % (i % cohorts), namespaces=["q-%04d" % i])
    if seed is not None:
        yield from unlike(queues, pods, random.Random(seed))
        return
    for i in range(NODES * CPUS):
        yield pod("r-%05d" % i, i % 10, nodeName="n%04d" % (i // CPUS))
    for i in range(pods):
        yield pod("w-%05d" % i, i % queues)


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    for made in objects(given[0], given[1], given[2] if len(given) > 2 else 10, given[3] if len(given) > 3 else None):
        print(json.dumps(made))

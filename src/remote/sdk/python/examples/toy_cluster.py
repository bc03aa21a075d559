#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A cluster of three nodes that lives in this program, scheduled by `berth serve`.

    toy_cluster.py ADDRESS    unix:/PATH or HOST:PORT of the server
"""
import json
import queue
import sys

import grpc
from berth.v1 import cluster_pb2 as v1
from berth.v1 import cluster_pb2_grpc


def node(name, cpu):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "status": {"allocatable": {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}}}


def pod(name, cpu, priority=0):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "priority": priority, "containers": [{"name": "c", "resources": {"requests": {"cpu": str(cpu)}}}]}}


class Cluster:
    """The objects of one cluster, and a stream on which the scheduler hears of them."""
    def __init__(self, stub, name):
        self.messages, self.sequence, self.placements, self.waiting = queue.Queue(), 0, {}, {}
        self.messages.put(v1.ToScheduler(hello=v1.Hello(protocol_version=1, cluster=name, acknowledges=True)))
        self.stream = stub.Schedule(iter(self.messages.get, None))
        assert next(self.stream).HasField("welcome")

    def send(self, *changes, synced=False):
        self.sequence += 1
        self.messages.put(v1.ToScheduler(changes=v1.Changes(sequence=self.sequence, changes=changes, synced=synced)))

    def add(self, *objects, synced=False):
        self.send(*(v1.Change(type="ADDED", object=v1.Object(json=json.dumps(o))) for o in objects), synced=synced)

    def run_until(self, done):
        """Does what the scheduler says."""
        while not done():
            message = next(self.stream)
            for problem in message.applied.problems:
                print("problem: %s: %s" % (problem.subject, problem.message))
            for event in message.events.events:
                if event.HasField("placement"):
                    self.placements[event.placement.pod.name] = event.placement.node
                    self.waiting.pop(event.placement.pod.name, None)
                elif event.HasField("eviction"):
                    print("%s is evicted: %s" % (event.eviction.pod.name, event.eviction.message))
                    self.placements.pop(event.eviction.pod.name, None)
                    gone = v1.ObjectName(namespace="default", name=event.eviction.pod.name)  # its containers have ended
                    self.send(v1.Change(type="DELETED", object=v1.Object(api_version="v1", kind="Pod", name=gone)))
                elif event.HasField("condition"):
                    self.waiting[event.condition.pod.name] = event.condition.message
                self.messages.put(v1.ToScheduler(acknowledge=v1.Acknowledge(revision=event.revision)))


def main():
    stub = cluster_pb2_grpc.ClustersStub(grpc.insecure_channel(sys.argv[1]))
    cluster = Cluster(stub, "toy")
    cluster.add(node("n1", 4), node("n2", 4), node("n3", 4), *(pod("p%d" % i, 3) for i in range(4)), synced=True)
    cluster.run_until(lambda: len(cluster.placements) == 3 and cluster.waiting)
    print("placed:", ", ".join("%s on %s" % place for place in sorted(cluster.placements.items())))
    print("waiting: %s: %s" % next(iter(cluster.waiting.items())))
    asked = v1.WhatIfRequest(world=v1.World(cluster="toy"), pods=[v1.Object(json=json.dumps(pod("more", 3)))],
                             more_nodes=v1.MoreNodes(shape=v1.Object(json=json.dumps(node("n", 4))), count=5, search=True))
    print("what if:", stub.WhatIf(asked).text.splitlines()[0])
    cluster.add(pod("urgent", 4, priority=1000))
    cluster.run_until(lambda: "urgent" in cluster.placements)
    print("urgent is on", cluster.placements["urgent"])
    cluster.messages.put(v1.ToScheduler(forget=v1.Forget()))
    cluster.messages.put(None)
    list(cluster.stream)  # it has heard that


if __name__ == "__main__":
    main()

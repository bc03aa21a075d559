#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`berth run` with claims of devices, killed in between: the claim of a template, one that pods of two nodes share, one whose pods
are evicted, and devices that are written while it goes down.

    claims_test.py BERTH
"""
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster import Cluster, make_nodes  # noqa: E402
from processes import wait_until  # noqa: E402

BERTH = os.path.abspath(sys.argv.pop()) if len(sys.argv) > 1 else "build/release/berth"
CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
          "leaderElection": {"leaderElect": False},
          "profiles": [{"schedulerName": "default-scheduler", "pluginConfig": [
              {"name": "DynamicResources", "args": {"preemptForDevices": True}}]}]}
DEVICES = {"devices": {"requests": [{"name": "d", "exactly": {"deviceClassName": "any"}}]}}
SLOW = {"pod-delete.stage.kwok.x-k8s.io/delay": "4s"}


def resource(kind, name, spec):
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def pod(name, node=None, shares=None, priority=None, annotations=None):
    spec = {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "100m"}}}],
            "resourceClaims": [{"name": "d", **({"resourceClaimName": shares} if shares else {"resourceClaimTemplateName": "own"})}]}
    if node:
        spec["nodeSelector"] = {"kubernetes.io/hostname": node}
    if priority:
        spec["priorityClassName"] = priority
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations or {}}, "spec": spec}


class ClaimsTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(nodes=make_nodes(3, pods="100")).__enter__()
        self.addCleanup(self.cluster.stop)
        self.api = self.cluster.api
        self.nodes = sorted(n["metadata"]["name"] for n in self.api.list("v1/Node")[0])
        for name, value in (("low", 1), ("high", 1000)):
            self.api.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value})
        self.api.create(resource("DeviceClass", "any", {}))
        self.api.create(resource("ResourceClaimTemplate", "own", {"spec": DEVICES}))
        self.starts = 0
        self.scheduler = None

    def start(self):
        self.starts += 1
        self.scheduler = self.cluster.start_scheduler("berth-%d" % self.starts, [BERTH, "run"], config=CONFIG, flags=["-v=4"])

    def restart(self):
        self.scheduler.kill()
        self.start()

    def fabric(self, devices):
        self.api.create(resource("ResourceSlice", "fabric", {
            "driver": "storage.example.com", "pool": {"name": "fabric", "generation": 1, "resourceSliceCount": 1}, "allNodes": True,
            "devices": [{"name": "d-%d" % i} for i in range(devices)]}))

    def pods(self):
        return {p["metadata"]["name"]: p for p in self.api.list("v1/Pod")[0] if p["metadata"]["namespace"] == "default"}

    def placed(self):
        return {name for name, p in self.pods().items() if p["spec"].get("nodeName") and "deletionTimestamp" not in p["metadata"]}

    def wait_for(self, *names, seconds=30):
        wait_until("%s are placed" % (names,), lambda: set(names) <= self.placed(), seconds)

    def expect_devices(self, most):
        """No device has two claims, and each pod on a node is a user of its claim."""
        held, users = [], set()
        for claim in self.api.list("resource.k8s.io/v1/ResourceClaim")[0]:
            status = claim.get("status", {})
            held += [r["device"] for r in status.get("allocation", {}).get("devices", {}).get("results", [])]
            users |= {user["name"] for user in status.get("reservedFor", [])}
        self.assertEqual(len(held), len(set(held)), held)
        self.assertLessEqual(len(held), most)
        self.assertLessEqual(self.placed(), users)

    def test_evictions_on_several_nodes_survive_a_restart(self):
        self.fabric(2)
        self.api.create(resource("ResourceClaim", "shared", DEVICES))
        self.start()
        for i in range(2):
            self.api.create(pod("s%d" % i, self.nodes[i], shares="shared", priority="low", annotations=SLOW))
        self.api.create(pod("keeps", self.nodes[0], priority="high"))
        self.wait_for("s0", "s1", "keeps")
        self.restart()
        self.api.create(pod("important", self.nodes[2], priority="high"))
        wait_until("both are evicted", lambda: all("deletionTimestamp" in self.pods()[s]["metadata"] for s in ("s0", "s1")), 20)
        self.restart()  # while they are leaving
        self.wait_for("important")
        self.assertEqual(self.placed(), {"important", "keeps"})
        self.expect_devices(2)

    def test_devices_that_are_being_written_are_given_once(self):
        self.fabric(6)
        self.start()
        self.api.create(pod("first"))
        self.wait_for("first")
        for i in range(8):
            self.api.create(pod("p%d" % i))
            if i % 3 == 2:
                self.restart()
        wait_until("six are placed", lambda: len(self.placed()) == 6, 60)
        time.sleep(2)
        self.assertEqual(len(self.placed()), 6)
        self.expect_devices(6)


if __name__ == "__main__":
    unittest.main()

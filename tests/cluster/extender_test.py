#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`berth run` with an extender, the one in Go of tests/extender: on a real cluster it is asked what kube-scheduler was
recorded to ask it, the pods go to the same nodes, and one that has none waits for the same reason.

    extender_test.py BERTH [SITUATION...]
"""
import json
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "extender"))
from cluster import Cluster, make_node  # noqa: E402
from compare import by_pod  # noqa: E402
from go_extender import GoExtender, build  # noqa: E402
from processes import wait_until  # noqa: E402
from record import create  # noqa: E402
from situations import SITUATIONS, configuration  # noqa: E402

BERTH = "build/release/berth"
WITHIN_SECONDS = 60


def asked(entry):
    """The verb, and the nodes that the request is about."""
    request = entry["request"]
    if "Node" in request:  # bind
        return entry["verb"], [request["Node"]]
    victims = request.get("NodeNameToMetaVictims") or request.get("NodeNameToVictims")
    if victims:
        return entry["verb"], {node: len(of["Pods"]) for node, of in victims.items()}
    nodes = request.get("NodeNames") or [node["metadata"]["name"] for node in request["Nodes"]["items"]]
    return entry["verb"], sorted(nodes)


class ExtenderTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.cluster = Cluster(crds=False).__enter__()
        cls.program = os.path.join(cls.folder.name, "extender")
        build(cls.program)
        cls.cluster.api.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                                "metadata": {"name": "important"}, "value": 1000})

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()
        cls.folder.cleanup()

    def pods(self):
        found = {}
        for pod in self.cluster.api.list("v1/Pod", "default")[0]:
            messages = [c.get("message") for c in pod["status"].get("conditions", []) if c["type"] == "PodScheduled"]
            found[pod["metadata"]["name"]] = [pod["spec"].get("nodeName"), pod["status"].get("nominatedNodeName"), messages]
        return found

    def situation(self, name):
        with open(os.path.join(HERE, "..", "extender", "recorded", name + ".json"), encoding="utf-8") as file:
            recorded = json.load(file)
        _, nodes, pods = SITUATIONS[name]
        api = self.cluster.api
        self.cluster.add_nodes([make_node(node, zone="z0") for node in nodes])
        for pod in pods:
            create(api, pod)
        wait_until("what has a node runs", lambda: all(
            p["status"].get("phase") == "Running" for p in api.list("v1/Pod", "default")[0] if p["spec"].get("nodeName")), 60)
        # Only there the extender binds: kube-scheduler's was recorded with one that did not.
        end = {"p": ["plain", None, [None]]} if name == "bind" else recorded["end"]
        certificate, key = self.cluster._authority.client("extender", "extender", "system:masters")
        flags = ["-api", self.cluster.server, "-api-ca", self.cluster._authority.path("ca.crt"), "-api-cert", certificate,
                 "-api-key", key]
        log = os.path.join(self.folder.name, name + ".log")
        with GoExtender(self.program, log, flags) as extender:
            scheduler = self.cluster.start_scheduler("berth-" + name.replace("_", "-"), [BERTH, "run"],
                                                     config=configuration(name, extender.url))
            try:
                wait_until("the pods are where they were with kube-scheduler", lambda: self.pods() == end, WITHIN_SECONDS)
            except Exception:
                self.assertEqual(self.pods(), end)
                raise
            finally:
                self.assertEqual(scheduler.stop(), 0)
            found, wanted = by_pod(extender.requests), by_pod(recorded["requests"])
        self.assertEqual(set(found), set(wanted))
        for pod, entries in wanted.items():
            # A pod that fits nowhere is tried again and again: the rounds after the first are alike. One that is not bound
            # is, too.
            first = [asked(entry) for entry in entries]
            if name == "bind":
                first = first[:1]
                self.assertEqual(len(found[pod]), 1)
            else:
                first = first[:len(found[pod])]
            self.assertEqual([asked(entry) for entry in found[pod]][:len(first)], first, pod)

    def tearDown(self):
        api = self.cluster.api
        for pod in api.list("v1/Pod", "default")[0]:
            api.delete("v1/Pod", pod["metadata"]["name"], grace_seconds=0)
        wait_until("the pods go", lambda: not api.list("v1/Pod", "default")[0], 30)
        for node in api.list("v1/Node")[0]:
            api.delete("v1/Node", node["metadata"]["name"])


def add(name):
    setattr(ExtenderTest, "test_" + name, lambda self: self.situation(name))


if __name__ == "__main__":
    BERTH = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else BERTH
    for each in sys.argv[2:] or SITUATIONS:
        add(each)
    unittest.main(argv=sys.argv[:1])

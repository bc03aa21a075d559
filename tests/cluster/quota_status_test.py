#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `berth run` writes into the status of ClusterQuotas on a real API server, how it follows, and how often it is written; and the
event of one that contradicts itself.

    quota_status_test.py [BERTH]
"""
import collections
import datetime
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster import TREE, Cluster, make_nodes  # noqa: E402
from processes import wait_until  # noqa: E402

BERTH = os.path.abspath(sys.argv.pop()) if len(sys.argv) > 1 else os.path.join(TREE, "build/release/berth")
KIND = "scheduling.berth.dev/v1alpha1/ClusterQuota"
PAUSE_SECONDS = 5  # between two statuses of one quota (docs/quota.md)


class QuotaStatusTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=make_nodes(2, cpu="8")).__enter__()
        cls.addClassCleanup(cls.cluster.stop)

    def quota(self, name, **spec):
        self.cluster.api.create({"apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "ClusterQuota", "metadata": {"name": name},
                                 "spec": spec})

    def pods(self, team, first, end):
        for i in range(first, end):
            self.cluster.api.create({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "%s-%d" % (team, i), "namespace": team},
                "spec": {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}]}}, team)

    def expect(self, wanted):
        """wanted: used, guarantee, share and borrowed CPUs by quota."""
        found = {}

        def is_there():
            for name in wanted:
                status = self.cluster.api.get(KIND, name).get("status", {})
                found[name] = tuple(status.get(part, {}).get("cpu") for part in ("used", "guarantee", "share", "borrowed"))
            return found == wanted

        try:
            wait_until("the statuses", is_there, 40)
        except Exception:
            self.assertEqual(found, wanted)
            raise

    def test_it_follows_what_is_used_and_wanted(self):
        for team in ("a", "b"):
            self.cluster.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team}})
        self.quota("department", min={"cpu": "8"})
        self.quota("team-a", parent="department", namespaces=["a"], min={"cpu": "4"})
        self.quota("team-b", parent="department", namespaces=["b"], min={"cpu": "4"})
        self.cluster.start_scheduler("berth", [BERTH, "run"], config=os.path.join(TREE, "config", "quota.yaml"),
                                     kubeconfig=self.cluster.kubeconfig)
        self.pods("a", 0, 6)
        self.pods("b", 0, 1)
        self.expect({"department": ("7", "8", "7", "0"), "team-a": ("6", "4", "6", "2"), "team-b": ("1", "4", "1", "0")})

        # More is wanted than there is: 16 CPUs, 4 guaranteed to each and 8 to spare, at equal weights.
        self.pods("b", 1, 15)
        self.expect({"department": ("16", "8", "16", "8"), "team-a": ("6", "4", "6", "2"), "team-b": ("10", "4", "10", "6")})

        for i in range(3):
            self.cluster.api.delete("v1/Pod", "a-%d" % i, "a", grace_seconds=0)
        self.expect({"department": ("16", "8", "16", "8"), "team-a": ("3", "4", "3", "0"), "team-b": ("13", "4", "13", "9")})
        self.expect_few_writes()

        # An edit that contradicts itself is told of, at the next attempt on a pod: in an event of the quota, and in the log.
        self.quota("odd", min={"cpu": "9"}, max={"cpu": "8"}, parent="nowhere")
        self.pods("a", 6, 7)
        texts = ["spec.min[cpu] is 9, more than spec.max, 8", 'there is no quota "nowhere"']
        self.expect_event("odd", texts)
        self.expect_condition("odd", texts)

    def expect_condition(self, name, texts):
        def is_there():
            conditions = self.cluster.api.get(KIND, name).get("status", {}).get("conditions", [])
            return any(condition["type"] == "Consistent" and condition["status"] == "False" and condition["reason"] == "ContradictoryQuota"
                       and all(text in condition["message"] for text in texts) for condition in conditions)

        wait_until("the condition", is_there, 40)

    def expect_event(self, name, texts):
        uid = self.cluster.api.get(KIND, name)["metadata"]["uid"]

        def is_there():
            events = [event for event in self.cluster.api.list("events.k8s.io/v1/Event", "default")[0]
                      if event.get("regarding", {}).get("uid") == uid]
            return any(event["reason"] == "ContradictoryQuota" and event["type"] == "Warning" and all(text in event["note"] for text in texts)
                       for event in events)

        wait_until("the event", is_there, 40)

    def expect_few_writes(self):
        written = collections.defaultdict(list)
        with open(self.cluster.path("logs", "audit.log"), encoding="utf-8") as audit:
            for line in audit:
                event = json.loads(line)
                of = event.get("objectRef", {})
                if of.get("resource") == "clusterquotas" and of.get("subresource") == "status" and "responseStatus" in event:
                    self.assertEqual(event["responseStatus"].get("code"), 200)
                    written[of["name"]].append(datetime.datetime.fromisoformat(
                        event["requestReceivedTimestamp"].replace("Z", "+00:00")))
        self.assertEqual(set(written), {"department", "team-a", "team-b"})
        for name, times in written.items():
            times.sort()
            apart = [(later - earlier).total_seconds() for earlier, later in zip(times, times[1:])]
            self.assertGreater(min(apart, default=PAUSE_SECONDS), PAUSE_SECONDS - 1, name)  # a request may take its time


if __name__ == "__main__":
    unittest.main(verbosity=2)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`berth run` as a process: who leads, beside another Berth and beside kube-scheduler, what it shows, and how it ends.

    run_test.py BERTH
"""
import os
import re
import signal
import ssl
import sys
import time
import unittest
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api import ApiError  # noqa: E402
from cluster import Cluster, make_nodes  # noqa: E402
from processes import wait_until  # noqa: E402

BERTH = os.path.abspath(sys.argv.pop()) if len(sys.argv) > 1 else "build/release/berth"
METRICS_PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "metrics.md")
LEASE_SECONDS = 4


def configuration(lease, **more):
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": True, "leaseDuration": "%ds" % LEASE_SECONDS, "renewDeadline": "3s",
                               "retryPeriod": "500ms", "resourceName": lease}, **more}


def pod(name):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "100m"}}}]}}


class RunTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=make_nodes(3, pods="1000")).__enter__()
        # Leases of other names than kube-scheduler's are beyond its rules.
        cls.kubeconfig = cls.cluster.kubeconfig_of("leaders", "leaders", "system:masters")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def setUp(self):
        self.lease = self.id().split(".")[-1].replace("_", "-")
        self.started = []

    def tearDown(self):
        for process in self.started:
            if process.running:
                process.stop()

    def start(self, name, berth=True, **more):
        process = self.cluster.start_scheduler("%s-%s" % (self.lease, name), [BERTH, "run"] if berth else None,
                                               config=configuration(self.lease, **more), kubeconfig=self.kubeconfig,
                                               flags=["-v=4"])
        self.started.append(process)
        return process

    def holder(self):
        try:
            lease = self.cluster.api.get("coordination.k8s.io/v1/Lease", self.lease, "kube-system")
            return lease["spec"].get("holderIdentity", "")
        except ApiError as e:
            if e.status != 404:
                raise
            return ""

    def wait_for_holder(self, other_than, seconds):
        return wait_until("another leads", lambda: self.holder() not in ("", other_than) and self.holder(), seconds)

    def expect_placed(self, name, seconds=10):
        self.cluster.api.create(pod("%s-%s" % (self.lease, name)))
        wait_until("%s is placed" % name, lambda: self.cluster.api.get(
            "v1/Pod", "%s-%s" % (self.lease, name), "default")["spec"].get("nodeName"), seconds)

    def log_of(self, process):
        with open(process.log) as f:
            return f.read()

    def test_a_standby_is_ready_and_takes_over_at_once(self):
        first = self.start("first")
        self.expect_placed("one")
        leader = self.holder()
        second = self.start("second")  # ready, though it does not lead
        time.sleep(LEASE_SECONDS + 1)
        self.assertEqual(self.holder(), leader)
        self.assertNotIn("Scheduling starts", self.log_of(second))
        began = time.monotonic()
        self.assertEqual(first.stop(), 0)
        self.wait_for_holder(leader, LEASE_SECONDS)
        self.assertLess(time.monotonic() - began, LEASE_SECONDS)  # it was given back
        self.expect_placed("two")
        self.assertEqual(second.stop(), 0)
        self.assertEqual(self.holder(), "")

    def test_a_leader_that_was_killed_is_followed(self):
        first = self.start("first")
        self.expect_placed("one")
        self.start("second")
        leader = self.holder()
        first.kill()
        self.expect_placed("two", LEASE_SECONDS + 5)
        self.assertNotEqual(self.holder(), leader)

    def test_a_leader_whose_lease_was_taken_ends(self):
        first = self.start("first")
        self.expect_placed("one")
        leader = self.holder()
        second = self.start("second")
        first.signal(signal.SIGSTOP)
        self.wait_for_holder(leader, LEASE_SECONDS + 5)
        self.expect_placed("two")
        first.signal(signal.SIGCONT)
        wait_until("it ends", lambda: not first.running, 10)
        self.assertEqual(first.stop(), 1)
        self.assertIn("Leaderelection lost", self.log_of(first))
        self.assertNotIn("two", self.log_of(first))
        self.assertTrue(second.running)

    def test_kube_scheduler_and_berth_share_a_lease(self):
        kube = self.start("kube-scheduler", berth=False)
        wait_until("kube-scheduler leads", self.holder, 10)
        berth = self.start("berth")
        self.expect_placed("one")
        self.assertNotIn("Scheduling starts", self.log_of(berth))
        leader = self.holder()
        kube.stop()
        self.wait_for_holder(leader, LEASE_SECONDS + 5)
        self.expect_placed("two")
        self.assertIn("two", self.log_of(berth))
        leader = self.holder()
        kube.start()
        kube.wait_ready()
        time.sleep(LEASE_SECONDS + 1)
        self.assertEqual(self.holder(), leader)
        self.assertEqual(berth.stop(), 0)
        self.wait_for_holder(leader, LEASE_SECONDS)
        self.expect_placed("three")

    def test_bindings_that_wait_are_finished_at_the_end(self):
        pods = 1500
        names = ["%s-%d" % (self.lease, i) for i in range(pods)]
        for name in names:
            item = pod(name)
            item["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1m"
            item["metadata"]["labels"] = {"test": self.lease}
            self.cluster.api.create(item)

        def bound():
            return sum(bool(item["spec"].get("nodeName")) for item in
                       self.cluster.api.list("v1/Pod", "default", selector="test=" + self.lease)[0])
        # So slow that they all wait for more than a minute.
        berth = self.start("berth", clientConnection={"qps": 20, "burst": 20})
        wait_until("some are bound", lambda: bound() > 0, 30)
        before = bound()
        self.assertLess(before, pods - 1000)
        self.assertEqual(berth.stop(25), 0)
        self.assertEqual(bound(), pods)
        self.assertEqual(self.holder(), "")
        self.assertNotIn("Failed to bind pod", self.log_of(berth))
        events, _ = self.cluster.api.list("events.k8s.io/v1/Event", "default")
        self.assertFalse([e for e in events if e["reason"] == "FailedScheduling" and e["regarding"]["name"] in names])

    def test_who_became_leader_is_an_event(self):
        self.start("berth")
        self.expect_placed("one")
        events, _ = self.cluster.api.list("events.k8s.io/v1/Event", "kube-system")
        self.assertTrue(any(e["reason"] == "LeaderElection" and e["note"].endswith("became leader") and
                            e["regarding"]["name"] == self.lease for e in events), events)

    def metrics_of(self, process, path="/metrics"):
        """What an administrator is shown."""
        port = next(word.split("=")[1] for word in process.command if word.startswith("--secure-port="))
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        tls.load_cert_chain(*self.cluster._authority.client("admin", "admin", "system:masters"))
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=tls))
        with opener.open("https://127.0.0.1:%s%s" % (port, path)) as answer:
            return answer.read().decode()

    def test_what_it_shows_is_documented(self):
        berth = self.start("berth")
        self.expect_placed("one")
        time.sleep(2)  # the tables are brought up to date once a second
        with open(METRICS_PAGE) as f:
            documented = set(re.findall(r"`(\w+)`", f.read()))
        for path in ("/metrics", "/metrics/slis"):
            shown = re.findall(r"^# TYPE (\w+) ", self.metrics_of(berth, path), re.M)
            self.assertGreater(len(shown), 1)
            self.assertLessEqual(set(shown), documented)
        values = dict(line.rsplit(" ", 1) for line in self.metrics_of(berth).splitlines() if not line.startswith("#"))
        used = float(values['berth_heap_bytes{state="used"}'])  # by the allocator that the command is linked with
        self.assertLess(1e6, used)
        self.assertLess(used, float(values["process_resident_memory_bytes"]))
        self.assertEqual(float(values['leader_election_master_status{name="%s"}' % self.lease]), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The test cluster itself: kube-scheduler places pods, they run, and every part can fail and come back."""
import os
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api import ApiError, Client  # noqa: E402
from cluster import Cluster, make_nodes  # noqa: E402
from processes import ClusterError, wait_until  # noqa: E402

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
       "spec": {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}]}}


def deployment(name, replicas):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                     "template": {"metadata": {"labels": {"app": name}}, "spec": POD["spec"]}}}


class ClusterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        started = time.monotonic()
        cls.cluster = Cluster(nodes=make_nodes(10)).__enter__()
        print("a cluster of 10 nodes: %.1f s" % (time.monotonic() - started))
        cls.scheduler = cls.cluster.start_scheduler()

    @classmethod
    def tearDownClass(cls):
        processes = list(cls.cluster.processes.values())
        cls.cluster.stop()
        assert not any(os.path.exists("/proc/%d" % p.pid) for p in processes)
        assert not os.path.exists(cls.cluster.directory)

    def tearDown(self):
        api = self.cluster.api
        api.delete_all("apps/v1/Deployment")
        api.delete_all("apps/v1/StatefulSet")
        wait_until("the pods go", lambda: not api.list("v1/Pod", "default")[0], 60)

    def expect_running(self, app, count):
        def running():
            pods, _ = self.cluster.api.list("v1/Pod", "default", "app=" + app)
            return len(pods) == count and all(pod["status"]["phase"] == "Running" for pod in pods) and pods

        return wait_until("%d pods of %s run" % (count, app), running, 60)

    def test_a_deployment_runs(self):
        self.cluster.api.create(deployment("a", 20))
        pods = self.expect_running("a", 20)
        self.assertEqual(len({pod["spec"]["nodeName"] for pod in pods}), 10)  # spread evenly
        with open(self.cluster.path("logs", "audit.log")) as audit:
            self.assertIn('"username":"system:kube-scheduler"', audit.read())

    def test_the_scheduler_restarts(self):
        self.cluster.restart("kube-scheduler", kill=True)
        self.cluster.api.create(deployment("b", 5))
        self.expect_running("b", 5)

    def test_the_api_server_and_etcd_are_killed(self):
        self.cluster.api.create(deployment("c", 5))
        self.expect_running("c", 5)
        self.cluster.restart("etcd", kill=True)
        self.cluster.restart("kube-apiserver", kill=True)
        self.cluster.api.patch("apps/v1/Deployment", "c", {"spec": {"replicas": 8}})
        self.expect_running("c", 8)

    def test_a_service_account_may_nothing_until_it_is_allowed(self):
        kubeconfig = self.cluster.kubeconfig_of_service_account("kube-system", "berth")
        self.assertEqual(self.cluster.kubectl("auth", "can-i", "list", "pods", kubeconfig=kubeconfig, check=False), "no\n")
        self.cluster.kubectl("create", "clusterrolebinding", "berth", "--clusterrole=system:kube-scheduler",
                             "--serviceaccount=kube-system:berth")
        self.assertEqual(self.cluster.kubectl("auth", "can-i", "list", "pods", kubeconfig=kubeconfig), "yes\n")

    def test_custom_resources_have_a_status(self):
        api = self.cluster.api
        group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "g"},
                 "spec": {"minMember": 3}, "status": {"phase": "Running"}}
        self.assertNotIn("status", api.create(group))
        status = {"status": {"phase": "Pending", "running": 0}, "spec": {"minMember": 5}}
        after = api.patch("PodGroup", "g", status, subresource="status")
        self.assertEqual((after["status"]["phase"], after["spec"]["minMember"]), ("Pending", 3))
        self.assertIn("Pending", self.cluster.kubectl("get", "podgroup"))
        quota = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota", "metadata": {"name": "q"},
                 "spec": {"min": {"cpu": 4}, "max": {"cpu": "8", "example.com/gpu": "2"}}}
        api.create(quota)
        with self.assertRaisesRegex(ApiError, "minMember"):
            api.create({**group, "metadata": {"name": "h"}, "spec": {"minMember": 0}})

    def test_a_stateful_set_gets_volumes_on_the_nodes_of_its_pods(self):
        api = self.cluster.api
        self.cluster.start_provisioner()
        api.create({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"},
                    "provisioner": "tests.local/provisioner", "volumeBindingMode": "WaitForFirstConsumer"})
        stateful = deployment("d", 2)
        stateful["kind"] = "StatefulSet"
        stateful["spec"]["volumeClaimTemplates"] = [{
            "metadata": {"name": "data"},
            "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
                     "resources": {"requests": {"storage": "1Gi"}}}}]
        api.create(stateful)
        for pod in self.expect_running("d", 2):
            claim = api.get("v1/PersistentVolumeClaim", "data-" + pod["metadata"]["name"])
            self.assertEqual(claim["status"]["phase"], "Bound")
            self.assertEqual(claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"],
                             pod["spec"]["nodeName"])

    def test_only_who_has_a_certificate_comes_in(self):
        stranger = Client(self.cluster.server, self.cluster.path("certificates", "ca.crt"))
        with self.assertRaises(ApiError) as refused:
            stranger.list("v1/Pod")
        self.assertEqual(refused.exception.status, 403)
        stranger.close()


class FailureTest(unittest.TestCase):
    def test_what_does_not_start_says_why(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(ClusterError, "(?s)kube-apiserver ended with status 1.*no-such-flag"):
                with Cluster(directory=folder, apiserver_flags=["--no-such-flag"]) as cluster:
                    self.fail("it is up: %s" % cluster.server)

    def test_nothing_outlives_a_killed_test(self):
        here = os.path.dirname(os.path.abspath(__file__))
        program = ("import sys, os, signal; sys.path.insert(0, %r); from processes import Process\n"
                   "p = Process('p', ['sleep', '1000'], '/dev/null', dict(os.environ)); p.start()\n"
                   "print(p.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)") % here
        done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        pid = int(done.stdout)
        wait_until("the child ends", lambda: not running(pid), 5)


def running(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    unittest.main(verbosity=2)

# SPDX-License-Identifier: Apache-2.0
"""A control plane for measuring: etcd and an API server, nodes that nobody runs, and no controllers beside."""
import http.client
import os
import sys
import threading
import time

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TREE, "tests", "cluster"))
from api import ApiError  # noqa: E402,F401
from cluster import Cluster, make_node  # noqa: E402,F401
from processes import ClusterError, wait_until  # noqa: E402,F401

TICK = os.sysconf("SC_CLK_TCK")


def start_cluster(nodes):
    cluster = Cluster(controllers=False, apiserver_flags=["--max-requests-inflight=2000", "--max-mutating-requests-inflight=1000"])
    cluster.start()
    cluster.processes["kwok"].kill()  # nothing has to run
    del cluster.processes["kwok"]
    cluster.api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
    each([make_node("node-%d" % i, zone="z%d" % (i % 3), cpu="32", memory="128Gi", pods="110") for i in range(nodes)],
         cluster, create_node)
    return cluster


def create_node(api, node):
    api.create(node)
    api.patch("v1/Node", node["metadata"]["name"], {"spec": {"taints": []}})  # the server taints what is new


def each(items, cluster, work, threads=4):
    """Calls work(client, item) for all of them, from several threads."""
    items, lock, failed = iter(items), threading.Lock(), []

    def run():
        client = cluster.client("admin", "admin", "system:masters")
        while not failed:
            with lock:
                item = next(items, None)
            if item is None:
                break
            try:
                work(client, item)
            except Exception as e:
                failed.append(e)
        client.close()

    workers = [threading.Thread(target=run) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failed:
        raise failed[0]


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def peak_mib(pid):
    with open("/proc/%d/status" % pid) as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024


class Bound:
    """When each pod was seen to have a node, by name. The server may cut a watcher that is slow."""

    def __init__(self, cluster):
        self.at = {}
        self._api = cluster.client("observer", "observer", "system:masters")
        self._path = self._api.path_of("v1/Pod", None, "default")
        self._version = self._api.request("GET", self._path + "?limit=1")["metadata"]["resourceVersion"]
        self._ended = False
        threading.Thread(target=self._follow, daemon=True).start()

    def close(self):
        self._ended = True

    def _follow(self):
        while not self._ended:
            try:
                for kind, pod in self._api.watch(self._path, self._version, 3600):
                    if self._ended:
                        return
                    self._version = pod["metadata"]["resourceVersion"]
                    if kind in ("ADDED", "MODIFIED"):
                        self._see(pod)
            except ApiError as e:
                if e.status != 410:
                    raise
                answer = self._api.request("GET", self._path)
                self._version = answer["metadata"]["resourceVersion"]
                for pod in answer["items"]:
                    self._see(pod)
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)

    def _see(self, pod):
        if pod["spec"].get("nodeName"):
            self.at.setdefault(pod["metadata"]["name"], time.monotonic())


def configuration(*plugins):
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
              "clientConnection": {"qps": 5000, "burst": 10000}, "profiles": [{"schedulerName": "default-scheduler"}]}
    if "Coscheduling" in plugins:
        config["profiles"][0]["plugins"] = {"multiPoint": {"enabled": [{"name": "Coscheduling"}],
                                                           "disabled": [{"name": "PrioritySort"}]}}
    return config

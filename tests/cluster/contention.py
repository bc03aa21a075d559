#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two schedulers fill the same nodes at the same time: what happens when both want the last room of one.

    contention.py [--minutes 1] [--seed N] [--berth build/release/berth] [--pairs kube-scheduler+kube-scheduler ...]

Each scheduler has pods of its own, which come and go, together somewhat more than there is room for. What a kubelet does, this
program does here: a pod that no longer fits on its node when it arrives is failed, with the reason OutOfcpu. For each pair it prints
how many pods each scheduler placed, and how many of them were failed. kube-scheduler beside kube-scheduler is what to compare with.
"""
import argparse
import collections
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api import ApiError  # noqa: E402
from cluster import TREE, Cluster, make_nodes  # noqa: E402
from soak import Load, cpu_of  # noqa: E402

NODE_CPU = 8
PAIRS = ["kube-scheduler+kube-scheduler", "berth+kube-scheduler", "berth+berth"]


class Kubelets:
    """Admits pods in the order in which they are bound, as the kubelets of their nodes do, and counts."""

    def __init__(self, api):
        self.placed, self.failed = collections.Counter(), collections.Counter()  # by schedulerName
        self._api = api
        self._used, self._admitted = collections.Counter(), {}
        items, version = api.list("v1/Pod", "default")
        assert not items
        threading.Thread(target=self._follow, args=(version,), daemon=True).start()

    def _follow(self, version):
        for kind, pod in self._api.watch(self._api.path_of("v1/Pod", None, "default"), version, 3600):
            if kind == "BOOKMARK":
                continue
            uid, node = pod["metadata"]["uid"], pod["spec"].get("nodeName")
            if kind == "DELETED":
                if uid in self._admitted:
                    self._used[self._admitted.pop(uid)] -= cpu_of(pod)
            elif node and uid not in self._admitted and pod["status"]["phase"] == "Pending":
                self._admit(uid, pod, node)

    def _admit(self, uid, pod, node):
        scheduler = pod["spec"]["schedulerName"]
        self.placed[scheduler] += 1
        if self._used[node] + cpu_of(pod) <= NODE_CPU * 1000:
            self._used[node] += cpu_of(pod)
            self._admitted[uid] = node
            return
        self.failed[scheduler] += 1
        self._admitted[uid] = None  # counted, and takes nothing
        self._used[None] += cpu_of(pod)
        try:
            self._api.patch("v1/Pod", pod["metadata"]["name"], {"status": {"phase": "Failed", "reason": "OutOfcpu"}}, subresource="status")
        except ApiError as e:
            if e.status != 404:
                raise


def run(pair, options):
    names = pair.split("+")
    with Cluster(nodes=make_nodes(options.nodes, cpu=str(NODE_CPU))) as cluster:
        loads = []
        for i, name in enumerate(names):
            scheduler = "scheduler-%d" % i
            command = [options.berth, "run"] if name == "berth" else None
            cluster.start_scheduler(scheduler, command, config={
                "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                "clientConnection": {"qps": 1000, "burst": 2000}, "profiles": [{"schedulerName": scheduler}]})
            loads.append(Load(cluster.client("load-%d" % i, "load", "system:masters"), NODE_CPU * 500 * options.nodes,
                              options.seed + i, options.rate, gangs=0, scheduler=scheduler, prefix="pod-%d-" % i))
        kubelets = Kubelets(cluster.client("kubelets", "kubelets", "system:masters"))
        for load in loads:
            load.start()
        time.sleep(options.minutes * 60)
        for load in loads:
            load.ended.set()
        for load in loads:
            load.join()
        for i, name in enumerate(names):
            placed, failed = kubelets.placed["scheduler-%d" % i], kubelets.failed["scheduler-%d" % i]
            print("| %s | %s | %d | %d | %.2f %% |" % (pair, name, placed, failed, 100 * failed / max(placed, 1)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--rate", type=float, default=60, help="pods and deletions a second, of each scheduler")
    parser.add_argument("--pairs", nargs="+", default=PAIRS, choices=PAIRS)
    parser.add_argument("--berth", default=os.path.join(TREE, "build/release/berth"))
    options = parser.parse_args()
    print("| pair | scheduler | placed | failed by the kubelet | |\n|---|---|---:|---:|---:|", flush=True)
    for pair in options.pairs:
        run(pair, options)


if __name__ == "__main__":
    main()

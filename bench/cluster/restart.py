#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How soon a scheduler that is started on a full cluster makes its first decision, and what becomes of pods that wait when it is
killed.

    restart.py [--nodes 5000] [--pods 150000] [--pending 1000] [--berth build/release/berth] [--kube-scheduler]

Prints how long the API server takes to send the lists of pods and nodes to a client that throws them away, the time from the start
of the process to the first binding, and the memory then. It may take 10 s or 1.2 times as long as the lists, whichever is more.
Then the process is killed with -9 while it binds `--pending` pods, and started again: each is bound, and none twice (the API server's
audit log). Exit status 1 if one of these does not hold.
"""
import argparse
import collections
import glob
import http.client
import json
import os
import ssl
import sys
import time

from common import TREE, Bound, configuration, cpu_seconds, each, peak_mib, start_cluster, wait_until

LIMIT_SECONDS, LIMIT_OF_LISTS = 10, 1.2


def running(i, nodes):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "running-%d" % i, "labels": {"app": "app-%d" % (i % 300)}},
            "spec": {"nodeName": "node-%d" % (i % nodes), "containers": [
                {"name": "c", "image": "registry.example/app:%d" % (i % 50), "resources": {
                    "requests": {"cpu": "100m", "memory": "128Mi"}}}]}}


def waiting(name):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [
        {"name": "c", "image": "x", "resources": {"requests": {"cpu": "10m"}}}]}}


def list_seconds(cluster):
    """Of pods and nodes in protobuf, each in one answer from the API server's cache; thrown away."""
    tls = ssl.create_default_context(cafile=cluster._authority.path("ca.crt"))
    tls.load_cert_chain(*cluster._authority.client("admin", "admin", "system:masters"))
    connection = http.client.HTTPSConnection(cluster.server.split("//")[1], context=tls, timeout=300)
    begin, size = time.monotonic(), 0
    for path in ("/api/v1/pods?resourceVersion=0", "/api/v1/nodes?resourceVersion=0"):
        connection.request("GET", path, headers={"Accept": "application/vnd.kubernetes.protobuf"})
        answer = connection.getresponse()
        while True:
            chunk = answer.read(1 << 20)
            if not chunk:
                break
            size += len(chunk)
    return time.monotonic() - begin, size


def first_binding(cluster, name, command, turn, limit):
    """Returns whether it came in time."""
    bound = Bound(cluster)
    pod = "first-%s-%d" % (name, turn)
    cluster.api.create(waiting(pod))
    started = time.monotonic()
    process = cluster.start_scheduler(name, command, config=configuration(), wait=False)
    wait_until("the first binding", lambda: pod in bound.at, 600, 0.01)
    seconds = bound.at[pod] - started
    verdict = "holds" if seconds <= limit else "DOES NOT HOLD"
    print("%s: first binding after %.2f s (%s: %.1f s are allowed), %.0f MiB, %.1f CPU s" % (
        name, seconds, verdict, limit, peak_mib(process.pid), cpu_seconds(process.pid)), flush=True)
    process.stop()
    bound.close()
    return seconds <= limit


def killed(cluster, name, command, pending):
    """With -9 when a third of the pods are bound. Returns whether all were bound in the end, once each."""
    bound = Bound(cluster)
    pods = ["waits-%s-%d" % (name, i) for i in range(pending)]
    each(map(waiting, pods), cluster, lambda api, pod: api.create(pod))
    process = cluster.start_scheduler(name, command, config=configuration(), wait=False)
    wait_until("a third is bound", lambda: sum(pod in bound.at for pod in pods) >= pending // 3, 600, 0.002)
    process.kill()
    time.sleep(1)  # what it had sent arrives
    before = sum(pod in bound.at for pod in pods)
    process.start()
    began = time.monotonic()
    wait_until("all are bound", lambda: all(pod in bound.at for pod in pods), 600, 0.05)
    seconds = time.monotonic() - began
    process.stop()
    bound.close()
    made, refused = collections.Counter(), 0
    for name_of in glob.glob(cluster.path("logs", "audit*.log")):  # the server begins a new one now and then
        with open(name_of) as audit:
            for line in audit:
                if '"subresource":"binding"' in line and "waits-%s-" % name in line:
                    event = json.loads(line)
                    made[event["objectRef"]["name"]] += event["responseStatus"]["code"] == 201
                    refused += event["responseStatus"]["code"] != 201
    # All are bound; of a request that was cut off by the kill the log may not tell how it ended.
    once = all(count <= 1 for count in made.values())
    print("%s: killed with %d of %d pods bound; the others %.1f s after the next start; %d bindings refused; none bound twice: %s" % (
        name, before, pending, seconds, refused, "holds" if once else "DOES NOT HOLD"), flush=True)
    return once and before < pending


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=150000)
    parser.add_argument("--pending", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--berth", default=os.path.join(TREE, "build/release/berth"))
    parser.add_argument("--kube-scheduler", action="store_true", help="measure it too")
    options = parser.parse_args()
    cluster = start_cluster(options.nodes)
    verdicts = []
    try:
        begin = time.monotonic()
        each((running(i, options.nodes) for i in range(options.pods)), cluster, lambda api, pod: api.create(pod))
        print("%d nodes and %d pods were created in %.0f s" % (options.nodes, options.pods, time.monotonic() - begin), flush=True)
        schedulers = {"berth": [options.berth, "run"]}
        if options.kube_scheduler:
            schedulers["kube-scheduler"] = None
        for turn in range(options.runs):
            seconds, size = list_seconds(cluster)
            limit = max(LIMIT_SECONDS, LIMIT_OF_LISTS * seconds)
            print("the lists alone: %.2f s, %.0f MiB" % (seconds, size / 2**20), flush=True)
            for name, command in schedulers.items():
                good = first_binding(cluster, name, command, turn, limit)
                verdicts += [good] if name == "berth" else []
        for name, command in schedulers.items():
            good = killed(cluster, name, command, options.pending)
            verdicts += [good] if name == "berth" else []
    finally:
        cluster.stop()
    sys.exit(0 if all(verdicts) else 1)


if __name__ == "__main__":
    main()

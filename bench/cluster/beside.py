#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Berth and kube-scheduler in turn on one API server: the same pods, created while the scheduler works.

    beside.py [--nodes 2000] [--pods 10000] [--kinds alike mixed gangs] [--runs 2] [--seed N] [--berth build/release/berth]
              [--pending]

For each run: pods a second from the first creation to the last binding, how many a second were made, CPU seconds and peak memory of
the scheduler, and how long pods waited from creation to binding. Where pods are placed as fast as they are made, the creator is the
limit: with --pending they are all there before the scheduler starts, and all times count from its start.

At the end a table compares the medians of the runs with what is promised, and the exit status is 1 if a promise does not hold.
kube-scheduler has no gangs; it places their pods one by one.
"""
import argparse
import collections
import random
import statistics
import sys
import time

import os
from common import TREE, ApiError, Bound, configuration, cpu_seconds, each, peak_mib, start_cluster, wait_until

GROUP_LABEL = "scheduling.x-k8s.io/pod-group"


def pods_of(kind, count, seed):
    chance = random.Random(seed)
    for i in range(count):
        cpu, memory, labels, spec = 500, 512, {"app": "web"}, {}
        if kind == "mixed":
            cpu, memory = chance.randrange(50, 2000), chance.randrange(64, 4096)
            labels = {"app": "app-%d" % chance.randrange(200)}
            rule = chance.random()
            if rule < 0.1:
                spec["nodeSelector"] = {"topology.kubernetes.io/zone": "z%d" % chance.randrange(3)}
            elif rule < 0.2:
                spec["topologySpreadConstraints"] = [{"maxSkew": 5, "topologyKey": "topology.kubernetes.io/zone",
                                                      "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": labels}}]
            elif rule < 0.3:
                spec["affinity"] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 10, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname",
                                                       "labelSelector": {"matchLabels": labels}}}]}}
        elif kind == "gangs":
            labels = {GROUP_LABEL: "gang-%d" % (i // 16)}
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "%s-%d" % (kind, i), "labels": labels},
               "spec": {"containers": [{"name": "c", "image": "x", "resources": {
                   "requests": {"cpu": "%dm" % cpu, "memory": "%dMi" % memory}}}], "terminationGracePeriodSeconds": 0, **spec}}


def run(cluster, scheduler, command, kind, options, seed):
    groups = -(-options.pods // 16) if kind == "gangs" else 0
    each([{"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "gang-%d" % i},
           "spec": {"minMember": min(16, options.pods - 16 * i)}} for i in range(groups)], cluster, lambda api, item: api.create(item))
    gangs = kind == "gangs" and scheduler == "berth"
    created = {}

    def create(api, pod):
        created[pod["metadata"]["name"]] = time.monotonic()
        api.create(pod)

    def start(wait):
        rules = cluster.install_rules() if scheduler == "berth" else None  # kube-scheduler's user may not read groups
        return cluster.start_scheduler(scheduler, command, config=configuration(*["Coscheduling"] * gangs), kubeconfig=rules, wait=wait)

    def make():
        began = time.monotonic()
        each(pods_of(kind, options.pods, seed), cluster, create)
        return time.monotonic() - began

    if options.pending:
        made = make()
        bound = Bound(cluster)
        begin, cpu_before = time.monotonic(), 0
        created = dict.fromkeys(created, begin)
        process = start(wait=False)
    else:
        process = start(wait=True)
        bound = Bound(cluster)
        time.sleep(2)
        begin, cpu_before = time.monotonic(), cpu_seconds(process.pid)
        made = make()
    wait_until("all pods are bound", lambda: len(bound.at) == options.pods, 600, 0.1)
    seconds = max(bound.at.values()) - begin
    cpu, memory = cpu_seconds(process.pid) - cpu_before, peak_mib(process.pid)
    waits = sorted(bound.at[name] - at for name, at in created.items())
    process.stop()
    bound.close()
    for kind_of in ("v1/Pod", "scheduling.x-k8s.io/v1alpha1/PodGroup"):
        delete_all(cluster.api, kind_of)
    wait_until("the pods are gone", lambda: not cluster.api.list("v1/Pod", "default")[0], 300, 0.5)
    return {"pods/s": options.pods / seconds, "made/s": options.pods / made, "CPU s per 10,000": cpu * 10000 / options.pods,
            "peak MiB": memory, "p50 ms": 1000 * waits[len(waits) // 2], "p99 ms": 1000 * waits[len(waits) * 99 // 100]}


def delete_all(api, kind):
    """Ten thousand may take longer than a client waits for an answer."""
    while True:
        try:
            return api.delete_all(kind, grace_seconds=0)
        except TimeoutError:
            continue
        except ApiError as e:
            if e.status != 504:
                raise


# Of each: Berth's amount divided by kube-scheduler's, and what that has to be.
PROMISES = [("pods/s", "at least", 1), ("CPU s per 10,000", "at most", 0.2), ("peak MiB", "at most", 0.5), ("p99 ms", "at most", 1)]


NOISE = 0.05  # of pods a second, where the creator is the limit and not the scheduler


def creator_is_limit(results, kind, pending):
    return not pending and all(statistics.median(run["pods/s"] / run["made/s"] for run in results[kind, name]) > 0.9
                               for name in ("berth", "kube-scheduler"))


def verdicts(results, pending):
    """Prints the table; returns whether every promise holds."""
    good = True
    print("\n| pods | | Berth / kube-scheduler, medians | promised | |\n|---|---|---:|---:|---|")
    for kind in dict.fromkeys(kind for kind, _ in results):
        for what, sense, limit in PROMISES:
            ours, theirs = (statistics.median(run[what] for run in results[kind, name]) for name in ("berth", "kube-scheduler"))
            if what == "pods/s" and creator_is_limit(results, kind, pending):
                limit -= NOISE
            holds = ours / theirs >= limit if sense == "at least" else ours / theirs <= limit
            good = good and holds
            print("| %s | %s | %.2f | %s %.2f | %s |" % (kind, what, ours / theirs, sense, limit, "holds" if holds else "DOES NOT HOLD"))
        if creator_is_limit(results, kind, pending):
            print("| %s | the creator is the limit, for both | | | |" % kind)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=2000)
    parser.add_argument("--pods", type=int, default=10000)
    parser.add_argument("--kinds", nargs="+", default=["alike", "mixed", "gangs"], choices=["alike", "mixed", "gangs"])
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--berth", default=os.path.join(TREE, "build/release/berth"))
    parser.add_argument("--pending", action="store_true", help="the pods are there before the scheduler starts")
    options = parser.parse_args()
    results = collections.defaultdict(list)
    cluster = start_cluster(options.nodes)
    try:
        schedulers = {"berth": [options.berth, "run"], "kube-scheduler": None}
        print("| pods | scheduler | " + " | ".join(["pods/s", "made/s", "CPU s per 10,000", "peak MiB", "p50 ms", "p99 ms"]) + " |")
        print("|---|---|" + "---:|" * 6, flush=True)
        for kind in options.kinds:
            for turn in range(options.runs):
                for name, command in schedulers.items():
                    measured = run(cluster, name, command, kind, options, options.seed + turn)
                    results[kind, name].append(measured)
                    print("| %s | %s | " % (kind, name) + " | ".join("%.1f" % value for value in measured.values()) + " |", flush=True)
    finally:
        cluster.stop()
    sys.exit(0 if verdicts(results, options.pending) else 1)


if __name__ == "__main__":
    main()

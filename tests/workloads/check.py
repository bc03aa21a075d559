#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Schedules a generated cluster and checks what must hold of any result.

    check.py BERTH [--gpus-in-use SHARE] [--all-bound] [--expect BOUND/PENDING/EVICTED] WORKLOAD [generator's flags]

Every group has its minimum of pods on nodes, or none; no node's CPU, memory or GPUs are given out twice; groups that want one domain are in one. The configuration is
the workload's own.
"""
import argparse
import collections
import json
import subprocess
import sys
import tempfile

sys.path.insert(0, "bench/workloads")
from workloads import WORKLOADS  # noqa: E402

GPU = "nvidia.com/gpu"


RESOURCES = ("cpu", "memory", GPU)
UNITS = {"m": 1, "Ki": 1000 << 10, "Mi": 1000 << 20, "Gi": 1000 << 30}


def thousandths(quantity):
    for unit, size in UNITS.items():
        if str(quantity).endswith(unit):
            return int(quantity[:-len(unit)]) * size
    return 1000 * int(quantity)


def amounts(resources):
    return collections.Counter({name: thousandths(resources[name]) for name in RESOURCES if name in resources})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("berth")
    parser.add_argument("--gpus-in-use", type=float, default=0)
    parser.add_argument("--all-bound", action="store_true")
    parser.add_argument("--expect", help="numbers of pods")
    options, workload = parser.parse_known_args()
    config = "bench/workloads/configs/%s.yaml" % WORKLOADS[workload[0]].config

    generate = [sys.executable, "bench/workloads/generate.py", *workload]
    with tempfile.NamedTemporaryFile() as cluster:
        subprocess.run([*generate, "-o", cluster.name], check=True)
        lines = subprocess.run([*generate, "--format", "jsonl"], check=True, capture_output=True, text=True)
        objects = [json.loads(line) for line in lines.stdout.splitlines()]
        out = subprocess.run([options.berth, "simulate", "--config", config, "--cluster",
                              cluster.name, "-o", "json"], check=True, capture_output=True, text=True)
    result = json.loads(out.stdout)

    failures = []
    capacity = {o["metadata"]["name"]: amounts(o["status"]["allocatable"])
                for o in objects if o["kind"] == "Node"}
    evicted = set(result["evicted"])
    node_of = {p["pod"]: p["node"] for p in result["placements"]}
    used = collections.defaultdict(collections.Counter)
    for o in objects:
        if o["kind"] != "Pod":
            continue
        name = "%s/%s" % (o["metadata"]["namespace"], o["metadata"]["name"])
        node = node_of.get(name) or o["spec"].get("nodeName")
        if node and name not in evicted:
            for container in o["spec"]["containers"]:
                used[node] += amounts(container.get("resources", {}).get("requests", {}))
    for node, given in used.items():
        for name, amount in given.items():
            if amount > capacity[node][name]:
                failures.append("%s has %s/1000 of %s and gives out %s" % (node, capacity[node][name], name, amount))
    for group in result["groups"]:
        if 0 < group["bound"] < group["minMember"]:
            failures.append("group %s runs in part: %s" % (group["group"], group))
    labels = {o["metadata"]["name"]: o["metadata"]["labels"] for o in objects if o["kind"] == "Node"}
    members = collections.defaultdict(list)  # nodes, by group; with those of the groups below it
    above = {o["metadata"]["name"]: o["spec"].get("parentCompositePodGroupName") for o in objects
             if o["kind"] in ("PodGroup", "CompositePodGroup")}
    for o in objects:
        group = o["spec"].get("schedulingGroup", {}).get("podGroupName") if o["kind"] == "Pod" else None
        node = node_of.get("%s/%s" % (o["metadata"]["namespace"], o["metadata"]["name"])) if group else None
        while node and group:
            members[group].append(node)
            group = above[group]
    for o in objects:
        for wish in o.get("spec", {}).get("schedulingConstraints", {}).get("topology", []):
            name = o["metadata"]["name"]
            domains = {labels[node].get(wish["key"]) for node in members[name]}
            if len(domains) > 1 or None in domains:
                failures.append("group %s is in %s" % (name, sorted(map(str, domains))))
    share = sum(given[GPU] for given in used.values()) / max(1, sum(each[GPU] for each in capacity.values()))
    if share < options.gpus_in_use:
        failures.append("%.1f %% of the GPUs are in use" % (100 * share))
    if options.all_bound and result["summary"]["pending"]:
        failures.append("%d pods are pending" % result["summary"]["pending"])
    counts = "/".join(str(result["summary"][each]) for each in ("bound", "pending", "evicted"))
    if options.expect and counts != options.expect:
        failures.append("%s pods are bound/pending/evicted, not %s" % (counts, options.expect))
    print("%s, %.1f %% of the GPUs in use" % (result["summary"], 100 * share))
    for failure in failures:
        print("FAILED:", failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what kube-scheduler asks an extender, on the test cluster of tests/cluster: recorded/NAME.json has the cluster at
the start, the requests in order, and where the pods went.

    record.py [NAME...]
"""
import json
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cluster"))
from api import ApiError  # noqa: E402
from cluster import Cluster, make_node  # noqa: E402
from go_extender import GoExtender, build  # noqa: E402
from situations import SITUATIONS, configuration  # noqa: E402

QUIET_SECONDS = 6


def create(api, item):
    for _ in range(100):
        try:
            return api.create(item)
        except ApiError as e:
            if e.status != 403:  # admission has not seen the service account or the priority class yet
                raise
            time.sleep(0.1)
    raise TimeoutError(item["metadata"]["name"])


def clean(kind, item):
    item["metadata"].pop("managedFields", None)
    return {"apiVersion": "v1", "kind": kind, **item}


def without_managed_fields(value):
    if isinstance(value, dict):
        return {key: without_managed_fields(item) for key, item in value.items() if key != "managedFields"}
    return [without_managed_fields(item) for item in value] if isinstance(value, list) else value


def settle(read):
    """Until nothing has changed for some seconds."""
    last, since = None, time.monotonic()
    while time.monotonic() - since < QUIET_SECONDS:
        now = read()
        if now != last:
            last, since = now, time.monotonic()
        time.sleep(0.5)
    return last


def record(cluster, program, name):
    _, nodes, pods = SITUATIONS[name]
    api = cluster.api
    cluster.add_nodes([make_node(node, zone="z0") for node in nodes])
    for pod in pods:
        create(api, pod)

    def started():
        found = {p["metadata"]["name"]: p for p in api.list("v1/Pod", "default")[0]}
        return all(found[p["metadata"]["name"]]["status"].get("phase") == "Running" for p in pods if "nodeName" in p["spec"])

    while not started():
        time.sleep(0.2)
    # Each as the API server has it: kwok has marked the nodes as ready by now.
    start = [clean(kind, item) for kind in ("Node", "Pod") for item in api.list("v1/" + kind)[0]
             if item["metadata"].get("namespace", "default") == "default"]
    with tempfile.TemporaryDirectory() as folder, GoExtender(program, os.path.join(folder, "log")) as extender:
        scheduler = cluster.start_scheduler("kube-scheduler-" + name.replace("_", "-"), config=configuration(name, extender.url))

        def state():
            return len(extender.requests), {
                p["metadata"]["name"]: [p["spec"].get("nodeName"), p["status"].get("nominatedNodeName"),
                                        [c.get("message") for c in p["status"].get("conditions", [])
                                         if c["type"] == "PodScheduled"]]
                for p in api.list("v1/Pod", "default")[0]}

        _, pods_at_end = settle(state)
        scheduler.kill()
        requests = without_managed_fields(extender.requests)
    for pod in api.list("v1/Pod", "default")[0]:
        api.delete("v1/Pod", pod["metadata"]["name"], grace_seconds=0)
    for node in api.list("v1/Node")[0]:
        api.delete("v1/Node", node["metadata"]["name"])
    return {"start": start, "requests": requests, "end": pods_at_end}


def main():
    names = sys.argv[1:] or list(SITUATIONS)
    with tempfile.TemporaryDirectory() as folder, Cluster(crds=False) as cluster:
        program = os.path.join(folder, "extender")
        build(program)
        cluster.api.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                            "metadata": {"name": "important"}, "value": 1000})
        for name in names:
            made = record(cluster, program, name)
            with open(os.path.join(HERE, "recorded", name + ".json"), "w", encoding="utf-8") as file:
                json.dump(made, file, indent=1, sort_keys=True)
                file.write("\n")
            print(name, len(made["requests"]), made["end"], flush=True)


if __name__ == "__main__":
    main()

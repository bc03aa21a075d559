#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds `berth simulate` with a real extender in Go against what record.py has of kube-scheduler: the same requests, and the
pods on the same nodes, with the same words for one that has none.

    compare.py BERTH [NAME...]
"""
import json
import os
import re
import subprocess
import sys
import tempfile

from go_extender import GoExtender, build
from situations import SITUATIONS, configuration

HERE = os.path.dirname(os.path.abspath(__file__))
# Of kube-scheduler's objects, what Berth does not keep, and so does not send: docs/extenders.md.
NOT_SENT = re.compile(r"""
    \.metadata\.(managedFields|resourceVersion|generation|selfLink)
  | \.spec\.(dnsPolicy|enableServiceLinks|securityContext|serviceAccount|serviceAccountName)
  | \.spec\.(containers|initContainers)\.\d+\.(terminationMessagePath|terminationMessagePolicy|volumeMounts)
  | \.spec\.volumes\.\d+\.projected
  | \.status\.(daemonEndpoints|observedGeneration|hostIPs?|podIPs?|containerStatuses|initContainerStatuses|startTime)
  | \.status\.(nodeInfo|addresses|runtimeHandlers|features|declaredFeatures)
""", re.VERBOSE)
# What a simulated cluster writes with its own clock and in its own words.
OF_THE_CLUSTER = re.compile(r"\.status\.(conditions|phase|startTime)|\.metadata\.resourceVersion")


def leaves(value, path=""):
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, "%s.%s" % (path, key))
    elif isinstance(value, list) and value:
        for at, item in enumerate(value):
            yield from leaves(item, "%s.%d" % (path, at))
    else:
        yield path, value


def in_order(request):
    """Lists whose order means nothing, sorted."""
    request = json.loads(json.dumps(request))
    if request.get("NodeNames"):
        request["NodeNames"].sort()
    if request.get("Nodes"):
        request["Nodes"]["items"].sort(key=lambda node: node["metadata"]["name"])
    for kind, key in (("NodeNameToMetaVictims", lambda p: p["UID"]), ("NodeNameToVictims", lambda p: p["metadata"]["name"])):
        for victims in (request.get(kind) or {}).values():
            victims["Pods"].sort(key=key)
    return request


def differences(wanted, found):
    wanted, found = dict(leaves(in_order(wanted))), dict(leaves(in_order(found)))
    for path in sorted({**wanted, **found}):
        if OF_THE_CLUSTER.search(path) or wanted.get(path, None) == found.get(path, None) and path in wanted and path in found:
            continue
        if path not in found and (NOT_SENT.search(path) or wanted[path] in ({}, [], None, "")):
            continue
        yield "%s: kube-scheduler %s, Berth %s" % (path, json.dumps(wanted.get(path, "nothing")),
                                                   json.dumps(found.get(path, "nothing")))


def by_pod(requests):
    """The requests about each pod, in order: of pods that wait at the same time any may come first."""
    found = {}
    for entry in requests:
        request = entry["request"]
        name = request["PodName"] if "PodName" in request else request["Pod"]["metadata"]["name"]
        found.setdefault(name, []).append(entry)
    return found


def compare(berth, program, name):
    with open(os.path.join(HERE, "recorded", name + ".json"), encoding="utf-8") as file:
        recorded = json.load(file)
    with tempfile.TemporaryDirectory() as folder, GoExtender(program, os.path.join(folder, "log")) as extender:
        config, cluster = os.path.join(folder, "config.json"), os.path.join(folder, "cluster.json")
        with open(config, "w", encoding="utf-8") as file:
            json.dump(configuration(name, extender.url), file)
        with open(cluster, "w", encoding="utf-8") as file:
            json.dump({"apiVersion": "v1", "kind": "List", "items": recorded["start"]}, file)
        run = subprocess.run([berth, "simulate", "--config", config, "--cluster", cluster, "-o", "json"],
                             capture_output=True, text=True, timeout=120, check=False)
        if run.returncode != 0:
            yield "berth simulate ended with %d: %s%s" % (run.returncode, run.stdout, run.stderr)
            return
        requests = by_pod(extender.requests)
    wanted = by_pod(recorded["requests"])
    # A pod that fits nowhere is tried again and again: the rounds after the first are alike.
    for pod in sorted(set(wanted) | set(requests)):
        verbs = [entry["verb"] for entry in wanted.get(pod, [])]
        found = requests.get(pod, [])
        if [entry["verb"] for entry in found][:len(verbs)] != verbs or (not verbs and found):
            yield "%s: kube-scheduler asked %s, Berth %s" % (pod, verbs, [entry["verb"] for entry in found])
            continue
        for number, (one, other) in enumerate(zip(wanted.get(pod, []), found)):
            if one["contentType"] != other["contentType"]:
                yield "%s %d: %s" % (pod, number, other["contentType"])
            for difference in differences(one["request"], other["request"]):
                yield "%s %d %s%s" % (pod, number, one["verb"], difference)
    placements = {p["pod"].split("/")[1]: p for p in json.loads(run.stdout)["placements"]}
    for pod, (node, _, messages) in recorded["end"].items():
        placed = placements.get(pod)
        if name == "bind" or placed is None:  # nobody binds the pod there; a pod that runs already is not placed
            continue
        if placed["node"] != node:
            yield "%s: kube-scheduler placed it on %s, Berth on %s" % (pod, node, placed["node"])
        if node is None and messages[0] != placed["reason"]:
            yield "%s: kube-scheduler: %s\n Berth: %s" % (pod, messages[0], placed["reason"])


def main():
    berth, names = os.path.abspath(sys.argv[1]), sys.argv[2:] or list(SITUATIONS)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "extender")
        build(program)
        for name in names:
            found = list(compare(berth, program, name))
            print("%s: %s" % (name, "as kube-scheduler" if not found else "DIFFERS"))
            for difference in found[:20]:
                print("  " + difference)
            failed |= bool(found)
    sys.exit(failed)


if __name__ == "__main__":
    main()

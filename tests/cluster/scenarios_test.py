#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The scenarios of tests/scenarios/ on a real API server: those whose steps it can take, and whose expectations it can show.

    scenarios_test.py [--berth build/release/berth] [--part I/N] [--list] [FILE...]

The steps become requests: `create`, `update`, `delete`, `scale`, `finish`, `cordon`, `drain`, `taint`. `settle`, and `advance` of a
few seconds, wait until nothing changes any more. Each scenario has a scheduler of its own, which starts where time first passes and
so finds what was created before. Backoff is one second there, and a settled cluster is quiet for longer: a step that lets several
pods run finds none of them in backoff, so they are tried in their order. Time is real here, so a scenario that fails is tried a second
time when the machine has less to do; one that holds only then is named. At the end a table says how many hold, and why the others are
left out; --list prints only that. Exit status 1 if one does not hold.
"""
import argparse
import collections
import copy
import glob
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api import ApiError  # noqa: E402
from cluster import TREE, Cluster, built_programs, read_items, read_yaml  # noqa: E402
from processes import wait_until  # noqa: E402
from steps import Watch, as_list, condition  # noqa: E402

FOLDER = os.path.join(TREE, "tests", "scenarios")
MOST_SECONDS = 10  # that an `advance` may take
MOST_OBJECTS = 100
HOLD_SECONDS, QUIET_SECONDS = 20, 1.2
HELD_SECONDS = 0.4  # that an expectation has to hold
MOST_PRIORITY = 1000000000  # of those that are not the system's

TIME, FAULTS = "goes by simulated time", "faults are injected"
COUNTERS = "expects counters, or what explains waiting, and nothing else"
STEPS = {"at": TIME, "runTime": TIME, "failNode": TIME, "restoreNode": TIME, "loseNode": TIME, "failBinds": FAULTS, "slowBinds": FAULTS,
         "conflict": FAULTS, "bind": FAULTS, "relist": FAULTS, "restart": FAULTS, "faults": FAULTS}
# Not visible from outside, or in an order that a server does not keep.
UNSEEN = {"attempts", "bindings", "devices", "refusedBindings", "counters", "waitingFor"}
LEFT_OUT = {
    "koordinator_label": "has what no server takes",  # a kind of another group, and only a label of it
    # Two preemptors one right after the other read the same status: kube-scheduler spends a disruption twice then too.
    "disruption_budget_is_spent": "takes the controller of budgets to be as fast as the scheduler",
    "disruption_budget_counts_who_leaves_again": TIME,  # victims go at once
    "gang_own_nominations": TIME,  # a victim takes 200 s to go
    "item_01c_min_member_with_its_pods": "changes two objects at once",
    "item_04_gang_preempts_across_nodes": TIME,  # victims go at once
    "item_23_lost_work": TIME,  # checkpoints have a date
    "annotations_that_cannot_be_read": TIME,  # they are told of some seconds later
    "quota_contradictions": TIME,  # they are told of some seconds later; quota_status_test.py waits for that
    "quota_children_over_the_max": TIME,
    "item_21_namespaces_of_one_quota": TIME,
    # Pods end one after the other there: how many of a queue run then is the same, which ones is not.
    "item_22_splits_hold_over_time": "ends many pods at once",
    "import_kueue_cohort_tree": "ends many pods at once",
    "item_22_shares_by_attrition": "ends many pods at once",
    # Who of a queue gets the room that victims leave goes by whose backoff ends first.
    "item_22_shares_by_reclaim": "evicts many pods at once",
    "gpu_memory_shares": "adds a node and the pods on it at once, which come one after the other",
}
# Their pods or nodes are tried in the order in which they come. A scheduler that starts later finds them in that of their names.
IN_ORDER = {"gpu_records", "import_kai_over_quota", "import_kueue_borrowing", "import_kueue_borrowing_without_limit",
            "import_kueue_cohort_quota", "import_kueue_flavors", "import_kueue_resource_groups",
            "import_volcano_hierarchy", "import_yunikorn_fence", "import_yunikorn_no_guarantee", "import_yunikorn_priority_class",
            "item_22_splits_hold_over_time", "ties_go_to_the_first_node"}
# Why a group waits that is not whole: it is held before the queue, where pods get no condition (docs/parity.md).
HELD = re.compile(r"PodGroup \S+ not found|of \d+ are there")


# What the server of this test has; other kinds are for `simulate`.
SERVED = {"v1", "apps/v1", "batch/v1", "policy/v1", "storage.k8s.io/v1", "scheduling.k8s.io/v1", "resource.k8s.io/v1",
          "scheduling.x-k8s.io/v1alpha1", "scheduling.koordinator.sh/v1alpha1", "scheduling.berth.dev/v1alpha1"}
# Fields that a server of v1.35 drops with its default feature gates.
DROPPED = re.compile(r'"(schedulingGroup|workloadRef|sharedCounters|consumesCounters|allowMultipleAllocations|bindingConditions|extendedResourceName)":')


class Refused(Exception):
    """Says why a scenario is left out."""


# Reading.


class Scenario:
    """`steps` are those of the file; each `create` is a list of [(object, copies)…]."""

    def __init__(self, file, read):
        self.file = file
        self.name = os.path.basename(file)[:-len(".yaml")]
        self.config, self.steps = read.get("config"), read.get("steps", [])
        self.refused = "refused" in read

    def why_not(self):
        """Why it is left out; None if it is not."""
        if self.name in LEFT_OUT:
            return LEFT_OUT[self.name]
        if self.refused:
            return "is about a configuration that is refused"
        for step in self.steps:
            for key in step:
                if key in STEPS:
                    return STEPS[key]
            if seconds_of(step.get("advance", "0s")) > MOST_SECONDS:
                return TIME
            if any(step.get("expect", {}).get("nominated", {}).values()):  # victims go at once
                return TIME
        objects = [(item, step.get("copies", 1)) for step in self.steps for item in step.get("create", [])]
        if sum(copies for _, copies in objects) > MOST_OBJECTS:
            return "has more than %d objects" % MOST_OBJECTS
        for item, _ in objects:
            text = json.dumps(item)
            if item["apiVersion"] not in SERVED or DROPPED.search(text):
                return "has what this server does not take"
            if "simulation.berth/" in text:
                return TIME
            if "ownerReferences" in item["metadata"]:
                return "has owners that do not exist"
            if "deletionTimestamp" in item["metadata"] or "uid" in item["metadata"]:
                return "has what only a server writes: a uid, a time of deletion"
            if item["kind"] == "ClusterQuota" and "status" in item:  # a subresource: the server drops it
                return "has the status of a quota, which only a scheduler writes"
        if not any(set(step.get("expect", {})) - UNSEEN for step in self.steps):
            return COUNTERS
        return None


def seconds_of(text):
    return sum(float(number) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[unit]
               for number, unit in re.findall(r"([\d.]+)(ms|s|m|h)", text))


def read_scenarios(kubectl, files):
    """Two runs of kubectl for all of them."""
    texts = []
    for file in files:
        with open(file) as f:
            texts.append("apiVersion: tests/v1\nkind: Scenario\nmetadata: {name: read}\n" + f.read())
    scenarios = [Scenario(file, read) for file, read in zip(files, read_items(kubectl, "\n---\n".join(texts), FOLDER))]
    manifests = []  # (where its objects go, text)
    for scenario in scenarios:
        for step in scenario.steps:
            if "create" in step:
                text, step["create"] = step["create"], []
                if "\n" not in text.strip():
                    with open(os.path.join(FOLDER, text.strip())) as f:
                        text = f.read()
                manifests += [(step["create"], part) for part in re.split(r"^---\s*$", text, flags=re.MULTILINE) if part.strip()]
    items = read_items(kubectl, "\n---\n".join(text for _, text in manifests), FOLDER)
    assert len(items) == len(manifests)
    for (into, _), item in zip(manifests, items):
        into.append(item)
    return scenarios


# What the server wants to have.


def for_server(item):
    """The object as it can be created, and what else has to be there before."""
    item, before = copy.deepcopy(item), []
    if item["kind"] == "Node":
        status = item.setdefault("status", {})
        status["capacity"] = {**status.get("allocatable", {}), **status.get("capacity", {})}
        status["conditions"] = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
    elif item["kind"] == "PersistentVolume":
        if not set(item["spec"]) & {"hostPath", "local", "csi"}:
            item["spec"]["hostPath"] = {"path": "/nowhere"}
    elif item["kind"] == "Pod":
        spec = item["spec"]
        priority, policy = spec.pop("priority", 0), spec.pop("preemptionPolicy", None)
        if priority or policy:
            name = "value-%d%s" % (abs(priority), "-below-zero" if priority < 0 else "") + ("-%s" % policy.lower() if policy else "")
            before.append({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
                           "value": priority, **({"preemptionPolicy": policy} if policy else {})})
            spec["priorityClassName"] = name
        for container in spec["containers"]:
            resources = container.get("resources", {})
            for name, amount in resources.get("requests", {}).items():
                if "/" in name:  # the same has to be the limit
                    resources.setdefault("limits", {})[name] = amount
    return item, before


def key_of(text):
    """(kind, namespace, name) of "Kind namespace/name"."""
    kind, name = text.split()
    namespace, _, name = name.rpartition("/")
    return kind, namespace or "default", name


# Running.


class Run:
    def __init__(self, tester, scenario):
        self._tester, self._scenario, self._cluster, self._api = tester, scenario, tester.cluster, tester.cluster.api
        self._sets = {}  # by name: (objects, copies)
        self._first = len(tester.pods.events)
        self._scheduler = None
        self.wrong = []

    def run(self):
        if self._scenario.name in IN_ORDER:
            self._scheduler = self._tester.start_scheduler(self._scenario)
        for number, step in enumerate(self._scenario.steps, 1):
            self._do(step)
            if "settle" in step or "advance" in step:
                self._settle()
            if "expect" in step:
                self._expect(number, step["expect"])
            if self.wrong:
                break
        return self.wrong

    def end(self):
        if self._scheduler:
            self._scheduler.kill()

    def _do(self, step):
        copies = step.get("copies", 1)
        if "create" in step:
            if any(item["kind"] == "Pod" and not item["spec"].get("nodeName") for item in step["create"]):
                self._wait_for_budgets()
            for i in range(copies):
                self._create(step["create"], i)
            if "as" in step:
                self._sets[step["as"]] = [step["create"], copies]
        for name, count in step.get("scale", {}).items():
            items, there = self._sets[name]
            for i in range(there, count):
                self._create(items, i)
            for i in range(count, there):
                for item in reversed(items):
                    self._delete("%s %s/%s" % (item["kind"], item["metadata"].get("namespace", "default"),
                                               item["metadata"]["name"].replace("$(i)", str(i))), None)
            self._sets[name][1] = count
        for what, patch in step.get("update", {}).items():
            kind, namespace, name = key_of(what)
            parts = [({key: value for key, value in patch.items() if key != "status"}, None), ({"status": patch.get("status")}, "status")]
            for part, subresource in parts:
                if part and part != {"status": None}:
                    self._api.patch(kind, name, part, namespace, subresource)
        for what in as_list(step.get("delete", [])):
            self._delete(what, None if step.get("gracefully") else 0)
        for pod in as_list(step.get("finish", [])):
            self._patch_pod(pod, {"status": {"phase": "Succeeded"}}, "status")
        for key, value in (("cordon", True), ("drain", True), ("uncordon", None)):
            for node in as_list(step.get(key, [])):
                self._api.patch("Node", node, {"spec": {"unschedulable": value}})
                if key == "drain":
                    for pod in self._pods():
                        if pod["spec"].get("nodeName") == node:
                            self._delete("Pod %s/%s" % (pod["metadata"]["namespace"], pod["metadata"]["name"]), None)
        for node, taint in step.get("taint", {}).items():
            key, value, effect = re.fullmatch(r"([^=:]*)=?([^:]*):(.*)", taint).groups()
            taints = self._api.get("Node", node)["spec"].get("taints", [])
            self._api.patch("Node", node, {"spec": {"taints": [*taints, {"key": key, "value": value, "effect": effect}]}})
        for node, key in step.get("untaint", {}).items():
            taints = [taint for taint in self._api.get("Node", node)["spec"].get("taints", []) if taint["key"] != key]
            self._api.patch("Node", node, {"spec": {"taints": taints}})

    def _create(self, items, i):
        for item in items:
            item = json.loads(json.dumps(item).replace("$(i)", str(i)))
            item, before = for_server(item)
            for other in before:
                self._put(other)
            self._put(item)
            if item["kind"] == "Pod" and item.get("status", {}).get("phase") in ("Succeeded", "Failed"):
                self._patch_pod(item["metadata"]["name"], {"status": item["status"]}, "status")

    def _put(self, item):
        """Adds or replaces it."""
        kind, name = item["apiVersion"] + "/" + item["kind"], item["metadata"]["name"]
        namespace = item["metadata"].get("namespace", "default")
        self._tester.namespace(namespace)

        def created():
            try:
                return self._api.create(item)
            except ApiError as e:
                if e.status == 409 and "being deleted" not in str(e):
                    return replaced()
                if e.status not in (403, 409):  # admission has not seen the priority class yet
                    raise
                return None

        def replaced():
            try:
                return self._replace(kind, name, namespace, item)
            except ApiError as e:
                if e.status != 409:  # its status has been written meanwhile
                    raise
                return None

        wait_until("%s %s is admitted" % (kind, name), created, 10, 0.1)

    def _replace(self, kind, name, namespace, item):
        there = self._api.get(kind, name, namespace)
        if item["kind"] == "PriorityClass":
            return there
        item = {**item, "metadata": {**there["metadata"], **item["metadata"]}}
        if item["kind"] == "Node":  # what others have written stays
            kept = {key: value for key, value in there.get("spec", {}).items() if key not in ("taints", "unschedulable")}
            item["spec"] = {**kept, **item.get("spec", {})}
        changed = self._api.request("PUT", self._api.path_of(kind, name, namespace), item)
        if item["kind"] == "Node":
            item = {**changed, "status": {**changed["status"], **item["status"]}}
            self._api.request("PUT", self._api.path_of(kind, name, namespace, "status"), item)
        return changed

    def _delete(self, what, grace):
        kind, namespace, name = key_of(what)
        self._api.delete(kind, name, namespace, grace_seconds=grace)

    def _patch_pod(self, pod, patch, subresource=None):
        _, namespace, name = key_of("Pod " + pod)
        self._api.patch("v1/Pod", name, patch, namespace, subresource)

    def _wait_for_budgets(self):
        """Their controller has to have counted the pods that run."""
        if not any(item["kind"] == "PodDisruptionBudget" for step in self._scenario.steps for item in step.get("create", [])):
            return
        wait_until("pods run", lambda: all(condition(pod, "Ready").get("status") == "True" for pod in self._pods()
                                           if pod["spec"].get("nodeName")), 10, 0.1)
        self._settle(start=False)
        time.sleep(1.5)

    def _settle(self, start=True):
        if start and self._scheduler is None:
            self._scheduler = self._tester.start_scheduler(self._scenario)
        deadline, began = time.monotonic() + HOLD_SECONDS, time.monotonic()
        while time.monotonic() < deadline:
            if time.monotonic() - max(began, self._tester.pods.last) >= QUIET_SECONDS:
                return
            time.sleep(0.05)

    # Expectations.

    def _expect(self, number, wanted):
        deadline = time.monotonic() + HOLD_SECONDS
        held_since = None
        while True:
            wrong = self._failures(wanted)
            if wrong:
                held_since = None
                if time.monotonic() > deadline:
                    self.wrong += ["step %d: %s" % (number, text) for text in wrong]
                    return
            else:
                held_since = held_since or time.monotonic()
                if time.monotonic() > max(held_since + HELD_SECONDS, self._tester.pods.last + QUIET_SECONDS):
                    return
            time.sleep(0.1)

    def _pods(self):
        return self._api.list("v1/Pod")[0]

    def _failures(self, wanted):
        pods = {name_of(pod): pod for pod in self._pods()}
        evicted = self._evicted()
        ended = ("Succeeded", "Failed")
        bound = [pod for pod in pods.values() if pod["spec"].get("nodeName") and pod["status"]["phase"] not in ended]
        wrong = []

        def check(good, text, *values):
            if not good:
                wrong.append(text % values)

        def pod_of(name):
            pod = pods.get(full(name))
            check(pod, "there is no pod %s", name)
            return pod

        for key, value in wanted.items():
            if key in UNSEEN:
                continue
            if key == "placed":
                for name, node in value.items():
                    pod = pod_of(name)
                    on = pod and pod["spec"].get("nodeName")
                    check(not pod or on == node or (on and node == "*"), "expected %s on %s, it is on %s", name, node, on)
            elif key == "pending":
                for name, text in (value.items() if isinstance(value, dict) else ((name, "") for name in as_list(value))):
                    pod = pod_of(name)
                    if pod:
                        check(not pod["spec"].get("nodeName"), "expected %s to wait, it is on %s", name, pod["spec"].get("nodeName"))
                        if HELD.search(text):
                            continue
                        said = condition(pod, "PodScheduled")
                        check(said.get("status") == "False" and text in said.get("message", ""),
                              "expected %s to wait for %r, its condition is %s", name, text, said)
            elif key in ("together", "apart"):
                for names in value:
                    on = [pods.get(full(name), {"spec": {}})["spec"].get("nodeName") for name in names]
                    check(all(on) and len(set(on)) == (1 if key == "together" else len(on)), "expected %s %s: %s", names, key, on)
            elif key == "gone":
                for what in as_list(value):
                    check(not self._is_there(what), "expected %s to be gone", what)
            elif key == "nominated":
                for name, node in value.items():
                    pod = pod_of(name)
                    found = pod and pod["status"].get("nominatedNodeName", "")
                    check(not pod or found == node, "expected %s nominated for %r, not %r", name, node, found)
            elif key == "phase":
                for name, phase in value.items():
                    pod = pod_of(name)
                    check(not pod or pod["status"]["phase"] == phase, "expected %s to be %s", name, phase)
            elif key in ("annotations", "labels"):
                for name, texts in value.items():
                    pod = pod_of(name)
                    found = pod["metadata"].get(key, {}) if pod else {}
                    for text, content in texts.items():
                        check(not pod or found.get(text) == content, "expected %s with %s %s: %r, not %r", name, key, text, content,
                              found.get(text))
            elif key == "bound":
                check(is_count(len(bound), value), "expected %s pods with a node, not %d", value, len(bound))
            elif key == "unbound":
                count = sum(not pod["spec"].get("nodeName") for pod in pods.values())
                check(is_count(count, value), "expected %s pods without a node, not %d", value, count)
            elif key == "evictions":
                for name, number in (value.items() if isinstance(value, dict) else ((None, value),)):
                    count = sum(name is None or full(name) == other for other in evicted)
                    check(is_count(count, number), "expected %s evictions, not %d: %s", number, count, sorted(evicted))
            elif key == "evicted":
                check(sorted(evicted) == sorted(full(name) for name in as_list(value)), "expected %s to be evicted, not %s", value,
                      sorted(evicted))
            elif key == "events":
                for name, texts in value.items():
                    for text in as_list(texts):
                        check(self._was_said(name, text), "expected of %s an event %r", name, text)
            elif key == "conditions":
                for name, types in value.items():
                    pod = pod_of(name)
                    for type_, parts in types.items():
                        found = condition(pod, type_) if pod else {}
                        check(all(str(text) in found.get(part, "") if part == "message" else found.get(part, "") == text
                                  for part, text in parts.items()), "expected of %s the condition %s %s, not %s", name, type_, parts, found)
            elif key == "never":
                self._check_never(value, evicted, check)
            else:
                raise KeyError("expectation %s" % key)
        return wrong

    def _seen(self):
        return [(kind, pod) for kind, pod in self._tester.pods.events[self._first:]]

    def _evicted(self):
        """Every pod that a scheduler marked before it deleted it."""
        return {uid: name for uid, name in ((pod["metadata"]["uid"], name_of(pod)) for _, pod in self._seen()
                                            if condition(pod, "DisruptionTarget").get("reason") == "PreemptionByScheduler")}.values()

    def _is_there(self, what):
        kind, namespace, name = key_of(what)
        try:
            self._api.get(kind, name, namespace)
            return True
        except ApiError as e:
            if e.status != 404:
                raise
            return False

    def _was_said(self, name, text):
        reason, _, note = text.partition(": ")
        uids = {pod["metadata"]["uid"] for _, pod in self._seen() if name_of(pod) == full(name)}
        return any(event["reason"] == reason and note in event.get("note", "") for event in self._api.list("events.k8s.io/v1/Event")[0]
                   if event.get("regarding", {}).get("uid") in uids)

    def _check_never(self, value, evicted, check):
        nodes = collections.defaultdict(set)  # by pod, those that it was on
        for _, pod in self._seen():
            if pod["spec"].get("nodeName"):
                nodes[name_of(pod), pod["metadata"]["uid"]].add(pod["spec"]["nodeName"])
        for never in as_list(value):
            if never == "boundTwice":
                check(all(len(on) == 1 for on in nodes.values()), "a pod was bound twice: %s", nodes)
            elif never == "overcommitted" or "tried" in never:
                continue  # not visible from outside
            elif "bound" in never:
                for name in as_list(never["bound"]):
                    check(all(full(name) != pod for pod, _ in nodes), "%s was bound", name)
            elif "evicted" in never:
                for name in as_list(never["evicted"]):
                    check(full(name) not in evicted, "%s was evicted", name)
            else:
                for name, node in never["placed"].items():
                    check(all(full(name) != pod or node not in on for (pod, _), on in nodes.items()), "%s was on %s", name, node)


def full(name):
    return name if "/" in name else "default/" + name


def name_of(pod):
    return "%s/%s" % (pod["metadata"]["namespace"], pod["metadata"]["name"])


def is_count(number, wanted):
    if isinstance(wanted, str):
        sign, limit = re.fullmatch(r"(>=|<=)?\s*(\d+)", wanted).groups()
        return {">=": number >= int(limit), "<=": number <= int(limit), None: number == int(limit)}[sign]
    return number == wanted


class Tester:
    """A cluster, for one scenario after the other."""

    # Controllers that make pods again go first.
    KINDS = ["apps/v1/Deployment", "apps/v1/StatefulSet", "apps/v1/ReplicaSet", "batch/v1/Job", "v1/Pod",
             "v1/PersistentVolumeClaim", "policy/v1/PodDisruptionBudget", "scheduling.x-k8s.io/v1alpha1/PodGroup",
             "scheduling.x-k8s.io/v1alpha1/ElasticQuota", "resource.k8s.io/v1/ResourceClaim",
             "resource.k8s.io/v1/ResourceClaimTemplate"]
    CLUSTER_KINDS = ["resource.k8s.io/v1/ResourceSlice", "resource.k8s.io/v1/DeviceClass", "v1/PersistentVolume", "storage.k8s.io/v1/StorageClass", "scheduling.koordinator.sh/v1alpha1/Device", "v1/Node",
                     "scheduling.berth.dev/v1alpha1/ClusterQuota"]

    def __init__(self, cluster, berth):
        self.cluster, self._berth = cluster, berth
        self._namespaces = {"default"}
        self._count = 0
        cluster.api.create({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "devices.scheduling.koordinator.sh"},
            "spec": {"group": "scheduling.koordinator.sh", "scope": "Cluster",
                     "names": {"kind": "Device", "plural": "devices", "singular": "device", "listKind": "DeviceList"},
                     "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                         "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}})
        cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd/devices.scheduling.koordinator.sh")
        self.pods = Watch(cluster.api, "v1/Pod", None)

    def namespace(self, name):
        if name not in self._namespaces:
            self._namespaces.add(name)
            try:
                self.cluster.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            except ApiError as e:
                if e.status != 409:
                    raise

    def start_scheduler(self, scenario):
        config = scenario.config
        if config and "\n" in config.strip():
            config = read_yaml(self.cluster.program("kubectl"), config, scenario.file)
        elif config:
            config = self.cluster.read_yaml(os.path.join(FOLDER, config))
        else:
            config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        config["podMaxBackoffSeconds"] = config.get("podInitialBackoffSeconds", 1)
        # Of one name, so that one log and no more is kept.
        return self.cluster.start_scheduler("berth", [self._berth, "run", "-v=2"], config=config,
                                            kubeconfig=self.cluster.kubeconfig)

    def clean(self):
        api = self.cluster.api
        for namespace in self._namespaces:
            for kind in self.KINDS:
                api.delete_all(kind, namespace, grace_seconds=0)
        for kind in self.CLUSTER_KINDS:
            api.delete_all(kind, None, grace_seconds=0)
        for item in api.list("scheduling.k8s.io/v1/PriorityClass")[0]:
            if not item["metadata"]["name"].startswith("system-"):
                api.delete("scheduling.k8s.io/v1/PriorityClass", item["metadata"]["name"])
        wait_until("all is deleted", lambda: not any(api.list(kind)[0] for kind in self.KINDS + self.CLUSTER_KINDS), 30, 0.1)

    def run(self, scenario):
        """What is wrong; nothing if it holds."""
        run = Run(self, scenario)
        began = time.monotonic()
        try:
            wrong = run.run()
        except (ApiError, OSError) as e:
            wrong = ["%s" % e]
        finally:
            run.end()
        self.clean()
        print("%-5s %s (%.1f s)" % ("holds" if not wrong else "FAILS", scenario.name, time.monotonic() - began), flush=True)
        for text in wrong:
            print("      " + text, flush=True)
        return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--berth", default=os.path.join(TREE, "build/release/berth"))
    parser.add_argument("--part", default="1/1", help="of N parts of the scenarios that can run, the I-th: I/N")
    parser.add_argument("--list", action="store_true", help="only says what runs and what is left out")
    options = parser.parse_args()
    files = options.files or sorted(glob.glob(os.path.join(FOLDER, "*.yaml")))
    cluster = Cluster(apiserver_flags=["--disable-admission-plugins=TaintNodesByCondition,ServiceAccount"])
    scenarios = read_scenarios(os.path.join(built_programs(), "kubectl"), files)
    left_out = collections.defaultdict(list)
    runnable = []
    for scenario in scenarios:
        why = scenario.why_not()
        if why:
            left_out[why].append(scenario.name)
        else:
            runnable.append(scenario)
    part, parts = (int(number) for number in options.part.split("/"))
    mine = runnable[part - 1::parts]
    late, failed = [], {}  # those that hold the second time; what is wrong with the others, by name
    if not options.list:
        with cluster:
            tester = Tester(cluster, os.path.abspath(options.berth))
            for scenario in [scenario for scenario in mine if tester.run(scenario)]:
                wrong = tester.run(scenario)
                if wrong:
                    failed[scenario.name] = wrong
                else:
                    late.append(scenario.name)
    print("\n| scenarios | |\n|---|---:|")
    if not options.list:
        print("| hold on a real API server | %d |\n| do not hold | %d |" % (len(mine) - len(failed), len(failed)))
    print("| can run here%s | %d |" % ("" if parts == 1 else ", in %d parts" % parts, len(runnable)))
    for why, names in sorted(left_out.items(), key=lambda item: -len(item[1])):
        print("| left out: %s | %d |" % (why, len(names)))
    if options.list:
        for why, names in sorted(left_out.items()):
            print("\n%s: %s" % (why, ", ".join(names)))
    if late:
        print("\nhold the second time only: %s" % ", ".join(late))
    for name, wrong in failed.items():  # again, at the end, where a reader looks first
        print("\ndoes not hold: %s\n      %s" % (name, "\n      ".join(wrong)))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

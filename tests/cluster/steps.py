#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Step files: what users do to a cluster, and what a scheduler makes of it.

    steps.py record [FILE...]             applies them with kube-scheduler and writes steps/recorded/NAME.json
    steps.py record --scheduler berth FILE...
                                          the same into steps/recorded/berth/: where Berth differs, as docs/parity.md says
    steps.py compare [FILE...] [--scheduler berth]
                                          applies them and compares with what is recorded; exit status 1 if it differs

Without FILE: all in steps/. The format is described in README.md.
"""
import argparse
import difflib
import glob
import itertools
import json
import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api import ApiError  # noqa: E402
from cluster import HERE, TREE, Cluster, make_node  # noqa: E402
from processes import ClusterError, wait_until  # noqa: E402

FOLDER = os.path.join(HERE, "steps")
SCHEDULER_NAME = "default-scheduler"
CONDITIONS = ("PodScheduled", "DisruptionTarget")  # those that schedulers write
QUIET_SECONDS = 2
WITHIN_SECONDS = 30
APART_SECONDS = 0.7
MAKE_PODS = ("Pod", "Deployment", "StatefulSet", "DaemonSet", "Job")
MOST_PERMUTATIONS = 20000


# Applying a step file.


class Watch:
    """Keeps what happened to the objects of a kind in a namespace, from the list on."""

    def __init__(self, api, kind, namespace):
        self.events = []  # (type, object), in order
        self.last = time.monotonic()
        self._api = api
        self._path = api.path_of(kind, None, namespace)
        _, self._version = api.list(kind, namespace)
        self._ended = False
        threading.Thread(target=self._follow, daemon=True).start()

    def end(self):
        self._ended = True

    def _follow(self):
        while not self._ended:
            try:
                for kind, item in self._api.watch(self._path, self._version, 600):
                    if self._ended:
                        return
                    self._version = item["metadata"]["resourceVersion"]
                    if kind != "BOOKMARK":
                        self.last = time.monotonic()
                        self.events.append((kind, item))
            except (OSError, ValueError):
                time.sleep(0.1)
            except ApiError as e:
                print("a watch ended: %s" % e, file=sys.stderr)
                return


class Run:
    """One step file in a namespace of its own, on a cluster whose only nodes are those that the file makes."""

    def __init__(self, cluster, steps, patience=1):
        self.api = cluster.api
        self.steps = steps
        self._patience = patience  # how many times as long it is quiet before the next step
        self.namespace = "steps-" + steps["metadata"]["name"].replace("_", "-") + ("-%d" % patience if patience > 1 else "")
        self.names = {}  # of pods with generated names, and of uids: what the record calls them
        self._created = []  # objects without a namespace
        self._nominated = {}  # by pod, after the changes seen
        self._told = set()  # what earlier steps have of events
        self._seen = 0  # changes of pods that an earlier step has

    def apply(self):
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        self._pods = Watch(self.api, "v1/Pod", self.namespace)
        self._events = Watch(self.api, "events.k8s.io/v1/Event", self.namespace)
        try:
            return [self._step(number, step) for number, step in enumerate(self.steps["steps"])]
        finally:
            self._pods.end()
            self._events.end()
            self._clean()

    def _step(self, number, step):
        unknown = set(step) - {"what", "create", "patch", "status", "delete", "until", "within", "quiet"}
        if unknown:
            raise ClusterError("step %d: there is no %s" % (number, ", ".join(sorted(unknown))))
        for what, patch in step.get("patch", {}).items():
            kind, name = what.split()
            self.api.patch(kind, name, patch, self.namespace)
        for what, patch in step.get("status", {}).items():
            kind, name = what.split()
            self.api.patch(kind, name, patch, self.namespace, "status")
        for what in as_list(step.get("delete", [])):
            kind, name = what.split()
            self.api.delete(kind, name, self.namespace)
        wait = bool(step.get("patch") or step.get("status") or step.get("delete"))
        for item in step.get("create", []):
            item = whole(item)
            if item["kind"] not in MAKE_PODS:
                wait = True
            elif wait:  # a scheduler may see the pod before what came before it: each kind has a watch of its own
                time.sleep(APART_SECONDS)
                wait = False
            self._create(item)
        missed = []
        for what, state in step.get("until", {}).items():
            try:
                wait_until(what, lambda: self._is(what, state), step.get("within", WITHIN_SECONDS))
            except ClusterError:
                missed.append("%s: %s" % (what, state))
        self._settle(self._patience * step.get("quiet", QUIET_SECONDS))
        return self._record(step.get("what", "step %d" % number), missed)

    def _create(self, item):
        def created():
            try:
                return self.api.create(item, self.namespace)
            except ApiError as e:
                if e.status != 403:  # admission has not seen the service account or the priority class yet
                    raise
                time.sleep(0.1)
                return None

        made = wait_until("%s %s is admitted" % (item["kind"], item["metadata"]["name"]), created, 15)
        if "namespace" not in made["metadata"]:
            self._created.append((item["apiVersion"] + "/" + item["kind"], made["metadata"]["name"]))

    def _is(self, what, state):
        """`what` is a pod or "Kind name"; `state` a word for a pod, or a part of the object."""
        kind, name = what.split() if " " in what else ("Pod", what)
        try:
            item = self.api.get(kind, name, self.namespace)
        except ApiError as e:
            if e.status == 404:
                return state == "gone"
            raise
        if isinstance(state, dict):
            return contains(item, state)
        scheduled = condition(item, "PodScheduled")
        return {
            "placed": bool(item["spec"].get("nodeName")),
            "pending": scheduled.get("status") == "False",
            "nominated": bool(item["status"].get("nominatedNodeName")),
            "terminating": "deletionTimestamp" in item["metadata"],
            "running": item["status"]["phase"] == "Running",
            "gone": False,
        }[state]

    def _settle(self, quiet):
        deadline = time.monotonic() + WITHIN_SECONDS + quiet
        started = time.monotonic()
        while time.monotonic() < deadline:
            last = max(started, self._pods.last, self._events.last)
            if time.monotonic() - last >= quiet:
                return
            time.sleep(0.05)

    # What is recorded.

    def _record(self, what, missed):
        self._learn_names()
        changes = self._pods.events[self._seen:]
        self._seen += len(changes)
        sentences = self._sentences()
        record = {"step": what, "pods": self._state_of_pods(), "nominations": self._nominations(changes),
                  "events": sorted(sentences - self._told)}
        self._told |= sentences
        if missed:
            record["never"] = sorted(missed)
        return json.loads(self._plain(json.dumps(record)))

    def _state_of_pods(self):
        pods = {}
        for kind, item in self._pods.events:
            name = item["metadata"]["name"]
            if kind == "DELETED":
                pods.pop(name, None)
                continue
            state = pods[name] = {}
            if item["spec"].get("nodeName"):
                state["node"] = item["spec"]["nodeName"]
            if item["status"].get("nominatedNodeName"):
                state["nominated"] = item["status"]["nominatedNodeName"]
            if "deletionTimestamp" in item["metadata"]:
                state["terminating"] = True
            for type_ in CONDITIONS:
                found = condition(item, type_)
                if found:
                    words = [found["status"], found.get("reason", ""), found.get("message", "")]
                    state[type_] = ": ".join(word for word in words if word)
        return pods

    def _nominations(self, changes):
        """Of each pod, the nodes that it was nominated for, one after the other; "" where it lost its nomination."""
        found = {}
        for kind, item in changes:
            name, node = item["metadata"]["name"], item["status"].get("nominatedNodeName", "")
            if kind != "DELETED" and node != self._nominated.get(name, ""):
                self._nominated[name] = node
                found.setdefault(name, []).append(node)
        return found

    def _sentences(self):
        """What schedulers said so far. How often they say it, and when again, depends on the clock."""
        said = set()
        for kind, event in list(self._events.events):
            about = event.get("regarding", {})
            if kind == "DELETED" or event.get("reportingController") != SCHEDULER_NAME:
                continue
            if any(text in event.get("note", "") for text in self.steps.get("chance", [])):
                continue
            said.add("%s %s %s %s %s: %s" % (about.get("kind"), about.get("name"), event["type"], event["reason"],
                                             event.get("action", ""), event.get("note", "")))
        return said

    def _learn_names(self):
        for _, item in self._pods.events:
            data = item["metadata"]
            if data["name"] not in self.names and data.get("generateName"):
                base = data["generateName"].rstrip("-")
                base = base.removesuffix("-" + data.get("labels", {}).get("pod-template-hash", ""))
                count = sum(1 for name in self.names.values() if name.startswith(base + "."))
                self.names[data["name"]] = "%s.%d" % (base, count)
            self.names[data["uid"]] = "(uid of %s)" % self.names.get(data["name"], data["name"])

    def _plain(self, text):
        for name in sorted(self.names, key=len, reverse=True):
            text = text.replace(name, self.names[name])
        return text.replace(self.namespace + "/", "")

    def _clean(self):
        """Returns when schedulers can have seen that everything is gone."""
        for kind in ("apps/v1/Deployment", "apps/v1/StatefulSet", "apps/v1/DaemonSet", "batch/v1/Job"):
            self.api.delete_all(kind, self.namespace)

        def gone():
            self.api.delete_all("v1/Pod", self.namespace, grace_seconds=0)
            return not self.api.list("v1/Pod", self.namespace)[0]

        wait_until("the pods go", gone, 30, interval=0.3)
        for kind, name in reversed(self._created):
            try:
                self.api.delete(kind, name)
            except ApiError as e:
                if e.status != 404:  # a step deleted it
                    raise
        self.api.delete("v1/Namespace", self.namespace)  # goes by itself, some seconds later
        time.sleep(0.5)


def whole(item):
    """The object that a short form stands for."""
    if "node" in item:
        node = make_node(item["node"], **{key: value for key, value in item.items() if key != "node"})
        # A node that is Ready from the start: nothing is told of the moment before.
        node["status"]["conditions"] = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
        return node
    if "pod" in item:
        return make_pod(**item)
    if "priorityClass" in item:
        return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                "metadata": {"name": item["priorityClass"]}, "value": item["value"],
                "preemptionPolicy": item.get("preemptionPolicy", "PreemptLowerPriority")}
    return item


def make_pod(pod, cpu=None, memory=None, priorityClass=None, labels=None, annotations=None, terminatesIn=None,
             requests=None, **spec):
    """The short form of a pod; further fields are those of its spec."""
    requests = {**({"cpu": cpu} if cpu else {}), **({"memory": memory} if memory else {}), **(requests or {})}
    annotations = dict(annotations or {})
    if terminatesIn:
        annotations["pod-delete.stage.kwok.x-k8s.io/delay"] = terminatesIn
    if priorityClass:
        spec["priorityClassName"] = priorityClass
    limits = {name: amount for name, amount in requests.items() if "/" in name}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": pod, "labels": labels or {}, "annotations": annotations},
            "spec": {"containers": [{"name": "c", "image": "x", "resources": {"requests": requests, "limits": limits}}],
                     "terminationGracePeriodSeconds": 30, **spec}}


def condition(pod, name):
    return next((c for c in pod["status"].get("conditions", []) if c["type"] == name), {})


def contains(value, part):
    if isinstance(part, dict):
        return isinstance(value, dict) and all(contains(value.get(key), below) for key, below in part.items())
    return value == part


def as_list(value):
    return value if isinstance(value, list) else [value]


# Comparing records.


def compare(wanted, found, alike=()):
    """The lines in which two records differ, as `diff -u` shows them. Pods of one owner, and the names in each list of
    `alike`, may change places: of all ways to do so the one with the fewest differences counts."""
    wanted_lines = lines_of(wanted)
    generated = {}
    for name in re.findall(r'"([a-z0-9-]+\.\d+)"', json.dumps(found)):
        generated.setdefault(name.rsplit(".", 1)[0], set()).add(name)
    groups = [sorted(names) for names in generated.values() if len(names) > 1] + [list(names) for names in alike]
    count = 1
    for group in groups:
        for number in range(2, len(group) + 1):
            count *= number
    if count > MOST_PERMUTATIONS:
        raise ClusterError("%d ways to exchange names are too many; give the file fewer pods or nodes" % count)

    text = json.dumps(found)
    best = None
    for permutation in itertools.product(*(itertools.permutations(group) for group in groups)):
        names = {a: b for group, order in zip(groups, permutation) for a, b in zip(group, order) if a != b}
        lines = lines_of(json.loads(rename(text, names)))
        distance = len(set(lines) ^ set(wanted_lines))
        if best is None or distance < best[0]:
            best = (distance, lines)
        if lines == wanted_lines:
            return []
    return list(difflib.unified_diff(wanted_lines, best[1], "recorded", "found", lineterm="", n=2))


def rename(text, names):
    if not names:
        return text
    pattern = r"(?<![\w.-])(%s)(?![\w-]|\.\d)" % "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.sub(pattern, lambda match: names[match.group(1)], text)


def lines_of(record):
    lines = []
    for step in record:
        what = step["step"]
        lines += ["%s: %s is missed" % (what, state) for state in step.get("never", [])]
        for name, state in sorted(step["pods"].items()):
            lines += ["%s: pod %s" % (what, name)]
            lines += ["%s: pod %s %s %s" % (what, name, field, value) for field, value in sorted(state.items())]
        lines += ["%s: nominations of %s: %s" % (what, name, json.dumps(nodes))
                  for name, nodes in sorted(step["nominations"].items())]
        lines += ["%s: %s" % (what, event) for event in sorted(step["events"])]
    return lines


# The command.


def recording(name, scheduler="kube-scheduler"):
    return os.path.join(FOLDER, "recorded", "berth" if scheduler == "berth" else "", name + ".json")


def apply_all(options, finish, tries=1):
    """Applies the files one after the other to one cluster; a file that brings a configuration gets a scheduler of its
    own. Returns whether `finish` said yes to every record, at the latest try: with each there is more time between steps."""
    files = options.files or sorted(glob.glob(os.path.join(FOLDER, "*.yaml")))
    part, parts = (int(number) for number in options.part.split("/"))
    files = files[part - 1::parts]
    command = None if options.scheduler == "kube-scheduler" else [options.berth, "run"]
    good = True
    with Cluster(apiserver_flags=["--disable-admission-plugins=TaintNodesByCondition"]) as cluster:
        running_config = "none runs"
        for file in files:
            steps = cluster.read_yaml(file)
            if steps.get("configuration") != running_config or options.restart:
                if options.scheduler in cluster.processes:
                    cluster.processes[options.scheduler].kill()
                running_config = steps.get("configuration")
                cluster.start_scheduler(options.scheduler, command, running_config, kubeconfig=options.kubeconfig)
            for patience in range(1, 2 * tries, 2):
                started = time.monotonic()
                record = Run(cluster, steps, patience).apply()
                same = finish(steps, record, time.monotonic() - started)
                if same:
                    break
            good = same and good
    return good


def record_command(options):
    def finish(steps, record, seconds):
        name = steps["metadata"]["name"]
        os.makedirs(os.path.dirname(recording(name, options.scheduler)), exist_ok=True)
        with open(recording(name, options.scheduler), "w") as f:
            json.dump(record, f, indent=1, sort_keys=True)
            f.write("\n")
        print("recorded %s (%.1f s)" % (name, seconds), flush=True)
        return True

    return apply_all(options, finish)


def compare_command(options):
    def finish(steps, record, seconds):
        name = steps["metadata"]["name"]
        own = options.scheduler == "berth" and os.path.exists(recording(name, "berth"))
        with open(recording(name, "berth" if own else "kube-scheduler")) as f:
            differences = compare(json.load(f), record, steps.get("alike", []))
        verdict = "differs:" if differences else "as docs/parity.md says:" if own else "same:"
        print("%-9s %s (%.1f s)" % (verdict, name, seconds), flush=True)
        for line in differences:
            print("  " + line)
        return not differences

    return apply_all(options, finish, tries=2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, run in (("record", record_command), ("compare", compare_command)):
        command = commands.add_parser(name)
        command.add_argument("files", nargs="*")
        command.add_argument("--restart", action="store_true", help="a new scheduler for every file")
        command.add_argument("--part", default="1/1", help="of N parts of the files, the I-th: I/N")
        command.set_defaults(run=run, kubeconfig=None)
        command.add_argument("--scheduler", choices=["kube-scheduler", "berth"],
                             default="berth" if name == "compare" else "kube-scheduler")
        command.add_argument("--berth", default=os.path.join(TREE, "build/release/berth"), help="Berth's command")
    options = parser.parse_args()
    try:
        sys.exit(0 if options.run(options) else 1)
    except (ClusterError, ApiError) as e:
        sys.exit("steps.py: %s" % e)


if __name__ == "__main__":
    main()

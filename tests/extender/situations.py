# SPDX-License-Identifier: Apache-2.0
"""What the extender is recorded in: a configuration, and a cluster at its start. The names of nodes tell the extender what
to do with them: see go_extender/main.go."""
import copy

DEVICE = "example.com/device"


def _pod(name, cpu="1", node=None, priority_class=None, device=None, devices_in_init=None):
    resources = {"requests": {"cpu": cpu}}
    if device:
        resources = {"requests": {"cpu": cpu, DEVICE: device}, "limits": {DEVICE: device}}
    spec = {"containers": [{"name": "main", "image": "registry.example.com/app:1", "resources": resources}]}
    if devices_in_init:
        spec["initContainers"] = [{"name": "first", "image": "registry.example.com/init:1",
                                   "resources": {"requests": {DEVICE: devices_in_init}, "limits": {DEVICE: devices_in_init}}}]
    if node:
        spec["nodeName"] = node
    if priority_class:
        spec["priorityClassName"] = priority_class
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": name}, "annotations": {"example.com/note": "for " + name}},
            "spec": spec}


def _configuration(**extender):
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "percentageOfNodesToScore": 100, "extenders": [{"urlPrefix": "URL", **extender}]}


ASKED = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 5}

# Name: configuration, nodes, pods.
SITUATIONS = {
    "nodes": (_configuration(**ASKED), ["plain", "worth-good", "refused-a", "hopeless-b", "silent-c"], [_pod("p")]),
    "names": (_configuration(nodeCacheCapable=True, **ASKED),
              ["plain", "worth-good", "refused-a", "hopeless-b", "silent-c"], [_pod("p")]),
    "one_left": (_configuration(nodeCacheCapable=True, **ASKED), ["plain", "refused-a"], [_pod("p")]),
    "none_left": (_configuration(nodeCacheCapable=True, **ASKED), ["refused-a", "hopeless-b", "silent-c", "silent-d"],
                  [_pod("p")]),
    "full": (_configuration(**ASKED), ["plain", "worth-good"], [_pod("p", cpu="64")]),
    "managed": (_configuration(nodeCacheCapable=True, managedResources=[{"name": DEVICE, "ignoredByScheduler": True}],
                               **ASKED),
                ["plain", "worth-good"],
                [_pod("other"), _pod("with-device", device="2"), _pod("in-init", devices_in_init="1")]),
    "preempt_names": (_configuration(nodeCacheCapable=True, preemptVerb="preempt", **ASKED), ["kept-a", "freed-b", "freed-c"],
                      [_pod("on-a", cpu="31", node="kept-a"), _pod("on-b", cpu="31", node="freed-b"),
                       _pod("on-c-1", cpu="15", node="freed-c"), _pod("on-c-2", cpu="15", node="freed-c"),
                       _pod("p", cpu="30", priority_class="important")]),
    "preempt_pods": (_configuration(preemptVerb="preempt"), ["kept-a", "freed-b"],
                     [_pod("on-a", cpu="31", node="kept-a"), _pod("on-b", cpu="31", node="freed-b"),
                      _pod("p", cpu="30", priority_class="important")]),
    "bind": (_configuration(nodeCacheCapable=True, bindVerb="bind"), ["plain"], [_pod("p")]),
}


def configuration(name, url):
    made = copy.deepcopy(SITUATIONS[name][0])
    for extender in made["extenders"]:
        extender["urlPrefix"] = url
    return made

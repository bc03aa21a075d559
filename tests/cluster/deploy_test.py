#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What config/deploy installs: the API server takes it, its rules are enough and none is too many, and the scheduler names
the rule that is missing.

    deploy_test.py [--berth build/release/berth] [TEST...]
"""
import json
import os
import re
import ssl
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api import ApiError  # noqa: E402
from cluster import TREE, Cluster, make_node, make_nodes  # noqa: E402
from faulty_proxy import FaultyProxy  # noqa: E402
from processes import free_ports, wait_until  # noqa: E402

BERTH = os.path.join(TREE, "build", "release", "berth")
DEPLOY = os.path.join(TREE, "config", "deploy")
CHART = os.path.join(DEPLOY, "helm", "berth")
NAMESPACE = "kube-system"
USER = "system:serviceaccount:kube-system:berth"
SCHEDULER = "berth"
ALL_PLUGINS = ["coscheduling", "capacityScheduling", "gpuDevices", "preemptionToleration", "deviceTaintRules",
               "deviceResources"]
EVENTS_AGAIN = ("events.k8s.io", "events", "patch")
# Of kinds that the server of this test does not have: they are asked for in vain, by one verb, and not written. And of
# ClusterQuotas, of which only the first test makes one.
ABSENT = {("scheduling.berth.dev", "clusterquotas", "get"), ("scheduling.berth.dev", "clusterquotas/status", "patch"),
          *(("scheduling.k8s.io", "workloads", verb) for verb in ("list", "watch")),
          *(("scheduling.k8s.io", resource, verb) for resource, verb in (
              ("compositepodgroups", "list"), ("compositepodgroups", "watch"), ("compositepodgroups", "get"),
              ("compositepodgroups/status", "patch"))),
          *((group, resource, verb) for group, resource in (("kueue.x-k8s.io", "topologies"), ("kai.scheduler", "topologies"),
                                                            ("scheduling.koordinator.sh", "clusternetworktopologies"))
            for verb in ("list", "watch")),
          *(("resource.k8s.io", "devicetaintrules", verb) for verb in ("list", "watch")),
          # Claims are patched for clients that do not speak protobuf.
          *(("resource.k8s.io", resource, "patch") for resource in ("resourceclaims", "resourceclaims/status")),
          # The server of this test drops extendedResourceName, so that no pod gets devices that way.
          *(("resource.k8s.io", "resourceclaims", verb) for verb in ("create", "delete")),
          *((group, resource, verb) for group in ("scheduling.k8s.io", "scheduling.volcano.sh")
            for resource, verb in (("podgroups", "list"), ("podgroups", "watch"), ("podgroups", "get"), ("podgroups/status", "patch")))}
COMPONENTS = ["device-resources", "device-taint-rules", "gangs-and-quotas", "gpu-devices", "metrics-reader", "preemption-toleration"]

# A profile that looks at everything that the chart has rules for, and one whose preemption is PreemptionToleration's.
DEVICES = [{"name": "DynamicResources", "args": {"featureGates": {"DRADeviceTaints": True, "DRADeviceTaintRules": True}}}]
EVERY_PLUGIN = {
    "profiles": [
        {"schedulerName": SCHEDULER, "pluginConfig": DEVICES,
         "plugins": {"multiPoint": {"enabled": [{"name": "Coscheduling"}, {"name": "CapacityScheduling"}, {"name": "GpuDevices"},
                                               {"name": "TopologyPlacementGenerator"}],
                                    "disabled": [{"name": "PrioritySort"}, {"name": "DefaultPreemption"}]}}},
        {"schedulerName": "tolerant", "pluginConfig": DEVICES,
         "plugins": {"multiPoint": {"enabled": [{"name": "Coscheduling"}, {"name": "CapacityScheduling"}, {"name": "GpuDevices"},
                                                {"name": "PreemptionToleration"}],
                                    "disabled": [{"name": "PrioritySort"}, {"name": "DefaultPreemption"}]},
                     "postFilter": {"disabled": [{"name": "CapacityScheduling"}]}}},
    ]}


def pod(name, cpu="1", scheduler=SCHEDULER, **spec):
    labels, volumes = spec.pop("labels", {}), spec.pop("volumes", [])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels},
            "spec": {"schedulerName": scheduler, "terminationGracePeriodSeconds": 0, "volumes": volumes,
                     "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}], **spec}}


def rules_of(roles):
    """(group, resource, verb, name) of each thing that is allowed; of a path, (None, path, verb, None)."""
    rules = [rule for role in roles for rule in role["rules"]]
    return {(group, resource, verb, name) for rule in rules for group in rule.get("apiGroups", [])
            for resource in rule.get("resources", []) for verb in rule["verbs"] for name in rule.get("resourceNames", [None])
            } | {(None, path, verb, None) for rule in rules for path in rule.get("nonResourceURLs", []) for verb in rule["verbs"]}


class Deployed(unittest.TestCase):
    """A cluster with the chart installed."""

    @classmethod
    def setUpClass(cls):
        # Of a server that streams lists nothing needs to be listed, and the rules are for others too.
        cls.cluster = Cluster(nodes=make_nodes(4, cpu="8"), crds=False, apiserver_flags=["--feature-gates=WatchList=false"]).__enter__()
        cls.addClassCleanup(cls.cluster.stop)
        cls.helm("install", SCHEDULER, CHART, "--namespace", NAMESPACE, "--set-json", "config=" + json.dumps(
            {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", **EVERY_PLUGIN}),
            *("--set=plugins.%s=true" % plugin for plugin in ALL_PLUGINS), "--set=metrics.readerRole=true")
        cls.kubeconfig = cls.cluster.kubeconfig_of_service_account(NAMESPACE, "berth")
        cls.cluster.start_provisioner()
        device = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                  "metadata": {"name": "devices.scheduling.koordinator.sh"},
                  "spec": {"group": "scheduling.koordinator.sh", "scope": "Cluster",
                           "names": {"kind": "Device", "plural": "devices", "singular": "device", "listKind": "DeviceList"},
                           "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                               "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}
        cls.cluster.api.create(device)

    @classmethod
    def helm(cls, *arguments):
        done = subprocess.run([cls.cluster.program("helm"), *arguments], capture_output=True, text=True,
                              env={"KUBECONFIG": cls.cluster.kubeconfig, "HOME": cls.cluster.directory, "PATH": os.environ["PATH"]})
        if done.returncode != 0:
            raise AssertionError("helm %s: %s" % (arguments[0], done.stderr))
        return done.stdout

    def start(self, name="berth"):
        """The scheduler as the chart's Deployment starts it, but for where its files are."""
        config_map = self.cluster.api.get("v1/ConfigMap", "berth", NAMESPACE)
        path = self.cluster.path("scheduler.yaml")
        with open(path, "w") as f:
            f.write(config_map["data"]["scheduler.yaml"])
        config = self.cluster.read_yaml(path)
        return self.cluster.start_scheduler(name, [BERTH, "run", "-v=2"], config=config, kubeconfig=self.kubeconfig, wait=False)

    def apply(self, *items):
        for item in items:
            self.cluster.api.create(item)

    def node_of(self, name):
        return self.cluster.api.get("v1/Pod", name)["spec"].get("nodeName")

    def wait_placed(self, *names):
        wait_until("%s are placed" % ", ".join(names), lambda: all(self.node_of(name) for name in names), 40, 0.2)

    def work(self):
        """Something of everything that a scheduler does."""
        self.apply(
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000},
            {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "late"},
             "provisioner": "tests.local/provisioner", "volumeBindingMode": "WaitForFirstConsumer"},
            {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "ready-made"},
             "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "by-hand",
                      "hostPath": {"path": "/nowhere"}}},
            {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "by-hand"},
             "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"},
            *({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": of},
               "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": of, "resources": {"requests": {"storage": "1Gi"}}}}
              for of in ("late", "by-hand")),
            {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "gang"},
             "spec": {"minMember": 2}},
            {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota", "metadata": {"name": "quota"},
             "spec": {"min": {"cpu": "12"}, "max": {"cpu": "32"}}},
            *(pod("member-%d" % i, labels={"scheduling.x-k8s.io/pod-group": "gang"}) for i in range(2)),
            *(pod("with-" + of, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": of}}]) for of in ("late", "by-hand")),
            {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "any"}, "spec": {}},
            {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "node-2-devices"},
             "spec": {"driver": "driver.example.com", "nodeName": "node-2", "devices": [{"name": "device-0"}],
                      "pool": {"name": "node-2", "generation": 1, "resourceSliceCount": 1}}},
            {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "device"},
             "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "any"}}]}}},
            pod("with-device", resourceClaims=[{"name": "device", "resourceClaimName": "device"}]),
            pod("victim", cpu="7", nodeSelector={"kubernetes.io/hostname": "node-3"}))
        self.wait_placed("member-0", "member-1", "with-late", "with-by-hand", "with-device", "victim")
        self.apply(pod("preemptor", cpu="7", priorityClassName="high", nodeSelector={"kubernetes.io/hostname": "node-3"}))
        self.wait_placed("preemptor")
        self.apply(pod("too-big", cpu="100"))
        wait_until("an event", lambda: any(e["reason"] == "FailedScheduling" and e["regarding"]["name"] == "too-big" for e in
                                           self.cluster.api.list("events.k8s.io/v1/Event")[0]), 20)

    def scrape(self, scheduler, path, token):
        port = next(flag for flag in scheduler.command if flag.startswith("--secure-port=")).split("=")[1]
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        request = urllib.request.Request("https://127.0.0.1:%s%s" % (port, path))
        if token:
            request.add_header("Authorization", "Bearer " + token)
        try:
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=tls))
            with opener.open(request, timeout=10) as answer:
                return answer.status
        except urllib.error.HTTPError as e:
            return e.code

    def roles(self):
        return [self.cluster.api.get("rbac.authorization.k8s.io/v1/ClusterRole", "berth"),
                self.cluster.api.get("rbac.authorization.k8s.io/v1/Role", "berth-leader", NAMESPACE)]


class Rules(Deployed):
    def audited(self):
        """(group, resource, verb, code) of all that the scheduler asked for."""
        with open(self.cluster.path("logs", "audit.log")) as audit:
            for line in audit:
                event = json.loads(line)
                if event["user"]["username"] == USER and "objectRef" in event and "responseStatus" in event:
                    of = event["objectRef"]
                    resource = of["resource"] + ("/" + of["subresource"] if "subresource" in of else "")
                    yield of.get("apiGroup", ""), resource, event["verb"], event["responseStatus"].get("code")

    def test_1_they_are_enough_and_none_is_too_many(self):
        scheduler = self.start()
        scheduler.wait_ready()
        self.work()
        reader = self.cluster.kubeconfig_of_service_account("default", "prometheus")
        self.cluster.kubectl("create", "clusterrolebinding", "prometheus", "--clusterrole=berth-metrics-reader",
                             "--serviceaccount=default:prometheus")
        with open(reader) as f:
            token = json.load(f)["users"][0]["user"]["token"]
        for path in ("/metrics", "/metrics/slis"):
            self.assertEqual(self.scrape(scheduler, path, token), 200)
        self.assertEqual(self.scrape(scheduler, "/metrics", None), 403)
        self.assertEqual(self.scrape(scheduler, "/configz", token), 403)
        wait_until("the status of the group", lambda: self.cluster.api.get(
            "scheduling.x-k8s.io/v1alpha1/PodGroup", "gang").get("status", {}).get("phase"), 20)
        wait_until("the status of the quota", lambda: self.cluster.api.get(
            "scheduling.x-k8s.io/v1alpha1/ElasticQuota", "quota").get("status", {}).get("used"), 20)
        quota = "scheduling.berth.dev/v1alpha1/ClusterQuota"
        self.cluster.api.create({"apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "ClusterQuota", "metadata": {"name": "all"},
                                 "spec": {"namespaces": ["default"], "min": {"cpu": "20"}}})
        self.cluster.api.create(pod("in-a-tree"))  # an edit of quotas shows with the next attempt
        wait_until("the status of the quota in a tree", lambda: self.cluster.api.get(quota, "all").get("status", {}).get("used"), 20)
        self.cluster.api.delete(quota, "all")
        self.assertEqual(scheduler.stop(), 0)

        asked = list(self.audited())
        self.assertEqual({what for what in asked if what[3] == 403}, set())
        used = {what[:3] for what in asked}
        self.assertIn(("scheduling.berth.dev", "clusterquotas/status", "patch"), used)
        allowed = {rule[:3] for rule in rules_of(self.roles())}
        # Not needed every time: after an answer that was lost; for an event that comes again.
        self.assertEqual(allowed - used - ABSENT - {("", "pods", "get"), EVENTS_AGAIN}, set(), "rules that nobody needs")

    def test_2_each_that_is_missing_is_named(self):
        """One verb of one resource less, each time. A scheduler of its own for each, several at a time."""
        for kind in ("v1/Pod", "scheduling.x-k8s.io/v1alpha1/PodGroup", "scheduling.x-k8s.io/v1alpha1/ElasticQuota"):
            self.cluster.api.delete_all(kind, grace_seconds=0)
        self.apply(*({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}, "provisioner": who,
                      "volumeBindingMode": "WaitForFirstConsumer"}
                     for name, who in (("made-late", "tests.local/provisioner"), ("there", "kubernetes.io/no-provisioner"))),
                   {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "higher"}, "value": 2000},
                   {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "every"}, "spec": {}},
                   {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "devices-of-all-nodes"},
                    "spec": {"driver": "driver.example.com", "allNodes": True, "devices": [{"name": "d-%d" % i} for i in range(100)],
                             "pool": {"name": "all", "generation": 1, "resourceSliceCount": 1}}})
        cluster_role, role = self.roles()
        with open(self.cluster.kubeconfig_of_service_account("default", "reader")) as f:
            self.token = json.load(f)["users"][0]["user"]["token"]
        every = [MissingRule(self, where, rule, resource, verb) for where in (cluster_role, role) for rule in where["rules"]
                 for resource in rule["resources"] for verb in rule["verbs"]
                 if (rule["apiGroups"][0], resource, verb) not in ABSENT]
        self.assertEqual(len({missing.rule for missing in every}), len(every))
        for missing in every:
            missing.allow_the_rest()
        time.sleep(1)  # until the API server has seen the roles
        read = [missing for missing in every if missing.verb in ("list", "watch")]
        alone = [missing for missing in every if missing.resource.split("/")[0] in ("podgroups", "elasticquotas", "leases")
                 and missing not in read]  # the first one writes these
        others = [missing for missing in every if missing not in read + alone]
        for batch in (*batches(read, 8), *batches(others, len(self.cluster.nodes)), *batches(alone, 1)):
            for missing, node in zip(batch, self.cluster.nodes * 2):
                missing.start(node["metadata"]["name"])
            for missing in batch:
                with self.subTest("%s %s" % (missing.verb, missing.resource)):
                    wait_until("the log of %s names it" % missing.name, missing.is_named, 25, 0.1)
            for missing in batch:
                missing.end()
        print("%d rules, each missing once" % len(every))


def batches(items, size):
    return [items[at:at + size] for at in range(0, len(items), size)]


class MissingRule:
    """A scheduler that may do all but one thing."""

    def __init__(self, test, role, rule, resource, verb):
        self._test, self._cluster, self._role = test, test.cluster, role
        self.group, self.resource, self.verb = rule["apiGroups"][0], resource, verb
        self.rule = (self.group, resource, verb)
        self.name = "-".join(("no", verb, resource.replace("/", "-"), *self.group.split(".")[:1])).rstrip("-")
        # An event is patched if it comes again before the pod has changed, which it does with its condition.
        self._without = {self.rule, EVENTS_AGAIN, ("", "pods/status", "patch")} if self.rule == EVENTS_AGAIN else {self.rule}
        # As a role has it, or in the sentence of the API server.
        self._named = re.compile(
            r'apiGroups: \["%s"\], resources: \["%s"\], verbs: \[[^]]*"%s"' % tuple(map(re.escape, self.rule))
            + r'|cannot %s resource "%s" in API group "%s"' % tuple(map(re.escape, (verb, resource, self.group))))
        self._scheduler = self._proxy = None
        self._made = []
        self._poked = 0

    def allow_the_rest(self):
        rules = []
        for rule in self._role["rules"]:
            for resource in rule["resources"]:
                verbs = [verb for verb in rule["verbs"] if (rule["apiGroups"][0], resource, verb) not in self._without]
                if verbs:
                    rules.append({**rule, "resources": [resource], "verbs": verbs})
        self._kubeconfig = self._cluster.kubeconfig_of_service_account(NAMESPACE, self.name)
        subject = {"kind": "ServiceAccount", "name": self.name, "namespace": NAMESPACE}
        group = "rbac.authorization.k8s.io"
        for role in self._test.roles():
            kind, name, metadata = role["kind"], role["metadata"]["name"], {"namespace": role["metadata"].get("namespace")}
            if role["metadata"]["uid"] == self._role["metadata"]["uid"]:
                name, metadata = self.name, {**metadata, "name": self.name}
                self._test.apply({"apiVersion": group + "/v1", "kind": kind, "metadata": metadata, "rules": rules})
            self._test.apply({"apiVersion": group + "/v1", "kind": kind + "Binding",
                              "metadata": {**metadata, "name": "%s-%s" % (self.name, kind.lower())},
                              "roleRef": {"apiGroup": group, "kind": kind, "name": name}, "subjects": [subject]})

    def start(self, node):
        config = {**EVERY_PLUGIN, "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                  "profiles": [{**profile, "schedulerName": profile["schedulerName"].replace(SCHEDULER, self.name).replace(
                      "tolerant", "tolerant-" + self.name)} for profile in EVERY_PLUGIN["profiles"]]}
        if self.resource == "leases":
            config["leaderElection"] = {"leaderElect": True, "resourceName": "berth", "resourceNamespace": NAMESPACE,
                                        "leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "500ms"}
            try:
                self._cluster.api.delete("coordination.k8s.io/v1/Lease", "berth", NAMESPACE)
            except ApiError as e:
                if e.status != 404:
                    raise
        if self.rule == ("", "pods", "get"):  # asked for when no answer to a binding came
            self._kubeconfig = self._losing_answers(self._kubeconfig)
        self._scheduler = self._cluster.start_scheduler(self.name, [BERTH, "run", "-v=2"], config=config,
                                                        kubeconfig=self._kubeconfig, wait=False)
        if self.verb not in ("list", "watch") and self.resource != "leases":
            self._work(node)

    def _losing_answers(self, kubeconfig):
        with open(kubeconfig) as f:
            config = json.load(f)
        self._proxy = FaultyProxy(self._cluster.server, free_ports(1)[0], self._cluster._authority)
        self._proxy.set(lose=1)
        config["clusters"][0]["cluster"]["server"] = self._proxy.url
        path = self._cluster.path("losing-answers.kubeconfig")
        with open(path, "w") as f:
            json.dump(config, f)
        return path

    def _work(self, node):
        """Something of everything, on a node of its own."""
        def name(what):
            return "%s-%s" % (self.name, what)

        def its_pod(what, **spec):
            return pod(name(what), **{"cpu": "100m", "scheduler": self.name, **spec})

        def claim(storage_class):
            return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name(storage_class)},
                    "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class,
                             "resources": {"requests": {"storage": "1Gi"}}}}

        self._node, here = node, {"kubernetes.io/hostname": node}
        self._made = [
            {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name("volume")},
             "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "there",
                      "hostPath": {"path": "/nowhere"}, "persistentVolumeReclaimPolicy": "Retain"}},
            claim("there"), claim("made-late"),
            {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": name("gang")},
             "spec": {"minMember": 2}},
            *(its_pod("member-%d" % i, labels={"scheduling.x-k8s.io/pod-group": name("gang")}) for i in range(2)),
            *(its_pod("with-" + of, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": name(of)}}])
              for of in ("made-late", "there")),
            {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name("device")},
             "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "every"}}]}}},
            its_pod("with-device", resourceClaims=[{"name": "device", "resourceClaimName": name("device")}]),
            {**pod(name("victim"), cpu="7"), "spec": {**pod(name("victim"), cpu="7")["spec"], "nodeName": node}},
            its_pod("preemptor", cpu="7", priorityClassName="higher", nodeSelector=here),
            its_pod("too-big", cpu="100")]
        if self.resource.startswith("elasticquotas"):  # of one alone: it is the whole namespace's
            self._made.insert(0, {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota",
                                  "metadata": {"name": name("quota")}, "spec": {"min": {"cpu": "20"}, "max": {"cpu": "32"}}})
        self._test.apply(*self._made)

    def is_named(self):
        if self.resource in ("tokenreviews", "subjectaccessreviews"):
            try:
                self._test.scrape(self._scheduler, "/metrics", self._test.token)
            except OSError:
                pass
        self._poked += 1
        if self.rule == EVENTS_AGAIN and self._poked % 5 == 1:
            self._have_it_tried_again()
        with open(self._scheduler.log) as log:
            return any(self._named.search(line.replace('\\"', '"')) for line in log)

    def _have_it_tried_again(self):
        """The pod that is too big: a pod that goes makes room, and a node more or less makes another message."""
        if self._poked % 10 == 1:
            self._test.apply(make_node("one-more", cpu="1"))
        else:
            self._cluster.api.delete("v1/Node", "one-more")
        running = pod("%s-%d" % (self.name, self._poked))
        running["spec"]["nodeName"] = self._node
        self._test.apply(running)
        self._cluster.api.delete("v1/Pod", running["metadata"]["name"], grace_seconds=0)

    def end(self):
        self._scheduler.kill()
        if self._proxy:
            self._proxy.close()
        for item in reversed(self._made):
            try:
                self._cluster.api.delete(item["apiVersion"] + "/" + item["kind"], item["metadata"]["name"], grace_seconds=0)
            except ApiError as e:
                if e.status != 404:  # the victim
                    raise


class Kustomized(unittest.TestCase):
    """The kustomizations are what the chart is."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(controllers=False, crds=False).__enter__()
        cls.addClassCleanup(cls.cluster.stop)

    def charted(self, *flags):
        done = subprocess.run([self.cluster.program("helm"), "template", SCHEDULER, CHART, "--namespace", NAMESPACE,
                               "--kube-version", "1.35.4", *flags], capture_output=True, text=True, check=True)
        return done.stdout

    def items(self, text):
        """By kind and name, as the API server takes them."""
        return {(item["kind"], item["metadata"]["name"]): item for item in self.cluster.items(text)}

    def test_the_api_server_takes_them_and_they_allow_the_same(self):
        every = ["--set=plugins.%s=true" % plugin for plugin in ALL_PLUGINS] + ["--set=metrics.readerRole=true"]
        for components, flags in (((), []), (COMPONENTS, every)):
            with self.subTest(components):
                kustomized = self.items(self.cluster.kustomized("second-scheduler", components))
                charted = self.items(self.charted(*flags))
                roles = [key for key in {**kustomized, **charted} if key[0] in ("ClusterRole", "Role")]
                self.assertEqual(len(roles), 3 if components else 2)
                for key in roles:
                    self.assertEqual(rules_of([kustomized[key]]), rules_of([charted[key]]), key)
                container = [of["Deployment", "berth"]["spec"]["template"]["spec"]["containers"][0] for of in (kustomized, charted)]
                for same in ("securityContext", "livenessProbe", "readinessProbe", "startupProbe", "resources"):
                    self.assertEqual(container[0][same], container[1][same])
                for text in (self.cluster.kustomized("second-scheduler", components), self.charted(*flags)):
                    self.cluster.kubectl("apply", "--server-side", "--dry-run=server", "--force-conflicts", "-f", "-", text=text)

    def test_the_replacement_competes_for_the_lease_of_kube_scheduler(self):
        items = self.items(self.cluster.kustomized("replacement"))
        names = {rule[3] for rule in rules_of([items["Role", "berth-leader"]])}
        self.assertEqual(names, {None, "kube-scheduler"})

    def test_the_configurations_are_valid(self):
        for base in ("second-scheduler", "replacement"):
            subprocess.run([BERTH, "validate", os.path.join(DEPLOY, "kustomize", base, "scheduler.yaml")], check=True,
                           stdout=subprocess.DEVNULL)
        config = next(item for key, item in self.items(self.charted()).items() if key[0] == "ConfigMap")
        done = subprocess.run([BERTH, "validate", "-"], input=config["data"]["scheduler.yaml"], text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_lease_in_the_configuration_is_refused(self):
        with self.assertRaises(subprocess.CalledProcessError) as refused:
            self.charted("--set=config.leaderElection.resourceName=x")
        self.assertIn("set `lease` instead", refused.exception.stderr)


if __name__ == "__main__":
    if "--berth" in sys.argv:
        at = sys.argv.index("--berth")
        BERTH = os.path.abspath(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    unittest.main(verbosity=2)

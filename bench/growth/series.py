# SPDX-License-Identifier: Apache-2.0
"""The series: each makes a cluster of which one thing grows with n. A function from n to objects."""
import collections
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(FOLDER))
sys.path.insert(0, os.path.join(os.path.dirname(FOLDER), "workloads"))
from manifests import (GPU, GROUP_LABEL, ZONE, bound_volume, csi_node, elastic_quota, moment, namespace,  # noqa: E402
                       node, pod, pod_group, requests_of, using)

Series = collections.namedtuple("Series", "objects n config")
SERIES = {}

HOST = "kubernetes.io/hostname"
FEW = 20
IDLE = requests_of("1m", "1Mi")
LARGE = {"cpu": "9000", "memory": "90000Gi", "pods": "1000000"}
CONFIG = os.path.join(TOP, "config", "{}.yaml")


def series(n, config="kube-scheduler-default"):
    """Names a series after its function; n is the smaller of its two sizes."""
    def add(objects):
        SERIES[objects.__name__.replace("_", "-")] = Series(objects, n, CONFIG.format(config))
        return objects
    return add


def nodes(count, **fields):
    return (node(f"node-{i}", **{**LARGE, **fields}) for i in range(count))


def pods(count, prefix="pod", **fields):
    return (pod(f"{prefix}-{i}", **{"requests": IDLE, **fields}) for i in range(count))


def few_pods(**fields):
    """FEW nodes and FEW pods, for clusters where something else is many."""
    yield namespace("default")
    yield from nodes(FEW)
    yield from pods(FEW, **fields)


def object_of(api_version, kind, name, ns=None, **fields):
    where = {"namespace": ns} if ns else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "uid": f"{kind}/{name}", **where},
            **fields}


# --- Many objects of one kind ---------------------------------------------------------------------------------------

@series(20000)
def priority_classes(n):
    """PriorityClasses."""
    for i in range(n):
        yield object_of("scheduling.k8s.io/v1", "PriorityClass", f"class-{i}", value=i)
    yield from few_pods()


@series(5000)
def priorities(n):
    """Pods with a PriorityClass each."""
    for i in range(n):
        yield object_of("scheduling.k8s.io/v1", "PriorityClass", f"class-{i}", value=i)
    yield from nodes(FEW)
    for i in range(n):
        p = pod(f"pod-{i}", requests=IDLE, priorityClassName=f"class-{i}")
        del p["spec"]["priority"]
        yield p


@series(10000)
def services(n):
    """Services that all select the pods."""
    for i in range(n):
        yield object_of("v1", "Service", f"service-{i}", "default", spec={"selector": {"app": "web"}})
    yield namespace("default")
    yield from nodes(FEW)
    yield from pods(n // 10, labels={"app": "web"})


@series(10000)
def services_each(n):
    """Services with pods of their own."""
    yield namespace("default")
    yield from nodes(FEW)
    for i in range(n):
        yield object_of("v1", "Service", f"service-{i}", "default", spec={"selector": {"app": f"web-{i}"}})
    for i in range(n):
        yield pod(f"pod-{i}", requests=IDLE, labels={"app": f"web-{i}"})


@series(10000)
def replica_sets(n):
    """ReplicaSets, each with the pod that it owns."""
    yield namespace("default")
    yield from nodes(FEW)
    for i in range(n):
        labels = {"app": f"web-{i}"}
        yield object_of("apps/v1", "ReplicaSet", f"set-{i}", "default",
                        spec={"replicas": 0, "selector": {"matchLabels": labels},
                              "template": {"metadata": {"labels": labels},
                                           "spec": {"containers": [{"name": "c", "image": "i"}]}}})
    for i in range(n):
        p = pod(f"pod-{i}", requests=IDLE, labels={"app": f"web-{i}"})
        p["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"set-{i}",
                                             "uid": f"ReplicaSet/set-{i}", "controller": True}]
        yield p


@series(5000)
def deployments(n):
    """Deployments of two pods."""
    yield namespace("default")
    yield from nodes(FEW)
    for i in range(n):
        labels = {"app": f"web-{i}"}
        each = object_of("apps/v1", "Deployment", f"web-{i}", "default",
                         spec={"replicas": 2, "selector": {"matchLabels": labels},
                               "template": {"metadata": {"labels": labels},
                                            "spec": {"containers": [{"name": "c", "image": "i"}]}}})
        del each["metadata"]["uid"]  # with one, its pods would be there
        yield each


@series(10000)
def namespaces(n):
    """Namespaces with a pod each."""
    yield from nodes(FEW)
    for i in range(n):
        yield namespace(f"team-{i}")
        yield pod(f"pod-{i}", f"team-{i}", requests=IDLE)


@series(5000)
def namespaces_selected(n):
    """Namespaces with a pod each that wants no other near it, of any namespace with its label."""
    yield from nodes(FEW)
    for i in range(n):
        yield namespace(f"team-{i}")
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"color": "red"}},
            "namespaceSelector": {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "Exists"}]}}
    for i in range(n):
        yield pod(f"pod-{i}", f"team-{i}", requests=IDLE, labels={"color": "blue"}, affinity={
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})


@series(4000)
def csi_nodes(n):
    """Nodes with a CSINode; 2,000 pods with a volume each, which look at all nodes."""
    yield namespace("default")
    for i in range(n):
        yield node(f"node-{i}", labels={ZONE: "a"})
        yield csi_node(f"node-{i}", 39)
    for i in range(2000):
        yield from bound_volume(f"pod-{i}", "a")
        yield pod(f"pod-{i}", requests=IDLE, **using(f"pod-{i}"))


@series(5000)
def volumes_a_pod(n):
    """Pods with a volume each."""
    yield namespace("default")
    yield from nodes(FEW, labels={ZONE: "a"})
    for i in range(n):
        yield from bound_volume(f"pod-{i}", "a")
        yield pod(f"pod-{i}", requests=IDLE, **using(f"pod-{i}"))


@series(10000)
def storage_classes(n):
    """StorageClasses; an unbound claim and a pod of one in ten."""
    yield from few_pods()
    for i in range(n):
        yield object_of("storage.k8s.io/v1", "StorageClass", f"class-{i}", provisioner="csi.example.com",
                        volumeBindingMode="WaitForFirstConsumer")
    for i in range(0, n, 10):
        yield claim(f"claim-{i}", f"class-{i}")
        yield pod(f"with-{i}", requests=IDLE, **using(f"claim-{i}"))


def claim(name, storage_class, size="10Gi"):
    return object_of("v1", "PersistentVolumeClaim", name, "default",
                     spec={"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class,
                           "volumeMode": "Filesystem", "resources": {"requests": {"storage": size}}},
                     status={"phase": "Pending"})


def local_volume(i, on, storage_class="local", size="10Gi"):
    terms = [{"matchExpressions": [{"key": HOST, "operator": "In", "values": [on]}]}]
    return object_of("v1", "PersistentVolume", f"local-{i}",
                     spec={"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class,
                           "volumeMode": "Filesystem", "capacity": {"storage": size}, "local": {"path": f"/{i}"},
                           "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}},
                     status={"phase": "Available"})


def local_class():
    return object_of("storage.k8s.io/v1", "StorageClass", "local", provisioner="kubernetes.io/no-provisioner",
                     volumeBindingMode="WaitForFirstConsumer")


@series(2500)
def local_volumes(n):
    """Nodes with a local volume each, and pods that claim one each."""
    yield namespace("default")
    yield local_class()
    yield from nodes(n)
    for i in range(n):
        yield local_volume(i, f"node-{i}")
    for i in range(n):
        yield claim(f"claim-{i}", "local")
        yield pod(f"pod-{i}", requests=IDLE, **using(f"claim-{i}"))


@series(2500)
def local_volumes_of_few_nodes(n):
    """Local volumes on few nodes, all of other sizes, and pods that claim one each."""
    yield namespace("default")
    yield local_class()
    yield from nodes(FEW)
    for i in range(n):
        yield local_volume(i, f"node-{i % FEW}", size=f"{1 + i}Mi")
    for i in range(n):
        yield claim(f"claim-{i}", "local", size=f"{1 + (i * 7919) % n}Mi")
        yield pod(f"pod-{i}", requests=IDLE, **using(f"claim-{i}"))


@series(1000)
def storage_capacities(n):
    """Nodes whose driver says how much it can make there, and pods that claim some."""
    yield namespace("default")
    yield object_of("storage.k8s.io/v1", "CSIDriver", "csi.example.com", spec={"storageCapacity": True})
    yield object_of("storage.k8s.io/v1", "StorageClass", "made", provisioner="csi.example.com",
                    volumeBindingMode="WaitForFirstConsumer")
    yield from nodes(n, pods="5")  # for more there would be no storage
    for i in range(n):
        yield object_of("storage.k8s.io/v1", "CSIStorageCapacity", f"capacity-{i}", "default", storageClassName="made",
                        capacity="100Gi", nodeTopology={"matchLabels": {HOST: f"node-{i}"}})
    for i in range(n):
        yield claim(f"claim-{i}", "made")
        yield pod(f"pod-{i}", requests=IDLE, **using(f"claim-{i}"))


@series(2000)
def disruption_budgets(n):
    """PodDisruptionBudgets of a running pod each, and pods that evict."""
    yield namespace("default")
    for i in range(n):
        yield node(f"node-{i}", cpu="1")
        yield object_of("policy/v1", "PodDisruptionBudget", f"budget-{i}", "default",
                        spec={"minAvailable": 1, "selector": {"matchLabels": {"app": f"low-{i}"}}},
                        status={"disruptionsAllowed": i % 2})
        yield pod(f"low-{i}", on=f"node-{i}", requests=requests_of("1", "1Mi"), labels={"app": f"low-{i}"},
                  terminationGracePeriodSeconds=0)
    for i in range(n):
        yield pod(f"high-{i}", requests=requests_of("1", "1Mi"), priority=10)


@series(2500)
def preemptors(n):
    """Pods that evict one pod each, and ask all for something else."""
    yield namespace("default")
    for i in range(n):
        yield node(f"node-{i}", cpu="2")
        yield pod(f"low-{i}", on=f"node-{i}", requests=requests_of("2", "1Mi"), terminationGracePeriodSeconds=0)
    for i in range(n):
        yield pod(f"high-{i}", requests=requests_of("2", f"{1 + i}Ki"), priority=10)


@series(2000, "gang")
def pod_groups(n):
    """PodGroups of four pods."""
    yield namespace("default")
    yield from nodes(FEW)
    for i in range(n):
        yield pod_group(f"gang-{i}", 4, 10, i)
        for j in range(4):
            yield pod(f"pod-{i}-{j}", requests=IDLE, labels={GROUP_LABEL: f"gang-{i}"}, created=i)


@series(2000, "gang")
def pod_groups_in_vain(n):
    """PodGroups of four pods, of which nothing fits."""
    yield namespace("default")
    yield from (node(f"node-{i}") for i in range(FEW))
    for i in range(n):
        yield pod_group(f"gang-{i}", 4, 10, i)
        for j in range(4):
            yield pod(f"pod-{i}-{j}", requests=requests_of("8", f"{i + 1}Mi"), labels={GROUP_LABEL: f"gang-{i}"},
                      created=i)


@series(2000, "quota")
def elastic_quotas(n):
    """ElasticQuotas with a pod each."""
    yield from (node(f"node-{i}", cpu="9000", memory="90000Gi", pods="100000", **{GPU: "4000"}) for i in range(FEW))
    for i in range(n):
        yield namespace(f"team-{i}")
        yield elastic_quota(f"team-{i}", f"team-{i}", 1, 2)
        yield pod(f"pod-{i}", f"team-{i}", requests=requests_of("1", "1Gi", **{GPU: "1"}))


# --- Nodes that differ ----------------------------------------------------------------------------------------------

@series(6000)
def extended_resource_a_node(n):
    """Nodes with an extended resource each that no other has, and pods that ask for one in ten."""
    for i in range(n):
        yield node(f"node-{i}", **{f"example.com/device-{i}": "1"})
    for i in range(0, n, 10):
        yield pod(f"pod-{i}", requests={"cpu": "1m", f"example.com/device-{i}": "1"})


@series(2000)
def extended_resource_wanted(n):
    """Nodes with an extended resource each that no other has, and a pod for each."""
    for i in range(n):
        yield node(f"node-{i}", **{f"example.com/device-{i}": "1"})
    for i in range(n):
        yield pod(f"pod-{i}", requests={"cpu": "1m", f"example.com/device-{i}": "1"})


@series(20000)
def images(n):
    """Nodes with images that no other has, and pods."""
    for i in range(n):
        each = node(f"node-{i}")
        each["status"]["images"] = [{"names": [f"registry/image-{i}-{j}:1"], "sizeBytes": 50 << 20} for j in range(5)]
        yield each
    yield from pods(n)


@series(2000)
def images_wanted(n):
    """Nodes with images that no other has, and pods of these images."""
    for i in range(n):
        each = node(f"node-{i}")
        each["status"]["images"] = [{"names": [f"registry/image-{i}-{j}:1"], "sizeBytes": 50 << 20} for j in range(5)]
        yield each
    for i in range(n):
        p = pod(f"pod-{i}", requests=IDLE)
        p["spec"]["containers"][0]["image"] = f"registry/image-{i}-0:1"
        yield p


@series(2000)
def images_on_one_node(n):
    """Images, all on each of few nodes."""
    for i in range(FEW):
        each = node(f"node-{i}")
        each["status"]["images"] = [{"names": [f"registry/image-{j}:1"], "sizeBytes": 50 << 20} for j in range(n)]
        yield each
    yield from pods(FEW)


@series(10000)
def labels_on_one_node(n):
    """Labels of a node."""
    yield node("node", labels={f"example.com/label-{i}": "yes" for i in range(n)})
    yield from few_pods()


@series(5000)
def labels_a_node(n):
    """Nodes with a label key each that no other has, and pods that select it."""
    for i in range(n):
        yield node(f"node-{i}", labels={f"example.com/label-{i}": "yes"})
    for i in range(n):
        yield pod(f"pod-{i}", requests=IDLE, nodeSelector={f"example.com/label-{i}": "yes"})


@series(5000)
def node_selectors(n):
    """Pods that select a node each by its name."""
    yield from nodes(n)
    for i in range(n):
        yield pod(f"pod-{i}", requests=IDLE, nodeSelector={HOST: f"node-{i}"})


@series(2000)
def labels_selected(n):
    """Labels of a node, and pods that select one each."""
    yield node("node", **LARGE, labels={f"example.com/label-{i}": "yes" for i in range(n)})
    for i in range(n):
        yield pod(f"pod-{i}", requests=IDLE, nodeSelector={f"example.com/label-{i}": "yes"})


@series(5000)
def names_listed(n):
    """Nodes, and pods that list the names of them all."""
    yield from nodes(n)
    terms = [{"matchExpressions": [{"key": HOST, "operator": "In", "values": [f"node-{i}" for i in range(n)]}]}]
    for i in range(FEW):
        yield pod(f"pod-{i}", requests=requests_of("1m", f"{1 + i}Mi"), affinity={"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}})


@series(5000)
def daemon_pods(n):
    """Pods for a node each, as a DaemonSet makes them."""
    yield from nodes(n)
    for i in range(n):
        terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [f"node-{i}"]}]}]
        yield pod(f"pod-{i}", requests=IDLE, affinity={"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}})


@series(10000)
def taints_on_one_node(n):
    """Taints of a node."""
    yield node("node", taints=[{"key": f"example.com/taint-{i}", "effect": "NoSchedule"} for i in range(n)])
    yield from few_pods()


@series(4000)
def taints_a_node(n):
    """Nodes with a taint each that no other has, and pods that tolerate it."""
    for i in range(n):
        yield node(f"node-{i}", taints=[{"key": f"example.com/taint-{i}", "effect": "NoSchedule"}])
    for i in range(n):
        yield pod(f"pod-{i}", requests=IDLE, tolerations=[{"key": f"example.com/taint-{i}", "operator": "Exists"}])


@series(4000)
def tolerations_on_one_pod(n):
    """Tolerations of a pod, and nodes with a taint each that it tolerates."""
    for i in range(n):
        yield node(f"node-{i}", taints=[{"key": f"example.com/taint-{i}", "effect": "PreferNoSchedule"}])
    yield pod("pod", requests=IDLE, tolerations=[{"key": f"example.com/taint-{i}", "operator": "Exists"}
                                                 for i in range(n)])


@series(4000)
def taints_tolerated(n):
    """Taints of a node, and pods that tolerate them all."""
    yield node("node", **LARGE, taints=[{"key": f"example.com/taint-{i}", "effect": "NoSchedule"} for i in range(n)])
    yield from pods(FEW, tolerations=[{"operator": "Exists"}])


@series(500)
def topology_keys(n):
    """Label keys of few nodes, and pods that spread over one each."""
    for i in range(FEW):
        yield node(f"node-{i}", **LARGE, labels={f"example.com/key-{j}": f"domain-{i % 4}" for j in range(n)})
    for i in range(n):
        yield pod(f"pod-{i}", requests=IDLE, labels={"app": "web"}, topologySpreadConstraints=[
            {"maxSkew": 1000, "topologyKey": f"example.com/key-{i}", "whenUnsatisfiable": "DoNotSchedule",
             "labelSelector": {"matchLabels": {"app": "web"}}}])


@series(4000)
def zones(n):
    """Zones of a node each, and pods that spread over them."""
    for i in range(n):
        yield node(f"node-{i}", labels={ZONE: f"zone-{i}"}, **{})
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
                  "labelSelector": {"matchLabels": {"app": "web"}}}
    yield from pods(n, labels={"app": "web"}, topologySpreadConstraints=[constraint])


@series(4000)
def zones_preferred(n):
    """Zones of a node each, and pods that like to be where others are."""
    for i in range(n):
        yield node(f"node-{i}", labels={ZONE: f"zone-{i}"})
    term = {"weight": 1, "podAffinityTerm": {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}}
    yield from pods(n, labels={"app": "web"},
                    affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}})


# --- Pods that differ -----------------------------------------------------------------------------------------------

@series(50000)
def resources_on_one_pod(n):
    """Extended resources that one pod asks for."""
    yield from few_pods()
    yield pod("pod", requests={f"example.com/device-{i}": "1" for i in range(n)})


@series(20000)
def resources_on_one_node(n):
    """Extended resources of one node, and a pod that asks for all."""
    yield from few_pods()
    yield node("node", **{f"example.com/device-{i}": "1" for i in range(n)})
    yield pod("pod", requests={f"example.com/device-{i}": "1" for i in range(n)})


@series(5000)
def resource_a_pod(n):
    """Pods that ask for a resource each that no node has."""
    yield from nodes(FEW)
    for i in range(n):
        yield pod(f"pod-{i}", requests={"cpu": "1m", f"example.com/device-{i}": "1"})


@series(10000)
def containers_on_one_pod(n):
    """Containers of a pod."""
    yield from few_pods()
    each = pod("pod")
    each["spec"]["containers"] = [{"name": f"c-{i}", "image": f"image-{i}",
                                   "resources": {"requests": {"cpu": "1m"}}} for i in range(n)]
    yield each


@series(5000)
def host_ports(n):
    """Pods with a host port each."""
    yield from nodes(FEW)
    for i in range(n):
        each = pod(f"pod-{i}", requests=IDLE)
        each["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 1 + i}]
        yield each


@series(10000)
def host_ports_on_one_pod(n):
    """Host ports of pods, one of which runs on each node."""
    yield from nodes(FEW)
    for i in range(2 * FEW):
        each = pod(f"pod-{i}", requests=IDLE, **({"on": f"node-{i}"} if i < FEW else {}))
        each["spec"]["containers"][0]["ports"] = [
            {"containerPort": 80, "hostPort": 1 + j, "hostIP": f"10.0.0.{1 + i // FEW}"} for j in range(n)]
        yield each


def apart(labels, key=HOST, kind="podAntiAffinity"):
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": labels}, "topologyKey": key}]}}}


@series(5000)
def anti_affinity_a_pod(n):
    """Pods that keep off pods with their own label."""
    yield from nodes(FEW)
    for i in range(n):
        yield pod(f"pod-{i}", requests=IDLE, labels={"app": f"web-{i}"}, **apart({"app": f"web-{i}"}))


@series(2000)
def preferred_terms_a_pod(n):
    """Pods that like pods with their own label."""
    yield from nodes(FEW)
    for i in range(n):
        term = {"weight": 1, "podAffinityTerm": {"topologyKey": HOST,
                                                 "labelSelector": {"matchLabels": {"app": f"web-{i}"}}}}
        yield pod(f"pod-{i}", requests=IDLE, labels={"app": f"web-{i}"},
                  affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}})


@series(2000)
def terms_on_one_pod(n):
    """Affinity terms of a pod."""
    yield from nodes(FEW)
    yield from pods(n, on="node-0", labels={"app": "web"})
    terms = [{"labelSelector": {"matchLabels": {f"app-{i}": "web"}}, "topologyKey": HOST} for i in range(n)]
    yield from pods(FEW, "with",
                    affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})


@series(5000)
def spread_a_pod(n):
    """Pods that spread by their own label."""
    yield from nodes(FEW)
    for i in range(n):
        constraint = {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule",
                      "labelSelector": {"matchLabels": {"app": f"web-{i}"}}}
        yield pod(f"pod-{i}", requests=IDLE, labels={"app": f"web-{i}"}, topologySpreadConstraints=[constraint])


@series(5000)
def unlike_in_vain(n):
    """Pods that fit nowhere, and ask all for something else."""
    yield from nodes(FEW)
    for i in range(n):
        yield pod(f"pod-{i}", requests=requests_of("9999999", f"{1 + i}Mi"))


@series(5000)
def unlike(n):
    """Pods that ask all for something else."""
    yield from nodes(FEW)
    for i in range(n):
        yield pod(f"pod-{i}", requests=requests_of("1m", f"{1 + i}Ki"))


@series(5000)
def run_times(n):
    """Pods that run for a while, more than fit at a time."""
    yield from (node(f"node-{i}") for i in range(FEW))
    for i in range(n):
        each = pod(f"pod-{i}", requests=requests_of("1", "1Mi"))
        each["metadata"]["annotations"] = {"simulation.berth/run-time": f"{1 + i % 60}s"}
        yield each


@series(2000)
def run_times_unlike(n):
    """Pods that run for a while, more than fit at a time, and ask all for something else."""
    yield from (node(f"node-{i}") for i in range(FEW))
    for i in range(n):
        each = pod(f"pod-{i}", requests=requests_of("1", f"{1 + i}Ki"))
        each["metadata"]["annotations"] = {"simulation.berth/run-time": f"{1 + i % 60}s"}
        yield each


@series(5000)
def gates(n):
    """Pods behind a gate of their own."""
    yield from few_pods()
    for i in range(n):
        yield pod(f"gated-{i}", requests=IDLE, schedulingGates=[{"name": f"example.com/gate-{i}"}])


@series(10000)
def volumes_on_one_pod(n):
    """Claims of a pod."""
    yield from few_pods()
    for i in range(n):
        yield from bound_volume(f"claim-{i}")
    yield pod("pod", requests=IDLE, volumes=[{"name": f"v-{i}", "persistentVolumeClaim": {"claimName": f"claim-{i}"}}
                                             for i in range(n)])


# --- GPUs -----------------------------------------------------------------------------------------------------------

def cards(count):
    return {GPU: str(count)}


def share(i, milli):
    each = pod(f"pod-{i}", requests=requests_of("1m", "1Mi"))
    each["metadata"]["annotations"] = {"alibabacloud.com/gpu-milli": str(milli), "alibabacloud.com/gpu-count": "1"}
    return each


def sizes_of_shares(n):
    """Pods with so many sizes of shares of a card."""
    for i in range(500):
        yield node(f"node-{i}", cpu="96", memory="900Gi", **cards(8))
    for i in range(2000):
        yield share(i, 1 + i % n)


def cards_on_one_node(n):
    """Cards of a node, and a hundred pods with shares of them."""
    yield node("node", cpu="9000", memory="90000Gi", pods="100000", **cards(n))
    for i in range(100):
        yield share(i, (1 + i % 4) * 200)


@series(500, "gpu")
def cards_and_shares(n):
    """Cards of a node, and as many pods with shares of them."""
    yield node("node", cpu="9000", memory="90000Gi", pods="100000", **cards(n))
    for i in range(n):
        yield share(i, (1 + i % 4) * 200)


for short, config in (("fgd", "gpu-fgd"), ("waste", "gpu")):
    for objects, n in ((sizes_of_shares, 400), (cards_on_one_node, 500)):
        SERIES[f"{objects.__name__.replace('_', '-')}-{short}"] = Series(objects, n, CONFIG.format(config))

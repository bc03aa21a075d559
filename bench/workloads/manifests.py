# SPDX-License-Identifier: Apache-2.0
"""Kubernetes objects of the generated clusters, as dicts that JSON can write."""

GPU = "nvidia.com/gpu"
ZONE = "topology.kubernetes.io/zone"
GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
KOORDINATOR_GANG = "gang.scheduling.koordinator.sh"  # annotations begin with it
SCHEDULING_X = "scheduling.x-k8s.io/v1alpha1"


def moment(second):
    """The second-th second of the clusters' day, as a Kubernetes timestamp."""
    minutes, seconds = divmod(second, 60)
    hours, minutes = divmod(minutes, 60)
    return f"2026-01-01T{hours % 24:02d}:{minutes:02d}:{seconds:02d}Z"


def namespace(name):
    return {"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}}


def node(name, cpu="4", memory="32Gi", pods="110", labels={}, taints=(), **more_resources):
    """A node that is ready. `more_resources` are extended resources by name."""
    resources = {"cpu": cpu, "memory": memory, "pods": pods, **more_resources}
    spec = {}
    if taints:
        spec["taints"] = list(taints)
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
            "spec": spec,
            "status": {"capacity": resources, "allocatable": resources,
                       "conditions": [{"type": "Ready", "status": "True"}]}}


def requests_of(cpu, memory, **more):
    """Resource amounts by name, those left out that are empty."""
    return {name: amount for name, amount in {"cpu": cpu, "memory": memory, **more}.items() if amount}


def pod(name, ns="default", on=None, requests=requests_of("100m", "500Mi"), limited=True, labels=None,
        annotations=None, priority=0, created=None, **spec):
    """A pod of one container; `on` names the node that it runs on, `spec` has more fields of its spec."""
    container = {"name": "pause", "image": "registry.k8s.io/pause:3.10", "ports": [{"containerPort": 80}]}
    if requests:
        container["resources"] = {"requests": requests, **({"limits": requests} if limited else {})}
    metadata = {"name": name, "namespace": ns, "uid": ns + "/" + name}
    if labels:
        metadata["labels"] = labels
    if annotations:
        metadata["annotations"] = annotations
    if created is not None:
        metadata["creationTimestamp"] = moment(created)
    placement = {"nodeName": on} if on else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {"schedulerName": "default-scheduler", "priority": priority,
                     "containers": [container], **placement, **spec},
            "status": {"phase": "Running" if on else "Pending"}}


CSI_DRIVER = "ebs.csi.aws.com"


def csi_node(name, limit):
    """How many volumes a node can attach."""
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name},
            "spec": {"drivers": [{"name": CSI_DRIVER, "nodeID": name, "topologyKeys": [ZONE],
                                  "allocatable": {"count": limit}}]}}


def bound_volume(name, zone=None, size="10Gi", mode="ReadWriteOnce"):
    """A volume and the claim of the same name that it is bound to."""
    spec = {"accessModes": [mode], "storageClassName": "fast", "volumeMode": "Filesystem"}
    where = {"nodeAffinity": {"required": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]}}} if zone else {}
    yield {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "uid": "PV/" + name},
           "spec": {**spec, **where, "capacity": {"storage": size}, "persistentVolumeReclaimPolicy": "Delete",
                    "claimRef": {"namespace": "default", "name": name, "uid": "PVC/" + name},
                    "csi": {"driver": CSI_DRIVER, "volumeHandle": name}},
           "status": {"phase": "Bound"}}
    yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
           "metadata": {"name": name, "namespace": "default", "uid": "PVC/" + name,
                        "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
           "spec": {**spec, "volumeName": name, "resources": {"requests": {"storage": size}}},
           "status": {"phase": "Bound"}}


def using(claim):
    """The fields of a pod that uses the claim."""
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]}


DEVICE_DRIVER = "gpu.example.com"
DEVICE_API = "resource.k8s.io/v1"


def device_class(name=DEVICE_DRIVER, expression=""):
    """Of all devices of the driver, or of those that the expression selects, too."""
    of_driver = f'device.driver == "{DEVICE_DRIVER}"'
    selectors = [{"cel": {"expression": text}} for text in (of_driver, expression) if text]
    return {"apiVersion": DEVICE_API, "kind": "DeviceClass", "metadata": {"name": name}, "spec": {"selectors": selectors}}


def resource_slice(on, devices):
    """The devices of a node: of each its memory in GiB."""
    return {"apiVersion": DEVICE_API, "kind": "ResourceSlice", "metadata": {"name": on + "-" + DEVICE_DRIVER},
            "spec": {"driver": DEVICE_DRIVER, "nodeName": on,
                     "pool": {"name": on, "generation": 1, "resourceSliceCount": 1},
                     "devices": [{"name": f"gpu-{i}",
                                  "attributes": {"model": {"string": f"LATEST-GPU-{gib}"}, "numa": {"int": i // 4}},
                                  "capacity": {"memory": {"value": f"{gib}Gi"}}} for i, gib in enumerate(devices)]}}


def at_least(gib):
    return f'device.capacity["{DEVICE_DRIVER}"].memory.compareTo(quantity("{gib}Gi")) >= 0'


def devices_of(device_class, gpus, expression=""):
    """What a request asks for, or an alternative of one."""
    selectors = {"selectors": [{"cel": {"expression": expression}}]} if expression else {}
    return {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": gpus, **selectors}


def template_of(name, request, **devices):
    return {"apiVersion": DEVICE_API, "kind": "ResourceClaimTemplate", "metadata": {"name": name, "namespace": "default"},
            "spec": {"spec": {"devices": {"requests": [{"name": "gpu", **request}], **devices}}}}


def claim_template(name, gpus, at_least_gib):
    return template_of(name, {"exactly": devices_of(DEVICE_DRIVER, gpus, at_least(at_least_gib))})


# The partitions of an A100 of 40 GB by NVIDIA's MIG user guide: of each profile its multiprocessors, its slices of memory
# and the slices where it may begin.
MIG_PROFILES = {"1g.5gb": (14, 1, range(7)), "2g.10gb": (28, 2, (0, 2, 4)), "3g.20gb": (42, 4, (0, 4)),
                "4g.20gb": (56, 4, (0,)), "7g.40gb": (98, 8, (0,))}


def mig_slices(on, gpus):
    """The GPUs of a node, each whole and in all its partitions, which share counters as NVIDIA's DRA driver has them."""
    def consumed(gpu, multiprocessors, slices):
        counters = {"multiprocessors": {"value": str(multiprocessors)},
                    **{f"memory-slice-{i}": {"value": "1"} for i in slices}}
        return [{"counterSet": f"gpu-{gpu}-counters", "counters": counters}]

    def device(name, gpu, profile, multiprocessors, slices):
        return {"name": name, "attributes": {"profile": {"string": profile}},
                "consumesCounters": consumed(gpu, multiprocessors, slices)}

    def slice_of(name, **more):
        return {"apiVersion": DEVICE_API, "kind": "ResourceSlice", "metadata": {"name": f"{on}-{name}"},
                "spec": {"driver": DEVICE_DRIVER, "nodeName": on,
                         "pool": {"name": on, "generation": 1, "resourceSliceCount": gpus + 1}, **more}}

    counters = {"multiprocessors": {"value": "98"}, **{f"memory-slice-{i}": {"value": "1"} for i in range(8)}}
    yield slice_of("counters", sharedCounters=[{"name": f"gpu-{gpu}-counters", "counters": counters} for gpu in range(gpus)])
    for gpu in range(gpus):
        devices = [device(f"gpu-{gpu}", gpu, "gpu", 98, range(8))]
        for profile, (multiprocessors, length, begins) in MIG_PROFILES.items():
            devices += (device(f"gpu-{gpu}-mig-{profile.replace('.', '-')}-{begin}", gpu, profile, multiprocessors,
                               range(begin, begin + length)) for begin in begins)
        yield slice_of(f"gpu-{gpu}", devices=devices)


def profile_template(name, profile, count=1):
    exactly = {"deviceClassName": DEVICE_DRIVER, "allocationMode": "ExactCount", "count": count,
               "selectors": [{"cel": {"expression": f'device.attributes["{DEVICE_DRIVER}"].profile == "{profile}"'}}]}
    return {"apiVersion": DEVICE_API, "kind": "ResourceClaimTemplate", "metadata": {"name": name, "namespace": "default"},
            "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}}}


def claiming(template):
    """The fields of a pod that has a claim of the template."""
    return {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": template}]}


def share_of_gpu_node(gpus):
    """CPU and memory that go with so many GPUs, and the GPUs."""
    return requests_of(str(10 * gpus), f"{120 * gpus}Gi", **{GPU: str(gpus)})


def gpu_pod(name, gpus, ns="default", **fields):
    return pod(name, ns, requests=share_of_gpu_node(gpus), **fields)


def gpu_node(i):
    """Eight GPUs; racks of 16 nodes, zones of 250."""
    return node(f"gpu-{i:05d}", cpu="192", memory="2048Gi",
                labels={ZONE: f"zone-{i // 250}",
                        "topology.kubernetes.io/rack": f"rack-{i // 16}",
                        "nvidia.com/gpu.product": "NVIDIA-H200"},
                **{GPU: "8"})


def pod_group(name, members, timeout_seconds, created, resources=None):
    spec = {"minMember": members, "scheduleTimeoutSeconds": timeout_seconds}
    if resources:
        spec["minResources"] = resources
    return {"apiVersion": SCHEDULING_X, "kind": "PodGroup",
            "metadata": {"name": name, "namespace": "default", "uid": "PodGroup/default/" + name,
                         "creationTimestamp": moment(created)},
            "spec": spec}


def kubernetes_pod_group(name, members, created, level):
    """One of Kubernetes 1.37, whose pods have to be in one domain of that label."""
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
            "metadata": {"name": name, "namespace": "default", "uid": "PodGroup/default/" + name,
                         "creationTimestamp": moment(created)},
            "spec": {"schedulingPolicy": {"gang": {"minCount": members}},
                     "schedulingConstraints": {"topology": [{"key": level}]}}}


def cluster_quota(name, parent=None, namespaces=(), **amounts):
    """A quota in a tree; `amounts` are min, max, borrowingLimit …, by line."""
    spec = {**({"parent": parent} if parent else {}), **({"namespaces": list(namespaces)} if namespaces else {}), **amounts}
    return {"apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "ClusterQuota",
            "metadata": {"name": name, "uid": "ClusterQuota/" + name, "creationTimestamp": moment(0)}, "spec": spec}


def elastic_quota(name, ns, least, most):
    """A quota of `least` to `most` GPUs, with the CPU and memory that go with them."""
    return {"apiVersion": SCHEDULING_X, "kind": "ElasticQuota", "metadata": {"name": name, "namespace": ns},
            "spec": {"min": share_of_gpu_node(least), "max": share_of_gpu_node(most)}}

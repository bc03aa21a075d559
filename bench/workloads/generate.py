#!/usr/bin/env python3
"""Generate benchmark clusters for a Kubernetes-style scheduler, the same bytes for the same arguments.

    generate.py WORKLOAD [--nodes N] [--pods N] [--placed N] [--seed S] [--format jsonl|yaml] [-o FILE]
    generate.py --list

The output is an ordinary manifest stream: pods with spec.nodeName are already placed, the others are pending, and are
queued in file order. jsonl (one object a line) is the default; yaml is the same objects as a multi-document stream.
"""
import argparse
import json
import random
import sys

EPOCH = "2026-01-01T%02d:%02d:%02dZ"
GPU = "nvidia.com/gpu"


def stamp(seconds):
    return EPOCH % (seconds // 3600 % 24, seconds // 60 % 60, seconds % 60)


def node(name, cpu="4", memory="32Gi", pods="110", labels=None, taints=None, extra=None):
    capacity = {"cpu": cpu, "memory": memory, "pods": pods}
    capacity.update(extra or {})
    spec = {"taints": taints} if taints else {}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
            "spec": spec,
            "status": {"capacity": capacity, "allocatable": capacity,
                       "conditions": [{"type": "Ready", "status": "True"}]}}


def pod(name, namespace="default", cpu="100m", memory="500Mi", node_name=None, labels=None, priority=None, limits=True,
        extra=None, created=None, **spec_fields):
    requests = {}
    if cpu:
        requests["cpu"] = cpu
    if memory:
        requests["memory"] = memory
    requests.update(extra or {})
    container = {"name": "pause", "image": "registry.k8s.io/pause:3.10", "ports": [{"containerPort": 80}]}
    if requests:
        container["resources"] = {"requests": requests}
        if limits:
            container["resources"]["limits"] = requests
    meta = {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}"}
    if labels:
        meta["labels"] = labels
    if created is not None:
        meta["creationTimestamp"] = stamp(created)
    spec = {"schedulerName": "default-scheduler", "priority": priority or 0, "containers": [container]}
    if node_name:
        spec["nodeName"] = node_name
    spec.update(spec_fields)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec,
            "status": {"phase": "Running" if node_name else "Pending"}}


def namespace(name):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}}


def plain_nodes(count, zones=()):
    for i in range(count):
        labels = {"topology.kubernetes.io/zone": zones[i % len(zones)]} if zones else None
        yield node(f"node-{i:05d}", labels=labels)


def placed(count, nodes, make):
    """count pods, round robin over the nodes."""
    for i in range(count):
        yield make(i, f"node-{i % nodes:05d}")


# --- kubernetes/test/integration/scheduler_perf, as static clusters -------------------------------------------------

def basic(a, rng):
    yield namespace("default")
    yield from plain_nodes(a.nodes)
    yield from placed(a.placed, a.nodes, lambda i, n: pod(f"init-{i:06d}", node_name=n))
    for i in range(a.pods):
        yield pod(f"pod-{i:06d}")


def anti_affinity(a, rng):
    term = {"labelSelector": {"matchLabels": {"color": "green"}}, "topologyKey": "kubernetes.io/hostname",
            "namespaces": ["sched-1", "sched-0"]}
    aff = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    for n in ("default", "sched-0", "sched-1"):
        yield namespace(n)
    yield from plain_nodes(a.nodes)
    yield from placed(a.placed, a.nodes, lambda i, n: pod(f"init-{i:06d}", "sched-0", node_name=n, labels={"color": "green"}, affinity=aff))
    for i in range(a.pods):
        yield pod(f"pod-{i:06d}", "sched-1", labels={"color": "green"}, affinity=aff)


def preferred_affinity(a, rng):
    term = {"labelSelector": {"matchLabels": {"color": "red"}}, "topologyKey": "kubernetes.io/hostname",
            "namespaces": ["sched-1", "sched-0"]}
    aff = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}}
    for n in ("default", "sched-0", "sched-1"):
        yield namespace(n)
    yield from plain_nodes(a.nodes)
    yield from placed(a.placed, a.nodes, lambda i, n: pod(f"init-{i:06d}", "sched-0", node_name=n, labels={"color": "red"}, affinity=aff))
    for i in range(a.pods):
        yield pod(f"pod-{i:06d}", "sched-1", labels={"color": "red"}, affinity=aff)


def topology_spreading(a, rng):
    c = [{"maxSkew": 5, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
          "labelSelector": {"matchLabels": {"color": "blue"}}}]
    yield namespace("default")
    yield from plain_nodes(a.nodes, ("moon-1", "moon-2", "moon-3"))
    yield from placed(a.placed, a.nodes, lambda i, n: pod(f"init-{i:06d}", node_name=n))
    for i in range(a.pods):
        yield pod(f"pod-{i:06d}", labels={"color": "blue"}, topologySpreadConstraints=c)


def node_inclusion_policy(a, rng):
    """A fifth of the nodes are tainted; one pod per untainted node under maxSkew 1 by hostname."""
    c = [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
          "nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Honor", "labelSelector": {"matchLabels": {"foo": "bar"}}}]
    yield namespace("default")
    tainted = a.nodes // 5
    yield from plain_nodes(a.nodes - tainted)
    for i in range(tainted):
        yield node(f"taint-node-{i:05d}", taints=[{"key": "foo", "effect": "NoSchedule"}])
    for i in range(a.pods):
        yield pod(f"pod-{i:06d}", labels={"foo": "bar"}, topologySpreadConstraints=c)


def low_priority(i, n):
    return pod(f"low-{i:06d}", cpu="900m", node_name=n, terminationGracePeriodSeconds=0, created=i % 3600)


def preemption_basic(a, rng):
    """Every node holds four 0.9-CPU pods of priority 0; every pending pod (3 CPU, priority 10) needs victims."""
    yield namespace("default")
    yield from plain_nodes(a.nodes)
    yield from placed(a.placed, a.nodes, low_priority)
    for i in range(a.pods):
        yield pod(f"high-{i:06d}", cpu="3", priority=10)


def preemption_mixed(a, rng):
    """PreemptionAsync without its clock: small pods, and for each 50 of them one pod of priority 10 that needs victims.
    (Upstream adds the latter at 5/s. A priority queue takes them all first here.)"""
    yield namespace("default")
    yield from plain_nodes(a.nodes)
    yield from placed(a.placed, a.nodes, low_priority)
    for i in range(a.pods):
        if i % 50 == 0:
            yield pod(f"high-{i // 50:06d}", cpu="3", priority=10)
        yield pod(f"pod-{i:06d}")


def small_on_full(a, rng):
    """The cluster of PreemptionAsync with only its measured pods; the preempting ones come from a churn file."""
    yield namespace("default")
    yield from plain_nodes(a.nodes)
    yield from placed(a.placed, a.nodes, low_priority)
    for i in range(a.pods):
        yield pod(f"pod-{i:06d}")


def unschedulable(a, rng):
    """For each 100 small pods one of priority 10 that asks for 9 of a node's 4 CPUs. (Upstream adds them at 5/s.)"""
    yield namespace("default")
    yield from plain_nodes(a.nodes)
    yield from placed(a.placed, a.nodes, lambda i, n: pod(f"init-{i:06d}", node_name=n))
    for i in range(a.pods):
        if i % 100 == 0:
            yield pod(f"huge-{i // 100:06d}", cpu="9", priority=10, limits=False)
        yield pod(f"pod-{i:06d}")


def gated(a, rng):
    """a.placed gated pods that never become schedulable, and a.pods plain ones, on a few large nodes."""
    yield namespace("default")
    for i in range(a.nodes):
        yield node(f"node-{i:05d}", pods="90000")
    for i in range(a.placed):
        yield pod(f"gated-{i:06d}", cpu=None, memory=None, schedulingGates=[{"name": "test.k8s.io/hold"}])
    for i in range(a.pods):
        yield pod(f"pod-{i:06d}", cpu=None, memory=None)


def churn_high(a, rng):
    """A churn file: one pod that preempts (see preemption_basic)."""
    yield pod("churn-high", cpu="3", priority=10)


def churn_huge(a, rng):
    """A churn file: one pod that fits nowhere."""
    yield pod("churn-huge", cpu="9", priority=10, limits=False)


def churn_mixed(a, rng):
    """A churn file: a node without room for pods, and a pod that fits nowhere (SchedulingWithMixedChurn)."""
    yield node("churn-node", cpu="0", memory="0", pods="0")
    yield pod("churn-huge", cpu="9", priority=10, limits=False)


# --- AI clusters ----------------------------------------------------------------------------------------------------

def gpu_nodes(count, per_node=8):
    for i in range(count):
        labels = {"topology.kubernetes.io/zone": f"zone-{i // 250}", "topology.kubernetes.io/rack": f"rack-{i // 16}",
                  "nvidia.com/gpu.product": "NVIDIA-H200"}
        yield node(f"gpu-{i:05d}", cpu="192", memory="2048Gi", labels=labels, extra={GPU: str(per_node)})


def gpu_pod(name, gpus, ns="default", **kw):
    return pod(name, ns, cpu=str(10 * gpus), memory=f"{120 * gpus}Gi", extra={GPU: str(gpus)}, **kw)


def gpu_binpack(a, rng):
    """Pods of 1, 2, 4 and 8 GPUs, in random order; they never ask for more than the cluster holds."""
    yield namespace("default")
    yield from gpu_nodes(a.nodes)
    left = a.nodes * 8
    for i in range(a.pods):
        rest = a.pods - i - 1  # each pod still to come needs at least one
        g = rng.choices((1, 2, 4, 8), (92, 5, 2, 1))[0] if a.pods > a.nodes * 2 else rng.choice((1, 2, 4, 8))
        while g > 1 and left - g < rest:
            g //= 2
        if left - g < 0:
            return
        left -= g
        yield gpu_pod(f"pod-{i:06d}", g)


def gangs(a, rng, share, interleave=False, min_resources=False):
    """PodGroups of 8 to 64 members of 1, 2, 4 or 8 GPUs; together they ask for about `share` of the cluster's GPUs."""
    yield namespace("default")
    yield from gpu_nodes(a.nodes)
    total = int(a.nodes * 8 * share)
    sizes = [rng.choice((8, 8, 8, 12, 16, 16, 24, 32, 48, 64)) for _ in range(a.groups)]
    gpus = [1] * a.groups
    used = sum(sizes)
    order = list(range(a.groups))
    if used > total:  # more pods than GPUs: shrink some of the groups
        rng.shuffle(order)
        for i in order:
            while sizes[i] > 8 and used > total:
                used -= sizes[i] - 8
                sizes[i] = 8
    for target in (8, 4, 2):  # raise some of the groups to 8, 4, 2 GPUs a member while that does not pass the total
        rng.shuffle(order)
        for i in order[:a.groups // 4 if target > 2 else a.groups]:
            if gpus[i] == 1 and used + sizes[i] * (target - 1) <= total:
                gpus[i] = target
                used += sizes[i] * (target - 1)
    for i in range(a.groups):
        spec = {"minMember": sizes[i], "scheduleTimeoutSeconds": a.permit}
        if min_resources:
            n = sizes[i] * gpus[i]
            spec["minResources"] = {"cpu": str(10 * n), "memory": f"{120 * n}Gi", GPU: str(n)}
        yield {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup",
               "metadata": {"name": f"gang-{i:04d}", "namespace": "default", "uid": f"PodGroup/default/gang-{i:04d}",
                            "creationTimestamp": stamp(0 if interleave else i)},
               "spec": spec}
    members = []
    for i in range(a.groups):
        for j in range(sizes[i]):
            members.append((i, j))
    if interleave:
        members.sort(key=lambda m: (m[1], m[0]))
    for i, j in members:
        yield gpu_pod(f"m{j:03d}-gang-{i:04d}" if interleave else f"gang-{i:04d}-{j:03d}", gpus[i], labels={"scheduling.x-k8s.io/pod-group": f"gang-{i:04d}"},
                      created=0 if interleave else i)


def gang(a, rng):
    yield from gangs(a, rng, 0.9)


def gang_contended(a, rng):
    yield from gangs(a, rng, 1.5)


def gang_contended_interleaved(a, rng):
    """All groups are created within one second, and the pods' names sort by member, not by group: a queue that orders
    by creation time and then by name interleaves the groups."""
    yield from gangs(a, rng, 1.5, interleave=True)


def gang_interleaved(a, rng):
    """As gang (90 %), with the groups interleaved."""
    yield from gangs(a, rng, 0.9, interleave=True)


def gang_contended_minresources(a, rng):
    yield from gangs(a, rng, 1.5, min_resources=True)


def quota(a, rng):
    """Twenty namespaces, each with an ElasticQuota of min = a twentieth of the GPUs and max = three times that. Half of
    them (the borrowers) already hold all the GPUs with pods of priority 0, each 2 x its min. The others then ask for
    their min: it has to be reclaimed."""
    teams = 20
    share = a.nodes * 8 // teams
    yield namespace("default")
    for t in range(teams):
        yield namespace(f"team-{t:02d}")
    for t in range(teams):
        lim = lambda k: {"cpu": str(10 * k), "memory": f"{120 * k}Gi", GPU: str(k)}
        yield {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota",
               "metadata": {"name": f"team-{t:02d}", "namespace": f"team-{t:02d}"},
               "spec": {"min": lim(share), "max": lim(3 * share)}}
    yield from gpu_nodes(a.nodes)
    slot = 0  # fill node after node with one-GPU pods, team after team in turn
    for i in range(2 * share):
        for t in range(teams // 2):
            yield gpu_pod(f"borrow-{i:05d}", 1, f"team-{t:02d}", node_name=f"gpu-{slot // 8:05d}", created=slot % 86400,
                          terminationGracePeriodSeconds=0)
            slot += 1
    per_team = a.pods // (teams // 2)
    for i in range(per_team):
        for t in range(teams // 2, teams):
            yield gpu_pod(f"owner-{i:05d}", 1, f"team-{t:02d}", priority=10)


def quota_fresh(a, rng):
    """The same quotas on an empty cluster: every team asks for more than its min, so that teams borrow, and the sum
    asks for 110 % of the GPUs."""
    teams = 20
    share = a.nodes * 8 // teams
    yield namespace("default")
    for t in range(teams):
        yield namespace(f"team-{t:02d}")
    for t in range(teams):
        lim = lambda k: {"cpu": str(10 * k), "memory": f"{120 * k}Gi", GPU: str(k)}
        yield {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota",
               "metadata": {"name": f"team-{t:02d}", "namespace": f"team-{t:02d}"},
               "spec": {"min": lim(share), "max": lim(3 * share)}}
    yield from gpu_nodes(a.nodes)
    for i in range(a.pods):
        yield gpu_pod(f"pod-{i:06d}", 1, f"team-{rng.randrange(teams):02d}")


# name: (generator, nodes, pods, placed)
WORKLOADS = {
    "basic": (basic, 5000, 10000, 1000),
    "big": (basic, 15000, 50000, 0),
    "anti-affinity": (anti_affinity, 5000, 2000, 1000),
    "preferred-affinity": (preferred_affinity, 5000, 5000, 5000),
    "topology-spreading": (topology_spreading, 5000, 5000, 5000),
    "node-inclusion-policy": (node_inclusion_policy, 5000, 4000, 0),
    "preemption-basic": (preemption_basic, 1000, 1000, 4000),
    "preemption-5000": (preemption_basic, 5000, 5000, 20000),
    "preemption-mixed": (preemption_mixed, 5000, 5000, 20000),
    "preemption-async": (small_on_full, 5000, 5000, 20000),
    "unschedulable": (unschedulable, 5000, 10000, 20000),
    "unschedulable-churn": (basic, 5000, 10000, 20000),
    "mixed-churn": (basic, 5000, 10000, 0),
    "gated": (gated, 1, 20000, 10000),
    "churn-high": (churn_high, 0, 1, 0),
    "churn-huge": (churn_huge, 0, 1, 0),
    "churn-mixed": (churn_mixed, 0, 1, 0),
    "gpu-binpack": (gpu_binpack, 1000, 7000, 0),
    "gpu-mixed": (gpu_binpack, 1000, 2000, 0),
    "gang": (gang, 1000, 0, 0),
    "gang-contended": (gang_contended, 1000, 0, 0),
    "gang-interleaved": (gang_interleaved, 1000, 0, 0),
    "gang-contended-interleaved": (gang_contended_interleaved, 1000, 0, 0),
    "gang-contended-minresources": (gang_contended_minresources, 1000, 0, 0),
    "quota": (quota, 1000, 4000, 0),
    "quota-100": (quota, 100, 400, 0),
    "quota-fresh": (quota_fresh, 1000, 8800, 0),
}


def yaml_value(v, indent):
    """YAML of dicts, lists and scalars; scalars are JSON, which YAML contains."""
    pad = "  " * indent
    if isinstance(v, dict) and v:
        return "\n" + "\n".join(f"{pad}{k}:{yaml_item(x, indent + 1)}" for k, x in v.items())
    if isinstance(v, list) and v:
        return "\n" + "\n".join(f"{pad}-{yaml_item(x, indent + 1)}" for x in v)
    return " " + json.dumps(v)


def yaml_item(v, indent):
    return yaml_value(v, indent)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("workload", nargs="?")
    ap.add_argument("--list", action="store_true")
    ap.add_argument("--nodes", type=int)
    ap.add_argument("--pods", type=int)
    ap.add_argument("--placed", type=int)
    ap.add_argument("--groups", type=int, default=None, help="gangs: how many PodGroups")
    ap.add_argument("--permit", type=int, default=10, help="gangs: scheduleTimeoutSeconds")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--format", choices=("jsonl", "yaml"), default="jsonl")
    ap.add_argument("-o", "--output")
    a = ap.parse_args()
    if a.list or not a.workload:
        for k, (f, n, p, q) in WORKLOADS.items():
            print(f"{k:30s} nodes {n:6d} pods {p:6d} placed {q:6d}  {(f.__doc__ or '').strip().splitlines()[0] if f.__doc__ else ''}")
        return
    if a.workload not in WORKLOADS:
        sys.exit(f"no workload {a.workload!r}; --list shows them")
    gen, n, p, q = WORKLOADS[a.workload]
    a.nodes = n if a.nodes is None else a.nodes
    a.pods = p if a.pods is None else a.pods
    a.placed = q if a.placed is None else a.placed
    a.groups = 500 if a.groups is None else a.groups
    out = open(a.output, "w") if a.output else sys.stdout
    for o in gen(a, random.Random(a.seed)):
        if a.format == "jsonl":
            out.write(json.dumps(o, separators=(",", ":")) + "\n")
        else:
            out.write("---" + yaml_value(o, 0) + "\n")
    if a.output:
        out.close()


if __name__ == "__main__":
    main()

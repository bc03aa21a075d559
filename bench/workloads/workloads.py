# SPDX-License-Identifier: Apache-2.0
"""The clusters that can be generated. A workload is a function from a Size and a random source to objects.

Pods with spec.nodeName run already; the others are pending, and are queued in the order in which they come.
"""
import collections
import itertools

from manifests import (DEVICE_DRIVER, GPU, GROUP_LABEL, KOORDINATOR_GANG, ZONE, at_least, bound_volume, claim_template,
                       claiming, cluster_quota, composite_pod_group, csi_node, device_class, devices_of, elastic_quota,
                       gpu_node, gpu_pod, kubernetes_pod_group, mig_slices, moment, namespace, node, pod, pod_group,
                       profile_template, requests_of, resource_slice, share_of_gpu_node, template_of, using)

Size = collections.namedtuple("Size", "nodes pods placed groups permit", defaults=(500, 10))
Workload = collections.namedtuple("Workload", "objects size config")

HOST = "kubernetes.io/hostname"
RACK = "topology.example.com/rack"
NODES_A_RACK = 18
ZONES = ("moon-1", "moon-2", "moon-3")


def numbered(prefix, count, digits=6):
    return (f"{prefix}-{i:0{digits}d}" for i in range(count))


def plain_nodes(count, zones=()):
    for i, name in enumerate(numbered("node", count, 5)):
        yield node(name, labels={ZONE: zones[i % len(zones)]} if zones else {})


def nodes_in_racks(count):
    for i, name in enumerate(numbered("node", count, 5)):
        yield node(name, labels={RACK: f"rack-{i // NODES_A_RACK:05d}"})


def running(size, prefix="init", **fields):
    """size.placed pods, dealt to the nodes in turn."""
    names = itertools.cycle(numbered("node", size.nodes, 5)) if size.nodes else ()
    for name, on in zip(numbered(prefix, size.placed), names):
        yield pod(name, on=on, **fields)


def pending(size, **fields):
    return (pod(name, **fields) for name in numbered("pod", size.pods))


# --- As in kubernetes' test/integration/scheduler_perf, as clusters at one moment -----------------------------------

def basic(size, rng):
    """Small pods, all alike."""
    yield namespace("default")
    yield from plain_nodes(size.nodes)
    yield from running(size)
    yield from pending(size)


def between_two_namespaces(size, color, affinity):
    for name in ("default", "sched-0", "sched-1"):
        yield namespace(name)
    yield from plain_nodes(size.nodes)
    fields = {"labels": {"color": color}, "affinity": affinity}
    yield from running(size, ns="sched-0", **fields)
    yield from pending(size, ns="sched-1", **fields)


def by_host(color):
    return {"labelSelector": {"matchLabels": {"color": color}}, "topologyKey": HOST,
            "namespaces": ["sched-1", "sched-0"]}


def anti_affinity(size, rng):
    """No two green pods on a node."""
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": [by_host("green")]}
    return between_two_namespaces(size, "green", {"podAntiAffinity": rule})


def preferred_affinity(size, rng):
    """Red pods like to be where red pods are."""
    rule = {"preferredDuringSchedulingIgnoredDuringExecution":
            [{"weight": 1, "podAffinityTerm": by_host("red")}]}
    return between_two_namespaces(size, "red", {"podAffinity": rule})


def spread(max_skew, key, label, unless="DoNotSchedule", **policies):
    return {"labels": dict([label]),
            "topologySpreadConstraints": [{"maxSkew": max_skew, "topologyKey": key,
                                           "whenUnsatisfiable": unless,
                                           "labelSelector": {"matchLabels": dict([label])}, **policies}]}


def topology_spreading(size, rng):
    """Blue pods spread over three zones, beside pods that are not blue."""
    yield namespace("default")
    yield from plain_nodes(size.nodes, zones=ZONES)
    yield from running(size)
    yield from pending(size, **spread(5, ZONE, ("color", "blue")))


def rack_affinity(size, rng):
    """Red pods like to be in racks where red pods are."""
    yield namespace("default")
    yield from nodes_in_racks(size.nodes)
    term = {"labelSelector": {"matchLabels": {"color": "red"}}, "topologyKey": RACK}
    rule = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}
    fields = {"labels": {"color": "red"}, "affinity": {"podAffinity": rule}}
    yield from running(size, **fields)
    yield from pending(size, **fields)


def rack_spreading(size, rng):
    """Blue pods spread over racks if they can, beside pods that are not blue."""
    yield namespace("default")
    yield from nodes_in_racks(size.nodes)
    yield from running(size)
    yield from pending(size, **spread(1, RACK, ("color", "blue"), unless="ScheduleAnyway"))


def node_inclusion_policy(size, rng):
    """One pod a node, where the fifth of the nodes that is tainted does not count."""
    yield namespace("default")
    tainted = size.nodes // 5
    yield from plain_nodes(size.nodes - tainted)
    for name in numbered("taint-node", tainted, 5):
        yield node(name, taints=[{"key": "foo", "effect": "NoSchedule"}])
    yield from pending(size, **spread(1, HOST, ("foo", "bar"), nodeAffinityPolicy="Honor",
                                      nodeTaintsPolicy="Honor"))


def needs_victims(name):
    return pod(name, requests=requests_of("3", "500Mi"), priority=10)


def fits_nowhere(name):
    return pod(name, requests=requests_of("9", "500Mi"), priority=10, limited=False)


def full_of_low_priority(size):
    """Nodes, and pods of priority 0 that ask for 0.9 of a CPU: four to a node fill it."""
    yield namespace("default")
    yield from plain_nodes(size.nodes)
    low = running(size, "low", requests=requests_of("900m", "500Mi"), terminationGracePeriodSeconds=0)
    for i, victim in enumerate(low):
        victim["metadata"]["creationTimestamp"] = moment(i % 3600)
        yield victim


def preemption_basic(size, rng):
    """A full cluster; each pod has to evict three."""
    yield from full_of_low_priority(size)
    yield from map(needs_victims, numbered("high", size.pods))


def with_one_in(period, size, prefix, special):
    """The pending pods of `basic`, and before each `period` of them one of another sort."""
    for i, small in enumerate(pending(size)):
        if i % period == 0:
            yield special(f"{prefix}-{i // period:06d}")
        yield small


def preemption_mixed(size, rng):
    """A full cluster; small pods, and for each 50 of them one that evicts."""
    yield from full_of_low_priority(size)
    yield from with_one_in(50, size, "high", needs_victims)


def preemption_in_vain(size, rng):
    """Nodes full of pods more important than those that wait, but for a few that make too little room."""
    yield namespace("default")
    yield from plain_nodes(size.nodes)
    half = size._replace(placed=size.placed // 2)
    yield from running(half, "large", requests=requests_of("1700m", "500Mi"), priority=100)
    yield from running(half, "small", requests=requests_of("250m", "500Mi"), terminationGracePeriodSeconds=0)
    yield from with_one_in(50, size, "high", needs_victims)


def small_on_full(size, rng):
    """Small pods on a full cluster; pods that evict come from a churn file."""
    yield from full_of_low_priority(size)
    yield from pending(size)


def unschedulable(size, rng):
    """Small pods, and for each 100 of them one of higher priority that fits nowhere."""
    yield namespace("default")
    yield from plain_nodes(size.nodes)
    yield from running(size)
    yield from with_one_in(100, size, "huge", fits_nowhere)


def rejected(size, rng):
    """Small pods, and before each fourth of them one that the pods of the first two zones keep off every node: by
    constraints over zones and over hosts, by affinity and by anti-affinity in turn. The third zone is tainted."""
    yield namespace("default")
    tainted = size.nodes // 3
    yield from plain_nodes(size.nodes - tainted, zones=("moon-1", "moon-2"))
    for name in numbered("taint-node", tainted, 5):
        yield node(name, labels={ZONE: "moon-3"}, taints=[{"key": "foo", "effect": "NoSchedule"}])
    first = Size(size.nodes - tainted, 0, size.placed)
    yield from running(first, labels={"color": "blue"})

    def near(kind, key, color):
        term = {"labelSelector": {"matchLabels": {"color": color}}, "topologyKey": key}
        return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}

    kinds = itertools.cycle([spread(1, ZONE, ("color", "blue")), spread(1, HOST, ("color", "blue")),
                             near("podAffinity", ZONE, "red"), near("podAntiAffinity", HOST, "blue")])
    yield from with_one_in(4, size, "nowhere", lambda name: pod(name, **next(kinds)))


def nodes_that_attach(count):
    """In three zones; each can attach 39 volumes."""
    yield namespace("default")
    yield from plain_nodes(count, ZONES)
    for name in numbered("node", count, 5):
        yield csi_node(name, 39)


def volumes(size, rng):
    """Pods of which each has a CSI volume of its own, in one of the zones."""
    yield from nodes_that_attach(size.nodes)
    names = itertools.cycle(numbered("node", size.nodes, 5)) if size.nodes else ()
    for i, (name, on) in enumerate(zip(numbered("init", size.placed), names)):
        yield from bound_volume(name, ZONES[i % size.nodes % len(ZONES)])
        yield pod(name, on=on, **using(name))
    for name in numbered("pod", size.pods):
        yield from bound_volume(name, rng.choice(ZONES))
        yield pod(name, **using(name))


def shared_volume(size, rng):
    """Pods that all use one volume, in one of the zones."""
    yield from nodes_that_attach(size.nodes)
    yield from bound_volume("training-set", ZONES[0], mode="ReadWriteMany")
    yield from running(size)
    yield from pending(size, **using("training-set"))


def gated(size, rng):
    """`placed` pods behind a gate that never opens, and others on a few large nodes."""
    yield namespace("default")
    for name in numbered("node", size.nodes, 5):
        yield node(name, pods="90000")
    for name in numbered("gated", size.placed):
        yield pod(name, requests=None, schedulingGates=[{"name": "test.k8s.io/hold"}])
    yield from pending(size, requests=None)


# Churn files: what is created and deleted again and again beside another workload.

def churn_high(size, rng):
    """A pod that evicts."""
    yield needs_victims("churn-high")


def churn_huge(size, rng):
    """A pod that fits nowhere."""
    yield fits_nowhere("churn-huge")


def churn_mixed(size, rng):
    """A node without room, and a pod that fits nowhere."""
    yield node("churn-node", cpu="0", memory="0", pods="0")
    yield fits_nowhere("churn-huge")


# --- Pods that differ -----------------------------------------------------------------------------------------------

def unalike(size, rng):
    """Small pods of which no two ask for the same."""
    yield namespace("default")
    yield from plain_nodes(size.nodes)
    yield from running(size)
    for i, name in enumerate(numbered("pod", size.pods)):
        yield pod(name, requests=requests_of(f"{50 + rng.randrange(100)}m", str((400 << 20) + i)))


# --- Many applications of a few pods each ----------------------------------------------------------------------------

SHAPES = ((4, 16), (8, 32), (16, 64), (32, 128), (64, 256))  # CPUs and GiB of a node
POOLS = ("general", "general", "compute", "memory", "batch")
DEDICATED = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
RACKS = 100


def nodes_of_shapes(size, rng):
    """[(name, milliCPU, MiB)] and the nodes: five shapes, three zones, 100 racks; one in 20 is tainted."""
    rooms, nodes = [], []
    for i, name in enumerate(numbered("node", size.nodes, 5)):
        cpus, gib = rng.choice(SHAPES)
        labels = {ZONE: ZONES[i % len(ZONES)], RACK: f"rack-{i % RACKS:03d}", "pool": rng.choice(POOLS),
                  "disk": rng.choice(("ssd", "hdd"))}
        tainted = rng.random() < 0.05
        rooms.append([name, 1000 * cpus, 1024 * gib, tainted])
        nodes.append(node(name, cpu=str(cpus), memory=f"{gib}Gi", labels=labels, taints=[DEDICATED] if tainted else ()))
    return rooms, nodes


def one_of(key, values):
    return {"matchExpressions": [{"key": key, "operator": "In", "values": values}]}


def application(i, count, rng):
    """The labels and the spec that the pods of an application share, by chance."""
    name = f"app-{i:05d}"
    like = {"matchLabels": {"app": name}}
    node_affinity, anti, pod_affinity, spec = {}, {}, {}, {}
    required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
    if rng.random() < 0.25:
        values = rng.choice((["general"], ["general", "compute"], ["memory", "general"], ["compute", "memory"]))
        node_affinity[required] = {"nodeSelectorTerms": [one_of("pool", values)]}
    if rng.random() < 0.25:
        node_affinity[preferred] = [{"weight": rng.choice((1, 10, 50)),
                                     "preference": one_of(*rng.choice((("disk", ["ssd"]), ("pool", ["compute"]),
                                                                       (ZONE, [rng.choice(ZONES)]))))}]
    if rng.random() < 0.25:
        unless = rng.choice(("DoNotSchedule", "ScheduleAnyway"))
        spec["topologySpreadConstraints"] = [{"maxSkew": rng.choice((1, 2, 5)), "topologyKey": rng.choice((ZONE, HOST)),
                                              "whenUnsatisfiable": unless, "labelSelector": like}]
    if rng.random() < 0.15:
        term = {"labelSelector": like, "topologyKey": HOST}
        if rng.random() < 0.5:
            anti[required] = [term]
        else:
            anti[preferred] = [{"weight": rng.choice((10, 100)), "podAffinityTerm": term}]
    if rng.random() < 0.15:
        other = {"labelSelector": {"matchLabels": {"app": f"app-{rng.randrange(count):05d}"}}, "topologyKey": ZONE}
        pod_affinity[preferred] = [{"weight": rng.choice((1, 10, 50)), "podAffinityTerm": other}]
    if rng.random() < 0.15:
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}]
    affinity = {"nodeAffinity": node_affinity, "podAntiAffinity": anti, "podAffinity": pod_affinity}
    affinity = {kind: rules for kind, rules in affinity.items() if rules}
    if affinity:
        spec["affinity"] = affinity
    return {"labels": {"app": name}, "priority": rng.choice((0, 0, 0, 10, 100)),
            "amounts": (rng.choice((100, 250, 500, 1000, 2000)), rng.choice((256, 512, 1024, 2048, 4096))), "spec": spec}


def pod_of(app, name, different=None, **fields):
    """A pod of the application; `different`, a random source: with requests of its own."""
    milli, mib = app["amounts"]
    if different:
        milli, mib = milli + different.randrange(100), mib + different.randrange(1000)
    return pod(name, requests=requests_of(f"{milli}m", f"{mib}Mi"), labels=app["labels"], limited=False,
               **{"priority": app["priority"], **app["spec"], **fields})


def placed_at_random(apps, count, rooms, rng, **fields):
    """Pods that run, each on a node that has room for it."""
    placed = 0
    while placed < count:
        app, room = rng.choice(apps), rng.choice(rooms)
        milli, mib = app["amounts"]
        if room[1] >= milli and room[2] >= mib and not room[3]:
            room[1] -= milli
            room[2] -= mib
            yield pod_of(app, f"run-{placed:06d}", on=room[0], **fields)
            placed += 1


def fits_no_shape(app, name, rng):
    """A pod that no node takes, for one of four reasons."""
    priority = rng.choice((0, 10, 100))
    kind = rng.randrange(4)
    if kind == 0:
        return pod(name, requests=requests_of(f"{100 + rng.randrange(50)}", "1Gi"), priority=priority, limited=False)
    if kind == 1:
        return pod_of(app, name, priority=priority, nodeSelector={"pool": rng.choice(("arm", "tpu"))})
    if kind == 2:
        term = {"labelSelector": {"matchLabels": {"app": f"absent-{rng.randrange(50)}"}}, "topologyKey": ZONE}
        return pod_of(app, name, priority=priority,
                      affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})
    return pod(name, requests=requests_of("100m", f"{400 + rng.randrange(50)}Gi"), priority=priority, limited=False)


def spread_over_hosts(app):
    """What a pod of the application has if that is the one way in which they spread: softly, as few on a host as can be."""
    return {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway",
                                           "labelSelector": {"matchLabels": app["labels"]}}]}


def mixed(different=False, rejected=0, over_hosts=False):
    """A workload of `groups` applications whose pods come in random order, and `rejected` of them that fit nowhere."""
    def objects(size, rng):
        yield namespace("default")
        rooms, nodes = nodes_of_shapes(size, rng)
        yield from nodes
        apps = [application(i, size.groups, rng) for i in range(size.groups)]
        yield from placed_at_random(apps, size.placed, rooms, rng)
        in_vain = set(rng.sample(range(size.pods), int(size.pods * rejected)))
        for i, name in enumerate(numbered("pod", size.pods)):
            app = rng.choice(apps)
            more = spread_over_hosts(app) if over_hosts else {}
            yield fits_no_shape(app, name, rng) if i in in_vain else pod_of(app, name, rng if different else None, **more)
    objects.__doc__ = ("Many applications in random order" + (", requests all different" if different else "")
                       + (", all spread softly over hosts" if over_hosts else "")
                       + (f", {rejected:.0%} fit nowhere" if rejected else ""))
    return objects


def mixed_preempting(size, rng):
    """Nodes full of many applications of priority 0; pods of many others, of priority 1000, evict them."""
    yield namespace("default")
    rooms, nodes = nodes_of_shapes(size, rng)
    yield from nodes
    apps = [application(i, size.groups, rng) for i in range(size.groups)]
    fillers = [app for app in apps if app["amounts"][0] >= 1000]
    i = 0
    for room in rooms:
        while not room[3]:
            app = rng.choice(fillers)
            milli, mib = app["amounts"]
            if room[1] < milli or room[2] < mib:
                break
            room[1] -= milli
            room[2] -= mib
            yield pod_of(app, f"run-{i:06d}", on=room[0], priority=0, terminationGracePeriodSeconds=0)
            i += 1
    urgent = [application(size.groups + i, size.groups, rng) for i in range(size.groups)]
    for name in numbered("pod", size.pods):
        app = rng.choice(urgent)
        yield pod_of({**app, "amounts": (2 * app["amounts"][0] + 1000, app["amounts"][1])}, name, priority=1000)


# --- Clusters with GPUs ---------------------------------------------------------------------------------------------

def gpu_nodes(size):
    yield namespace("default")
    yield from map(gpu_node, range(size.nodes))


def gpu_pods(size, rng):
    """Pods of 1, 2, 4 and 8 GPUs in random order, which together fit."""
    yield from gpu_nodes(size)
    crowded = size.pods > 2 * size.nodes
    free = 8 * size.nodes
    for i, name in enumerate(numbered("pod", size.pods)):
        sizes = (1, 2, 4, 8)
        gpus = rng.choices(sizes, (92, 5, 2, 1))[0] if crowded else rng.choice(sizes)
        still_to_come = size.pods - i - 1  # each of them needs a GPU
        while gpus > 1 and free - gpus < still_to_come:
            gpus //= 2
        free -= gpus
        if free < 0:
            return
        yield gpu_pod(name, gpus)


def claims(templates):
    """A workload of pods with claims for devices of nodes that have eight each, of that many templates in turn: half of
    the nodes have devices of 40 GiB, the others of 80."""
    def objects(size, rng):
        yield namespace("default")
        yield device_class()
        for i, name in enumerate(numbered("node", size.nodes, 5)):
            yield node(name, cpu="96", memory="1024Gi")
            yield resource_slice(name, [80 if i % 2 else 40] * 8)
        wanted = [(1 + i % 2, rng.randrange(10, 80)) for i in range(templates)] if templates > 1 else [(1, 40)]
        for i, (gpus, gib) in enumerate(wanted):
            yield claim_template(f"template-{i:05d}", gpus, gib)
        for i, name in enumerate(numbered("pod", size.pods)):
            yield pod(name, **claiming(f"template-{i % templates:05d}"))
    objects.__doc__ = f"Pods with claims of {templates} templates for one or two of a node's eight devices"
    return objects


def claims_of_classes(size, rng):
    """Pods with claims that differ in class, selector, count, alternatives and constraints, drawn by the seed"""
    yield namespace("default")
    small, large = (f'device.attributes["{DEVICE_DRIVER}"].model == "LATEST-GPU-{gib}"' for gib in (40, 80))
    numa = f'device.attributes["{DEVICE_DRIVER}"].numa == '
    yield device_class()
    yield device_class("small", small)
    yield device_class("large", large)
    for i, name in enumerate(numbered("node", size.nodes, 5)):
        yield node(name, cpu="96", memory="1024Gi")
        yield resource_slice(name, [80 if i % 2 else 40] * 8)
    same_numa = [{"requests": ["gpu"], "matchAttribute": f"{DEVICE_DRIVER}/numa"}]
    for i in range(24):
        gpus = rng.randint(1, 2)
        wanted = rng.choice(["small", "large", DEVICE_DRIVER])
        gib = rng.randrange(10, 40 if wanted == "small" else 80)
        selector = rng.choice(["", at_least(gib), numa + str(rng.randrange(2))])
        request = {"exactly": devices_of(wanted, gpus, selector)}
        if i % 4 == 0:
            request = {"firstAvailable": [{"name": "first", **devices_of("large", 2, selector)},
                                          {"name": "second", **devices_of("small", 1)}]}
        yield template_of(f"template-{i:02d}", request, **({"constraints": same_numa} if i % 6 == 1 else {}))
    for name in numbered("pod", size.pods):
        yield pod(name, **claiming(f"template-{rng.randrange(24):02d}"))


# What pods of claims_of_slices() ask for: a profile, or some whole GPUs, and how many GPUs that is.
SLICES_WANTED = {"one": ("1g.5gb", 1, 1 / 7), "two": ("2g.10gb", 1, 2 / 7), "three": ("3g.20gb", 1, 3 / 7),
                 "four": ("4g.20gb", 1, 4 / 7), "whole": ("gpu", 1, 1), "whole-2": ("gpu", 2, 2),
                 "whole-4": ("gpu", 4, 4), "whole-8": ("gpu", 8, 8)}


def claims_of_slices(size, rng):
    """Pods with claims for slices of GPUs, and for one to eight whole ones, in a mix that the seed draws"""
    yield namespace("default")
    yield device_class()
    for name in numbered("node", size.nodes, 5):
        yield node(name, cpu="96", memory="1024Gi")
        yield from mig_slices(name, 8)
    for name, (profile, count, _) in SLICES_WANTED.items():
        yield profile_template(name, profile, count)
    # Each kind has about its drawn part of the GPUs that are asked for.
    weights = [rng.random() / gpus for _, _, gpus in SLICES_WANTED.values()]
    for name, wanted in zip(numbered("pod", size.pods), rng.choices(list(SLICES_WANTED), weights, k=size.pods)):
        minutes = 1 + int(rng.expovariate(1 / 30))
        yield pod(name, labels={"wants": wanted}, annotations={"simulation.berth/run-time": f"{minutes}m"}, **claiming(wanted))


def draw_gangs(count, gpus_wanted, rng):
    """[(members, GPUs of each)] of `count` gangs that together ask for about `gpus_wanted`."""
    members = [rng.choice((8, 8, 8, 12, 16, 16, 24, 32, 48, 64)) for _ in range(count)]
    gpus = [1] * count
    asked = sum(members)
    order = list(range(count))
    if asked > gpus_wanted:  # even with a GPU a member it is too much
        rng.shuffle(order)
        for i in order:
            if asked <= gpus_wanted:
                break
            asked -= members[i] - 8
            members[i] = 8
    for larger in (8, 4, 2):  # some gangs get larger members, as long as that is not too much
        rng.shuffle(order)
        for i in order if larger == 2 else order[:count // 4]:
            more = members[i] * (larger - 1)
            if gpus[i] == 1 and asked + more <= gpus_wanted:
                gpus[i] = larger
                asked += more
    return list(zip(members, gpus))


def gangs(share, interleaved=False, min_resources=False):
    """A workload of gangs that ask for `share` of all GPUs. Interleaved, they are created at one time, and their pods
    sort by member before gang, so that a queue ordered by time and name mixes the gangs."""
    def objects(size, rng):
        drawn = draw_gangs(size.groups, int(8 * size.nodes * share), rng)
        created = [0 if interleaved else i for i in range(size.groups)]
        yield from gpu_nodes(size)
        for i, (members, gpus) in enumerate(drawn):
            resources = share_of_gpu_node(members * gpus) if min_resources else None
            yield pod_group(f"gang-{i:04d}", members, size.permit, created[i], resources)
        pods = [(i, j) for i, (members, _) in enumerate(drawn) for j in range(members)]
        if interleaved:
            pods.sort(key=lambda each: each[::-1])
        for i, j in pods:
            gang = f"gang-{i:04d}"
            yield gpu_pod(f"m{j:03d}-{gang}" if interleaved else f"{gang}-{j:03d}", drawn[i][1],
                          labels={GROUP_LABEL: gang}, created=created[i])
    objects.__doc__ = (f"Gangs of 8 to 64 pods that ask for {share:.0%} of the GPUs"
                       + (", interleaved" if interleaved else "") + (", with minResources" if min_resources else ""))
    return objects


def equal_gangs(members, gpus=1, gpus_taken=0, priority=100, annotated=False):
    """A workload of size.groups gangs of so many members; of each node's eight GPUs so many are taken by pods that stay.
    Annotated, the pods define their gangs, without objects."""
    def objects(size, rng):
        yield from gpu_nodes(size)
        if gpus_taken:
            for i in range(size.nodes):
                yield gpu_pod(f"stays-{i:05d}", gpus_taken, on=f"gpu-{i:05d}", priority=1000)
        for i in range(size.placed):  # dealt to the nodes in turn; preemptible
            yield gpu_pod(f"low-{i:05d}", 1, on=f"gpu-{i % size.nodes:05d}")
        for i in range(0 if annotated else size.groups):
            yield pod_group(f"gang-{i:04d}", members, size.permit, i)
        for i in range(size.groups):
            gang = f"gang-{i:04d}"
            marks = ({"annotations": {f"{KOORDINATOR_GANG}/name": gang, f"{KOORDINATOR_GANG}/min-available": str(members)}}
                     if annotated else {"labels": {GROUP_LABEL: gang}})
            for j in range(members):
                yield gpu_pod(f"{gang}-{j:03d}", gpus, created=i, priority=priority, **marks)
    objects.__doc__ = f"Gangs of {members} pods with {gpus} GPU" + ("s" if gpus > 1 else "") + " each"
    return objects


def one_gpu_pods(size, rng):
    """Pods of one GPU, which fill the cluster"""
    yield from gpu_nodes(size)
    for name in numbered("pod", size.pods):
        yield gpu_pod(name, 1)


def racks_of_gangs(members, racks=50):
    """A workload of size.groups gangs of so many members, each in one of the racks, which are alike."""
    def objects(size, rng):
        yield namespace("default")
        for i, name in enumerate(numbered("node", size.nodes, 5)):
            yield node(name, labels={RACK: f"rack-{i % racks:02d}"})
        for i in range(size.groups):
            yield kubernetes_pod_group(f"gang-{i:04d}", members, i, RACK)
        for i in range(size.groups):
            for j in range(members):
                yield pod(f"gang-{i:04d}-{j:04d}", created=i, schedulingGroup={"podGroupName": f"gang-{i:04d}"})
    objects.__doc__ = f"Gangs of {members} small pods, each in one of {racks} racks"
    return objects


def trees(levels):
    """A workload of size.groups trees of CompositePodGroups of so many levels. At the bottom are two PodGroups of four pods
    each, in a rack of their own; the lowest CompositePodGroup is in one block, a third level above it in one zone."""
    def objects(size, rng):
        yield namespace("default")
        for i, name in enumerate(numbered("node", size.nodes, 5)):
            rack = i % 50  # 5 racks a block, 5 blocks a zone
            yield node(name, labels={RACK: f"rack-{rack:02d}", "block": f"block-{rack // 5}", ZONE: f"zone-{rack // 25}"})
        for i in range(size.groups):
            top = f"tree-{i:04d}"
            halves = [top]
            if levels > 2:
                halves = [f"{top}-{half}" for half in "ab"]
                yield composite_pod_group(top, 2, i, ZONE)
            for half in halves:
                yield composite_pod_group(half, 2, i, "block", top if levels > 2 else None)
                for role in ("prefill", "decode"):
                    yield kubernetes_pod_group(f"{half}-{role}", 4, i, RACK, half)
                    for j in range(4):
                        cpu = rng.choice(("100m", "100m", "250m", "500m"))
                        yield pod(f"{half}-{role}-{j}", created=i, requests=requests_of(cpu, "500Mi"),
                                  schedulingGroup={"podGroupName": f"{half}-{role}"})
    objects.__doc__ = f"Trees of PodGroups, {levels} levels with a topology wish each; unlike pods"
    return objects


def gangs_that_evict(size, rng):
    """A full cluster; gangs of four of which each pod has to evict three."""
    yield from full_of_low_priority(size)
    for i in range(size.groups):
        yield pod_group(f"gang-{i:04d}", 4, size.permit, i)
    for i, j in itertools.product(range(size.groups), range(4)):
        yield pod(f"gang-{i:04d}-{j}", requests=requests_of("3", "500Mi"), priority=10, created=i,
                  labels={GROUP_LABEL: f"gang-{i:04d}"})


def gangs_of_roles(size, rng):
    """Gangs of a leader without a GPU and of 2 to 12 workers of two roles, unlike from gang to gang, that all fit."""
    yield from gpu_nodes(size)
    for i in range(size.groups):
        gang, fields = f"gang-{i:04d}", {"created": i, "labels": {GROUP_LABEL: f"gang-{i:04d}"}}
        roles = [(rng.choice((1, 2, 4, 8)), rng.randrange(1, 7)) for _ in range(2)]
        yield pod_group(gang, 1 + sum(count for _, count in roles), size.permit, i)
        yield pod(f"{gang}-leader", requests=requests_of("4", "8Gi"), **fields)
        for role, (gpus, count) in enumerate(roles):
            for j in range(count):
                yield gpu_pod(f"{gang}-{role}-{j}", gpus, **fields)


def crowded(size, rng):
    """What users ask for, item 24: beside size.placed pods that run a gang of 512 fits, a gang of 88 evicts 704, and
    size.pods small pods fit. Of the running ones 8 have a GPU on each node but 64."""
    yield from gpu_nodes(size)
    full = 8 * (size.nodes - 64)
    for i in range(full):
        yield gpu_pod(f"train-{i:06d}", 1, on=f"gpu-{i // 8:05d}", created=i % 3600, terminationGracePeriodSeconds=0)
    for i in range(size.placed - full):
        yield pod(f"init-{i:06d}", on=f"gpu-{i % size.nodes:05d}", requests=requests_of("500m", "2Gi"), priority=1000)
    for gang, members, gpus, priority in (("fits", 512, 1, 200), ("evicts", 88, 8, 100)):
        yield pod_group(gang, members, size.permit, 0)
        for j in range(members):
            yield gpu_pod(f"{gang}-{j:03d}", gpus, priority=priority, labels={GROUP_LABEL: gang})
    yield from pending(size)


TEAMS = [f"team-{i:02d}" for i in range(20)]


def teams(size):
    """A namespace and a quota a team: at least its even share of the GPUs, at most three times that."""
    share = 8 * size.nodes // len(TEAMS)
    yield namespace("default")
    yield from map(namespace, TEAMS)
    for team in TEAMS:
        yield elastic_quota(team, team, share, 3 * share)
    yield from map(gpu_node, range(size.nodes))


def quota(size, rng):
    """Half of the teams run on all GPUs; the others, of higher priority, want their share back."""
    yield from teams(size)
    half = len(TEAMS) // 2
    share = 8 * size.nodes // len(TEAMS)
    for slot, (i, team) in enumerate(itertools.product(range(2 * share), TEAMS[:half])):
        yield gpu_pod(f"borrow-{i:05d}", 1, team, on=f"gpu-{slot // 8:05d}", created=slot % 86400,
                      terminationGracePeriodSeconds=0)
    for i, team in itertools.product(range(size.pods // half), TEAMS[half:]):
        yield gpu_pod(f"owner-{i:05d}", 1, team, priority=10)


def quota_fresh(size, rng):
    """The same quotas on an empty cluster; more is asked for than there is."""
    yield from teams(size)
    for name in numbered("pod", size.pods):
        yield gpu_pod(name, 1, TEAMS[rng.randrange(len(TEAMS))])


def quota_mixed(size, rng):
    """200 teams with quotas of all sizes; pods that are unlike and ask for more than there is."""
    yield namespace("default")
    names = [f"team-{i:03d}" for i in range(200)]
    weights = [rng.choice((1, 2, 5, 20)) for _ in names]
    yield from map(namespace, names)
    for team, weight in zip(names, weights):
        share = 8 * size.nodes * weight // sum(weights)
        yield elastic_quota(team, team, share, 3 * share + 8)
    yield from map(gpu_node, range(size.nodes))
    for i, name in enumerate(numbered("pod", size.pods)):
        yield gpu_pod(name, rng.choice((1, 1, 1, 2, 4, 8)), rng.choices(names, weights)[0], created=i % 86400,
                      priority=rng.choice((0, 0, 0, 10)))


def quota_tree(size, rng):
    """Kueue's shape: 1,000 queues in 10 cohorts. Each is guaranteed 80 % of what its pods ask for and borrows the rest
    of its cohort."""
    yield from plain_nodes(size.nodes)
    cohorts, queues = 10, 100
    pods = size.pods // (cohorts * queues)  # of a queue, of 100m each
    for c in range(cohorts):
        yield cluster_quota(f"cohort-{c}", min={"cpu": f"{pods * queues * 100}m"}, borrowingLimit={"cpu": "0"})
        for q in range(queues):
            name = f"queue-{c}-{q:02d}"
            yield namespace(name)
            yield cluster_quota(name, f"cohort-{c}", [name], min={"cpu": f"{pods * 80}m"})
    for i, (c, q) in itertools.product(range(pods), itertools.product(range(cohorts), range(queues))):
        yield pod(f"pod-{i:04d}", ns=f"queue-{c}-{q:02d}")


def reclaims(members=1, gpus=1):
    """A workload of size.groups jobs of so many pods that take back GPUs: another quota, which is guaranteed none, has all of
    them, a pod a GPU."""
    def objects(size, rng):
        yield namespace("default")
        yield namespace("borrower")
        yield cluster_quota("owner", namespaces=["default"], min={GPU: str(8 * size.nodes)})
        yield cluster_quota("borrower", namespaces=["borrower"], min={GPU: "0"})
        yield from map(gpu_node, range(size.nodes))
        for i in range(8 * size.nodes):
            yield gpu_pod(f"borrow-{i:05d}", 1, "borrower", on=f"gpu-{i // 8:05d}", created=i % 86400,
                          terminationGracePeriodSeconds=0)
        gangs = members > 1
        for i in range(size.groups if gangs else 0):
            yield pod_group(f"job-{i:04d}", members, size.permit, i)
        for i, j in itertools.product(range(size.groups), range(members)):
            labels = {"labels": {GROUP_LABEL: f"job-{i:04d}"}} if gangs else {}
            yield gpu_pod(f"job-{i:04d}-{j:03d}", gpus, created=i % 86400, **labels)
    of_one = "a gang of %d pods with %d GPU%s each" % (members, gpus, "s" if gpus > 1 else "") if members > 1 else "one GPU"
    objects.__doc__ = f"KAI's shape of reclaim: jobs take back {of_one} from a quota that borrows all GPUs"
    return objects


def reclaims_mixed(size, rng):
    """Pods and gangs of two quotas, all unlike, take back GPUs from six that borrow all of them, pods and gangs too"""
    def gang_of(name, members):
        return {"annotations": {f"{KOORDINATOR_GANG}/name": name, f"{KOORDINATOR_GANG}/min-available": str(members)}}

    gpus = 8 * size.nodes
    owners, borrowers = ("owner-0", "owner-1"), [f"borrower-{i}" for i in range(6)]
    yield from map(namespace, ("default", *owners, *borrowers))
    for owner, least in zip(owners, (gpus * 6 // 10, gpus * 4 // 10)):
        yield cluster_quota(owner, namespaces=[owner], min={GPU: str(least)})
    for borrower in borrowers:
        yield cluster_quota(borrower, namespaces=[borrower], min={GPU: "0"})
    yield from map(gpu_node, range(size.nodes))
    gang = []  # of one borrower: its name, and how many members are still to come
    for i in range(size.nodes):
        left = 8
        while left:
            ns, marks, fields = rng.choice(borrowers), {}, {"priority": rng.choice((0, 0, 10, 100))}
            if not gang and rng.random() < 0.1:
                gang = [ns, f"runs-{i:05d}-{left}", 4]
            elif gang and rng.random() < 0.5:
                ns, marks, fields = gang[0], gang_of(gang[1], 4), {}
                gang[2] -= 1
            amount = min(left, rng.choice((1, 1, 1, 2, 4)))
            yield gpu_pod(f"borrow-{i:05d}-{left}", amount, ns, on=f"gpu-{i:05d}", created=rng.randrange(86400),
                          terminationGracePeriodSeconds=0, **fields, **marks)
            left -= amount
            if gang and gang[2] == 0:
                gang = []
    for i in range(size.groups):
        members = rng.choice((1, 1, 1, rng.randrange(2, 16)))
        marks = gang_of(f"job-{i:04d}", members) if members > 1 else {}
        ns, priority = rng.choice(owners), rng.choice((0, 0, 10))
        for j in range(members):
            yield gpu_pod(f"job-{i:04d}-{j:03d}", rng.choice((1, 1, 2, 4, 8)), ns, created=i, priority=priority, **marks)


WORKLOADS = {
    "basic": Workload(basic, Size(5000, 10000, 1000), "default"),
    "big": Workload(basic, Size(15000, 50000, 0), "default"),
    "huge": Workload(basic, Size(100000, 1000000, 0), "default"),
    "running": Workload(basic, Size(5000, 10000, 150000), "default"),
    "unalike": Workload(unalike, Size(5000, 10000, 1000), "default"),
    "mixed-40": Workload(mixed(), Size(5000, 10000, 10000, 40), "default"),
    "mixed-400": Workload(mixed(), Size(5000, 10000, 10000, 400), "default"),
    "mixed-4000": Workload(mixed(), Size(5000, 10000, 10000, 4000), "default"),
    "mixed-requests": Workload(mixed(different=True), Size(5000, 10000, 10000, 4000), "default"),
    "mixed-hosts": Workload(mixed(different=True, over_hosts=True), Size(5000, 10000, 10000, 4000), "default"),
    "mixed-large": Workload(mixed(), Size(15000, 10000, 150000, 4000), "default"),
    "mixed-rejected": Workload(mixed(rejected=1 / 6), Size(5000, 12000, 10000, 400), "default"),
    "mixed-preempting": Workload(mixed_preempting, Size(1000, 1000, 0, 400), "default"),
    "anti-affinity": Workload(anti_affinity, Size(5000, 2000, 1000), "default"),
    "preferred-affinity": Workload(preferred_affinity, Size(5000, 5000, 5000), "default"),
    "topology-spreading": Workload(topology_spreading, Size(5000, 5000, 5000), "default"),
    "rack-affinity": Workload(rack_affinity, Size(5000, 5000, 5000), "default"),
    "rack-spreading": Workload(rack_spreading, Size(5000, 5000, 5000), "default"),
    "node-inclusion-policy": Workload(node_inclusion_policy, Size(5000, 4000, 0), "default"),
    "preemption-basic": Workload(preemption_basic, Size(1000, 1000, 4000), "default"),
    "preemption-5000": Workload(preemption_basic, Size(5000, 5000, 20000), "default"),
    "preemption-mixed": Workload(preemption_mixed, Size(5000, 5000, 20000), "default"),
    "preemption-in-vain": Workload(preemption_in_vain, Size(5000, 5000, 20000), "default"),
    "preemption-async": Workload(small_on_full, Size(5000, 5000, 20000), "default"),
    "unschedulable": Workload(unschedulable, Size(5000, 10000, 20000), "default"),
    "rejected": Workload(rejected, Size(5000, 4000, 3334), "default"),
    "volumes": Workload(volumes, Size(5000, 5000, 5000), "default"),
    "shared-volume": Workload(shared_volume, Size(5000, 5000, 5000), "default"),
    "unschedulable-churn": Workload(basic, Size(5000, 10000, 20000), "default"),
    "mixed-churn": Workload(basic, Size(5000, 10000, 0), "default"),
    "gated": Workload(gated, Size(1, 20000, 10000), "default"),
    "churn-high": Workload(churn_high, Size(0, 1, 0), None),
    "churn-huge": Workload(churn_huge, Size(0, 1, 0), None),
    "churn-mixed": Workload(churn_mixed, Size(0, 1, 0), None),
    "gpu-binpack": Workload(gpu_pods, Size(1000, 7000, 0), "gpu-binpack"),
    "claims": Workload(claims(1), Size(5000, 10000, 0), "default"),
    "claims-mixed": Workload(claims(40), Size(5000, 10000, 0), "default"),
    "claims-classes": Workload(claims_of_classes, Size(5000, 10000, 0), "default"),
    "claims-unalike": Workload(claims(10000), Size(5000, 10000, 0), "default"),
    "claims-slices": Workload(claims_of_slices, Size(100, 2000, 0), "claims-slices"),
    "gpu-mixed": Workload(gpu_pods, Size(1000, 2000, 0), "gpu-binpack"),
    "gang": Workload(gangs(0.9), Size(1000, 0, 0), "coscheduling"),
    "gang-contended": Workload(gangs(1.5), Size(1000, 0, 0), "coscheduling"),
    "gang-interleaved": Workload(gangs(0.9, interleaved=True), Size(1000, 0, 0), "coscheduling"),
    "gang-contended-interleaved": Workload(gangs(1.5, interleaved=True), Size(1000, 0, 0), "coscheduling"),
    "gang-contended-minresources": Workload(gangs(1.5, min_resources=True), Size(1000, 0, 0), "coscheduling"),
    # KAI's shapes: docs/performance.md says what they come to.
    "fill-4000": Workload(one_gpu_pods, Size(500, 4000, 0), "coscheduling"),
    "fill-4000-groups": Workload(equal_gangs(1), Size(500, 0, 0, 4000), "coscheduling"),
    "gang-512": Workload(equal_gangs(512), Size(500, 0, 0, 1), "coscheduling"),
    "gang-too-large": Workload(equal_gangs(512), Size(63, 0, 0, 1), "coscheduling"),
    "gang-no-room": Workload(equal_gangs(512, gpus_taken=7), Size(500, 0, 0, 1), "coscheduling"),
    "gang-preempts": Workload(equal_gangs(250, gpus=8), Size(500, 0, 4000, 1), "coscheduling"),
    "gang-annotated": Workload(equal_gangs(5000, annotated=True), Size(625, 0, 0, 1), "coscheduling"),
    "gangs-of-10": Workload(equal_gangs(10), Size(500, 0, 0, 50), "coscheduling"),
    "gang-no-room-5000": Workload(equal_gangs(5001, gpus_taken=7), Size(5000, 0, 0, 1), "coscheduling"),
    # Less important pods have the last GPU of each node: to evict them all is not enough.
    "gang-in-vain": Workload(equal_gangs(64, gpus=8, gpus_taken=7), Size(5000, 0, 5000, 1), "coscheduling"),
    "gang-in-vain-5001": Workload(equal_gangs(5001, gpus_taken=7), Size(5000, 0, 5000, 1), "coscheduling"),
    # Volcano's.
    "gangs-of-500": Workload(equal_gangs(500), Size(1250, 0, 0, 20), "coscheduling"),
    # As kubernetes' scheduler_perf: podgroup.
    "gangs-of-3": Workload(equal_gangs(3), Size(5000, 0, 0, 1000), "coscheduling"),
    "gangs-of-3-2000": Workload(equal_gangs(3), Size(5000, 0, 0, 2000), "coscheduling"),
    "gangs-of-3-3000": Workload(equal_gangs(3), Size(5000, 0, 0, 3000), "coscheduling"),
    "gangs-of-1000": Workload(equal_gangs(1000), Size(5000, 0, 0, 9), "coscheduling"),
    "gangs-of-5000": Workload(equal_gangs(5000), Size(6250, 0, 0, 10), "coscheduling"),
    "topology": Workload(racks_of_gangs(4), Size(5000, 0, 0, 1500), "topology"),
    "topology-1000": Workload(racks_of_gangs(1000), Size(5000, 0, 0, 6), "topology"),
    # Beside them: kube-scheduler has groups of groups, and preemption by groups, but no such suites yet.
    "composite": Workload(trees(2), Size(5000, 0, 0, 500), "topology"),
    "composite-deep": Workload(trees(3), Size(5000, 0, 0, 250), "topology"),
    "preemption-gangs": Workload(gangs_that_evict, Size(5000, 0, 20000, 500), "coscheduling"),
    "gangs-of-roles": Workload(gangs_of_roles, Size(5000, 0, 0, 500), "coscheduling"),
    "crowded": Workload(crowded, Size(5000, 10000, 140000), "coscheduling"),
    "quota": Workload(quota, Size(1000, 4000, 0), "capacity"),
    "quota-100": Workload(quota, Size(100, 400, 0), "capacity"),
    "quota-tree": Workload(quota_tree, Size(1500, 50000, 0), "capacity"),
    # KAI's shapes of reclaim.
    "reclaim-one": Workload(reclaims(), Size(500, 0, 0, 1), "capacity-gangs"),
    "reclaim-4000": Workload(reclaims(), Size(500, 0, 0, 4000), "capacity-gangs"),
    "reclaim-gangs": Workload(reclaims(10), Size(500, 0, 0, 50), "capacity-gangs"),
    "reclaim-2000-gpus": Workload(reclaims(250, 8), Size(500, 0, 0, 1), "capacity-gangs"),
    "reclaim-700-victims": Workload(reclaims(88, 8), Size(500, 0, 0, 1), "capacity-gangs"),
    "reclaim-mixed": Workload(reclaims_mixed, Size(500, 0, 0, 200), "capacity-gangs"),
    "quota-fresh": Workload(quota_fresh, Size(1000, 8800, 0), "capacity"),
    "quota-mixed": Workload(quota_mixed, Size(1000, 4000, 0), "capacity"),
}

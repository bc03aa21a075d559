#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two replicas of a scheduler work through faults, and somebody else counts.

    soak.py [--minutes 20] [--seed N] [--berth build/release/berth | --kube-scheduler] [--quiet-faults]

Pods come and go, somewhat more of them than there is room for: single ones, some with claims that wait for their first consumer,
some that may preempt, and gangs. Meanwhile some faults happen one after the other, then all is well until every pod that had room
has been placed, and so on. One replica reaches the API server through FaultyProxy (HTTP/1.1), the other through FaultyLink (HTTP/2):
watches and connections are cut, stalled until what they want is compacted, and lost; requests are refused with 409, 429, 500 and
503, delayed, answered by half, and answers to bindings are lost. The API server and etcd are killed, the leader or the other replica
is killed, the Lease is stolen, and the clocks of both replicas are stepped.

An observer with a connection of its own checks, at every change: no node is overcommitted. Whenever the faults have healed: each
pod that had room then is placed within PATIENCE, or SILENT_SECONDS more if a connection was lost and nobody told. At the end: no pod
was bound twice and nothing was denied to the rules of config/deploy/ (the API server's audit log), no gang is bound below its minimum,
and when most of the load has gone, nothing waits.
It prints what was done, and how long pods waited; exit status 1 if something was wrong, with the seed to repeat the faults.
"""
import argparse
import collections
import json
import os
import random
import re
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api import ApiError  # noqa: E402
from cluster import TREE, Cluster, make_nodes  # noqa: E402
from faulty_proxy import FaultyLink, FaultyProxy  # noqa: E402
from processes import ClusterError, Process, free_ports, wait_until  # noqa: E402

LEASE_SECONDS, RENEW_SECONDS, RETRY_SECONDS = 6, 4, 1
NODE_CPU = 8
LIBFAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"
GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
# podMaxBackoffSeconds: a pod whose attempts failed while there were faults is tried again after so long at most. kube-scheduler's
# queue has the same.
BACKOFF_SECONDS = 10
# How long a pod that has room may wait once the faults have healed.
PATIENCE = LEASE_SECONDS + 5 + BACKOFF_SECONDS
# A connection that is lost and nobody is told of is noticed when a call on it has had no answer for so long; kube-scheduler, whose
# client asks an idle connection for a sign of life after 30 s and waits 15 s for it, takes longer.
SILENT_SECONDS = 30
SILENT = ("connections lost", "dead for a while")
STORAGE_CLASS, PRIORITY_CLASS = "late", "urgent"
SERVICE_ACCOUNT = "system:serviceaccount:kube-system:berth"


def log(text):
    print("%s  %s" % (time.strftime("%H:%M:%S"), text), flush=True)


def utc_now():
    return time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())


def cpu_of(pod):
    """In milli CPU. The server writes 1000m as 1."""
    def milli(quantity):
        return int(quantity[:-1]) if quantity.endswith("m") else int(quantity) * 1000

    return sum(milli(c["resources"]["requests"]["cpu"]) for c in pod["spec"]["containers"])


def group_of(pod):
    return pod["metadata"].get("labels", {}).get(GROUP_LABEL)


def claims_of(pod):
    return [volume["persistentVolumeClaim"]["claimName"] for volume in pod["spec"].get("volumes", [])
            if "persistentVolumeClaim" in volume]


class Observer:
    """Follows the pods and their claims, and finds what must not be."""

    def __init__(self, api, room):
        self.room = room  # of a node, in milli CPU
        self.pods = {}
        self.used = collections.Counter()
        self.wrong = []
        self.bound = 0
        self.preempted = set()
        self.waited = {}  # since when a pending pod has had room
        self.longest_wait = 0
        self._nodes_of_claims = {}
        self._waiting_claims = set()  # that have a node, and wait for the provisioner and the controller manager
        self._api = api
        self._lock = threading.RLock()
        self._ended = False
        for kind, keep in (("v1/Pod", self._set), ("v1/PersistentVolumeClaim", self._set_claim)):
            threading.Thread(target=self._follow, args=(kind, keep, {}), daemon=True).start()

    def end(self):
        self._ended = True

    def _follow(self, kind, keep, known):
        path = self._api.path_of(kind, None, "default")
        while not self._ended:
            try:
                items, version = self._api.list(kind, "default")
                with self._lock:
                    there = {item["metadata"]["uid"]: item for item in items}
                    for uid in set(known) - set(there):
                        keep(uid, known.pop(uid), None)
                    for uid, item in there.items():
                        keep(uid, known.get(uid), item)
                        known[uid] = item
                for what, item in self._api.watch(path, version, 600):
                    if what == "BOOKMARK":
                        continue
                    uid = item["metadata"]["uid"]
                    with self._lock:
                        before = known.pop(uid, None)
                        keep(uid, before, None if what == "DELETED" else item)
                        if what != "DELETED":
                            known[uid] = item
            except Exception as e:  # the server is being killed, now and then
                if not self._ended:
                    time.sleep(0.3)
                    self._error = e

    def _set_claim(self, _, before, claim):
        if claim is None:
            self._nodes_of_claims.pop(before["metadata"]["name"], None)
            self._waiting_claims.discard(before["metadata"]["name"])
            return
        name, node = claim["metadata"]["name"], claim["metadata"].get("annotations", {}).get(SELECTED_NODE)
        self._nodes_of_claims[name] = node
        if node and claim["status"].get("phase") != "Bound":
            self._waiting_claims.add(name)
        else:
            self._waiting_claims.discard(name)

    def _set(self, uid, before, pod):
        self.pods.pop(uid, None)
        if before is not None and before["spec"].get("nodeName"):
            self.used[before["spec"]["nodeName"]] -= cpu_of(before)
        if pod is None:
            return
        self.pods[uid] = pod
        if any(c["type"] == "DisruptionTarget" for c in pod["status"].get("conditions", [])):
            self.preempted.add(uid)
        node = pod["spec"].get("nodeName")
        if not node:
            return
        if before is None or not before["spec"].get("nodeName"):
            self.bound += 1
        elif before["spec"]["nodeName"] != node:
            self.wrong.append("pod %s moved from %s to %s" % (pod["metadata"]["name"], before["spec"]["nodeName"], node))
        self.used[node] += cpu_of(pod)
        if self.used[node] > self.room:
            self.wrong.append("node %s has %dm of %dm given away, with pod %s" % (node, self.used[node], self.room,
                                                                                  pod["metadata"]["name"]))

    def look(self, nodes):
        """Since when pods on their own have had room and are not placed, by uid; call it now and then."""
        with self._lock:
            now = time.monotonic()
            waiting = {}
            pending = [(uid, pod) for uid, pod in self.pods.items()
                       if not pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp")]
            # What was freed for a preemptor is nobody else's.
            nominated = collections.Counter()
            for _, pod in pending:
                nominated[pod["status"].get("nominatedNodeName")] += cpu_of(pod)
            for uid, pod in pending:
                if group_of(pod) is None and self._has_room(pod, nodes, nominated):
                    waiting[uid] = self.waited.get(uid, now)
                    self.longest_wait = max(self.longest_wait, now - waiting[uid])
            self.waited = waiting
            return dict(waiting)

    def _has_room(self, pod, nodes, nominated):
        """Somewhere; a pod whose claim has a node already, there. While the claim waits for its volume the scheduler has
        done its part: after a restart of the API server the controller manager is away for half a minute."""
        if any(claim in self._waiting_claims for claim in claims_of(pod)):
            return False
        for claim in claims_of(pod):
            if self._nodes_of_claims.get(claim):
                nodes = [node for node in nodes if node == self._nodes_of_claims[claim]]
        own = pod["status"].get("nominatedNodeName")
        return any(self.room - self.used[node] - nominated[node] + (cpu_of(pod) if node == own else 0) >= cpu_of(pod) for node in nodes)

    def name_of(self, uid):
        with self._lock:
            return self.pods[uid]["metadata"]["name"] if uid in self.pods else uid

    def snapshot(self):
        with self._lock:
            return list(self.pods.values())


class Load(threading.Thread):
    """Makes pods and deletes them, by a random sequence of its own."""

    def __init__(self, api, capacity, seed, rate, gangs=0.0, claims=0.0, urgent=0.0, scheduler="default-scheduler", prefix="p"):
        super().__init__(daemon=True)
        self._gangs, self._claims, self._urgent = gangs, claims, urgent  # which part of what is made
        self._scheduler, self._prefix = scheduler, prefix
        self._api, self._capacity, self._random, self._rate = api, capacity, random.Random(seed), rate
        self._made = 0
        self._alive = {}  # group or pod name: (names, cpu)
        self.ended = threading.Event()
        self.created = collections.Counter()

    def run(self):
        while not self.ended.wait(self._random.expovariate(self._rate)):
            try:
                if sum(cpu for _, cpu in self._alive.values()) > self._capacity * 1.1:
                    self._remove(self._random.choice(list(self._alive)))
                elif self._random.random() < self._gangs:
                    self._gang()
                else:
                    self._single()
            except (OSError, ApiError, ValueError):  # while the server is away
                time.sleep(0.2)
            except Exception as e:
                log("load: %r" % e)
                time.sleep(0.5)

    def shrink(self, share):
        """Deletes until no more than that share of the room is asked for. To be called when the load has ended."""
        while sum(cpu for _, cpu in self._alive.values()) > self._capacity * share:
            self._remove(self._random.choice(list(self._alive)))

    def _single(self):
        name, cpu = self._new_name(), self._random.choice((100, 250, 500, 1000, 2500, 4000))
        self._alive[name] = ([name], cpu)
        spec = {}
        if self._random.random() < self._urgent:
            spec["priorityClassName"] = PRIORITY_CLASS
            self.created["urgent"] += 1
        if self._random.random() < self._claims:
            self._api.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": STORAGE_CLASS, "resources": {"requests": {"storage": "1Gi"}}}})
            spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]
            self.created["with claims"] += 1
        self._pod(name, cpu, spec=spec)

    def _gang(self):
        name, size = self._new_name(), self._random.randrange(2, 9)
        cpu = self._random.choice((500, 1000, 2000))
        members = ["%s-%d" % (name, i) for i in range(size)]
        self._alive[name] = (members, cpu * size)
        self._api.create({"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": name},
                          "spec": {"minMember": size, "scheduleTimeoutSeconds": 10}})
        for member in members:
            self._pod(member, cpu, {GROUP_LABEL: name})
        self.created["in gangs"] += size

    def _remove(self, name):
        members, _ = self._alive[name]
        gone = [("v1/Pod", member) for member in members]
        gone.append(("scheduling.x-k8s.io/v1alpha1/PodGroup", name) if len(members) > 1 else ("v1/PersistentVolumeClaim", name))
        for kind, member in gone:
            try:
                self._api.delete(kind, member, grace_seconds=0)
            except ApiError as e:
                if e.status != 404:
                    raise
        del self._alive[name]

    def _new_name(self):
        self._made += 1
        return "%s%d" % (self._prefix, self._made)

    def _pod(self, name, cpu, labels=None, spec=None):
        self._api.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or {}},
                          "spec": {"schedulerName": self._scheduler, "terminationGracePeriodSeconds": 0, "containers": [
                              {"name": "c", "image": "x", "resources": {"requests": {"cpu": "%dm" % cpu}}}], **(spec or {})}})
        self.created["pods"] += 1


def as_host(name, command):
    """The command on a host of that name, by which one tells who holds the Lease."""
    unshare = ["unshare", "--uts"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    return [*unshare, "sh", "-c", 'echo "$0" >/proc/sys/kernel/hostname && exec "$@"', name, *command]


class Replica:
    """One scheduler behind a proxy of its own, started again whenever it ends, as a kubelet does."""

    def __init__(self, cluster, name, command, config, proxy, token):
        secure_port, = free_ports(1)
        self.name = name
        self.proxy = proxy
        self.wrong = []
        self.ends = collections.Counter()
        self._expected = 0
        kubeconfig = cluster.path(name + ".kubeconfig")
        with open(kubeconfig, "w") as f:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                       "clusters": [{"name": "c", "cluster": {"server": proxy.url, **proxy.trust}}],
                       "users": [{"name": "u", "user": {"token": token}}],
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}, f)
        path = cluster.path(name + ".config.json")
        with open(path, "w") as f:
            json.dump({**config, "clientConnection": {"kubeconfig": kubeconfig, "qps": 500, "burst": 1000}}, f)
        self._clock_file = cluster.path(name + ".clock")
        self.set_clock(0)
        environment = {**cluster._environment(), "LD_PRELOAD": LIBFAKETIME, "FAKETIME_TIMESTAMP_FILE": self._clock_file,
                       "FAKETIME_CACHE_DURATION": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1"}
        self._process = Process(name, as_host(name, [*command, "--config=" + path, "--bind-address=127.0.0.1", "-v=2",
                                                     "--secure-port=%d" % secure_port]),
                                cluster.path("logs", name + ".log"), environment)
        self._ended = False
        self._gone = threading.Event()
        self._process.start()
        threading.Thread(target=self._keep, daemon=True).start()

    def set_clock(self, seconds):
        """So far from the right time."""
        with open(self._clock_file + ".new", "w") as f:
            f.write("%+d\n" % seconds)
        os.replace(self._clock_file + ".new", self._clock_file)

    @property
    def pid(self):
        return self._process.pid

    def _keep(self):
        while not self._gone.wait(0.1):  # the process dies with the thread that started it
            if not self._ended and not self._process.running:
                status = self._process._child.returncode
                if self._expected:
                    self._expected -= 1
                    self.ends["killed"] += 1
                elif status == 1 and "leader" in "".join(open(self._process.log, errors="replace").readlines()[-30:]).lower():
                    self.ends["lost the lease"] += 1
                else:
                    self.wrong.append("%s ended with status %s; see %s" % (self.name, status, self._process.log))
                time.sleep(0.5)
                if not self._ended:
                    self._process.start()

    def kill(self):
        self._expected += 1
        self._process.kill()

    def stop(self):
        self._ended = True
        status = self._process.stop(25) if self._process.running else None
        self._gone.set()
        self.proxy.close()
        return status

    def memory_mib(self):
        try:
            with open("/proc/%d/status" % self.pid) as f:
                return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1)) // 1024
        except OSError:
            return 0


class Soak:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.done = collections.Counter()
        self.lost_at = -1000  # when a connection was lost and nobody told
        self.restarts = []  # of the API server: from when until when it may not have read its rules yet
        # Seconds from healing until every pod that had room then was placed; apart from the others after a silent loss.
        self.recoveries = {False: [], True: []}

    def run(self):
        options = self.options
        nodes = make_nodes(options.nodes, cpu=str(NODE_CPU))
        self.names = [node["metadata"]["name"] for node in nodes]
        with Cluster(nodes=nodes, apiserver_flags=["--etcd-compaction-interval=15s", "--watch-cache-sizes=pods#200"]) as cluster:
            self.cluster = cluster
            cluster.start_provisioner()
            cluster.api.create({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": STORAGE_CLASS},
                                "provisioner": "tests.local/provisioner", "volumeBindingMode": "WaitForFirstConsumer"})
            cluster.api.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                                "metadata": {"name": PRIORITY_CLASS}, "value": 1000})
            self._allow()
            self.replicas = [self._replica(i, proxy) for i, proxy in enumerate((FaultyProxy, FaultyLink))]
            observer = Observer(cluster.client("observer", "observer", "system:masters"), NODE_CPU * 1000)
            load = Load(cluster.client("load", "load", "system:masters"), NODE_CPU * 1000 * len(nodes), options.seed, options.rate,
                        gangs=0 if options.kube_scheduler else 0.2, claims=0.1, urgent=0.1)
            wait_until("there is a leader", self._leader, 60, 0.2)
            load.start()
            try:
                wrong = self._go(observer, load)
            finally:
                load.ended.set()
                statuses = [replica.stop() for replica in self.replicas]
                observer.end()
            wrong += ["replica %d ended with status %s" % (i, s) for i, s in enumerate(statuses) if s not in (0, None)]
            wrong += observer.wrong + [w for replica in self.replicas for w in replica.wrong] + self._audited()
            self._report(observer, load)
            if wrong:
                cluster._kept = True
                for text in wrong[:20]:
                    log("WRONG: " + text)
                log("seed %d; logs are in %s" % (options.seed, cluster.path("logs")))
            return not wrong

    def _allow(self):
        """The rules that are shipped, and nothing else."""
        if not self.options.kube_scheduler:
            self.cluster.install_rules(["gangs-and-quotas"])
            return
        for role in ("system:kube-scheduler", "system:volume-scheduler"):
            self.cluster.kubectl("create", "clusterrolebinding", "berth-" + role.split(":")[1], "--clusterrole=" + role,
                                 "--serviceaccount=kube-system:berth")

    def _replica(self, number, proxy):
        with open(self.cluster.kubeconfig_of_service_account("kube-system", "berth")) as f:
            token = json.load(f)["users"][0]["user"]["token"]
        self.lease = "kube-scheduler" if self.options.kube_scheduler else "berth"
        config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                  "leaderElection": {"leaderElect": True, "leaseDuration": "%ds" % LEASE_SECONDS,
                                     "renewDeadline": "%ds" % RENEW_SECONDS, "retryPeriod": "%ds" % RETRY_SECONDS,
                                     "resourceName": self.lease, "resourceNamespace": "kube-system", "resourceLock": "leases"},
                  "podMaxBackoffSeconds": BACKOFF_SECONDS,
                  "profiles": [{"schedulerName": "default-scheduler"}]}
        command = [self.cluster.program("kube-scheduler")]
        if not self.options.kube_scheduler:
            command = [self.options.berth, "run"]
            config["profiles"][0]["plugins"] = {"multiPoint": {"enabled": [{"name": "Coscheduling"}],
                                                               "disabled": [{"name": "PrioritySort"}]}}
        seed = self.options.seed + number
        return Replica(self.cluster, "replica-%d" % number, command, config,
                       proxy(self.cluster.server, free_ports(1)[0], self.cluster._authority, seed), token)

    # Faults.

    def _leader(self):
        """The replica that holds the Lease; None if nobody does, or somebody else."""
        try:
            lease = self.cluster.api.get("coordination.k8s.io/v1/Lease", self.lease, "kube-system")
        except (ApiError, OSError):
            return None
        host = (lease["spec"].get("holderIdentity") or "").rsplit("_", 1)[0]
        return next((replica for replica in self.replicas if replica.name == host), None)

    def _faults(self):
        """One replica's connection, the leader's two times in three, or what both have."""
        leader = self._leader()
        one = leader if leader and self.random.random() < 0.67 else self.random.choice(self.replicas)
        proxy, seconds = one.proxy, self.random.uniform(1, 5)

        def for_a_while(**faults):
            proxy.set(**faults)
            time.sleep(seconds)
            proxy.heal()

        faults = {
            "unreachable": lambda: for_a_while(down=True),
            "leader killed": lambda: (leader or one).kill(),
            "replica killed": one.kill,
            "lease stolen": self._steal,
            "clock stepped": lambda: one.set_clock(self.random.choice((0, 5, 60, 3600))),  # to and fro
        }
        if isinstance(proxy, FaultyLink):
            faults.update({
                "connections cut": proxy.cut,
                "connections lost": proxy.lose,
                "dead for a while": lambda: for_a_while(dead=True),
                "cut in the middle": lambda: for_a_while(cut=0.1),
                "slow bytes": lambda: for_a_while(delay=0.3),
            })
        else:
            faults.update({
                "watches cut": proxy.cut_watches,
                "watches stalled": lambda: self._stall(proxy),
                "nonsense on watches": proxy.nonsense_on_watches,
                "refusals": lambda: for_a_while(refuse={status: 0.1 for status in (409, 429, 500, 503)}),
                "answers lost": lambda: for_a_while(lose=0.3),
                "half answers": lambda: for_a_while(half=0.3),
                "slow answers": lambda: for_a_while(delay=(0.5, 2)),
            })
        if not self.options.quiet_faults:
            faults["API server killed"] = self._restart_api_server
            faults["etcd killed"] = lambda: self.cluster.restart("etcd", kill=True)
        return one, leader, faults

    def _restart_api_server(self):
        began = utc_now()
        self.cluster.restart("kube-apiserver", kill=True)
        time.sleep(1)
        self.restarts.append((began, utc_now()))

    def _stall(self, proxy):
        seconds = self.random.uniform(5, 20)
        proxy.stall_watches(seconds)
        time.sleep(seconds)

    def _steal(self):
        now = utc_now()
        self.cluster.api.patch("coordination.k8s.io/v1/Lease", self.lease, {"spec": {
            "holderIdentity": "thief", "renewTime": now, "acquireTime": now, "leaseDurationSeconds": LEASE_SECONDS}}, "kube-system")

    def _fault(self):
        one, leader, faults = self._faults()
        name = self.random.choice(sorted(faults))
        self.done[name] += 1
        if name in SILENT:
            self.lost_at = time.monotonic()
        self.done["of the leader"] += one is leader
        try:
            faults[name]()
        except (OSError, ApiError, ClusterError) as e:
            log("%s: %s" % (name, e))
        return name

    # The course of it.

    def _go(self, observer, load):
        end = time.monotonic() + self.options.minutes * 60
        looked = threading.Event()

        def look():
            while not looked.wait(0.3):
                observer.look(self.names)

        threading.Thread(target=look, daemon=True).start()
        wrong = []
        while time.monotonic() < end and not observer.wrong and not wrong:
            names = []
            for _ in range(self.random.randrange(1, 5)):
                names.append(self._fault())
                time.sleep(self.random.uniform(0, 1.5))
            wrong = self._recover(observer, names)
        log("the faults have ended; %d pods were made, %d bound" % (load.created["pods"], observer.bound))
        looked.set()
        load.ended.set()
        load.join()
        if not wrong:
            wrong = self._broken_gangs(observer)
            load.shrink(0.4)
            wrong += self._none_waits(observer)
        return wrong

    def _recover(self, observer, names):
        """Waits until each pod that has room now is placed, or has lost its room to others."""
        for replica in self.replicas:
            replica.proxy.heal()
        healed = time.monotonic()
        patience = self._patience()
        waiting = set(observer.look(self.names))
        while True:
            waiting &= set(observer.waited)
            seconds = time.monotonic() - healed
            if not waiting:
                break
            if seconds > patience:
                return ["pod %s has room and is not placed %d s after the faults were healed (%s)" % (
                    observer.name_of(uid), seconds, ", ".join(names)) for uid in waiting]
            time.sleep(0.1)
        self.recoveries[patience > PATIENCE].append(seconds)
        time.sleep(self.random.uniform(0, 2))
        return []

    def _patience(self):
        """A loss may still be unnoticed when the next faults are healed."""
        return PATIENCE + (SILENT_SECONDS if time.monotonic() - self.lost_at < 2 * SILENT_SECONDS else 0)

    def _none_waits(self, observer):
        """With so much room, every pod is placed, and every gang that is whole."""
        begin, patience = time.monotonic(), self._patience()
        while True:
            sizes = collections.Counter(group_of(pod) for pod in observer.snapshot())
            minimum = self._minimum_members()
            with observer._lock:
                waiting = [pod["metadata"]["name"] for pod in observer.pods.values() if not pod["spec"].get("nodeName")
                           and (observer._has_room(pod, self.names, collections.Counter()) if group_of(pod) is None
                                else sizes[group_of(pod)] >= minimum.get(group_of(pod), 1000))]
            if not waiting:
                log("with 40 %% of the load, nothing waits after %.1f s" % (time.monotonic() - begin))
                return []
            if time.monotonic() - begin > patience:
                return ["pod %s has room and is not placed %d s after everything was healed" % (name, patience) for name in waiting]
            time.sleep(0.2)

    def _minimum_members(self):
        if self.options.kube_scheduler:
            return {}
        groups, _ = self.cluster.api.list("scheduling.x-k8s.io/v1alpha1/PodGroup", "default")
        return {group["metadata"]["name"]: group["spec"]["minMember"] for group in groups}

    def _broken_gangs(self, observer):
        """One whose binding is under way is given the time for it."""
        minimum = self._minimum_members()
        deadline = time.monotonic() + self._patience()
        while True:
            placed, there = collections.Counter(), collections.Counter()
            for pod in observer.snapshot():
                group = group_of(pod)
                if group:
                    there[group] += 1
                    placed[group] += bool(pod["spec"].get("nodeName"))
            broken = [group for group, count in placed.items() if there[group] == minimum.get(group) and 0 < count < there[group]]
            if not broken or time.monotonic() > deadline:
                return ["gang %s has %d of its %d members placed" % (group, placed[group], there[group]) for group in broken]
            time.sleep(0.2)

    def _audited(self):
        """Pods that were bound twice, and what the rules did not allow."""
        bindings, denied = collections.Counter(), set()
        with open(self.cluster.path("logs", "audit.log")) as audit:
            for line in audit:
                event = json.loads(line)
                of, code = event.get("objectRef", {}), event.get("responseStatus", {}).get("code")
                if of.get("subresource") == "binding" and code == 201:
                    bindings[of["namespace"], of["name"]] += 1
                if (code == 403 and event["user"]["username"] == SERVICE_ACCOUNT
                        and not any(began <= event["stageTimestamp"] <= ended for began, ended in self.restarts)):
                    denied.add("%s %s" % (event["verb"], event["requestURI"].split("?")[0]))
        return (["pod %s was bound %d times" % (name, count) for (_, name), count in bindings.items() if count > 1]
                + ["denied: " + what for what in sorted(denied)])

    def _report(self, observer, load):
        log("faults: " + ", ".join("%s %d" % item for item in sorted(self.done.items()) if item[1]))
        for replica in self.replicas:
            log("%s: %s; its connection: %s" % (replica.name, ", ".join("%s %d" % i for i in replica.ends.items()) or "never ended",
                                                ", ".join("%s %d" % i for i in sorted(replica.proxy.counts.items()))))
        log("made: %s; %d bound, %d preempted" % (", ".join("%s %d" % item for item in load.created.items()), observer.bound,
                                                  len(observer.preempted)))
        for silent, seconds in self.recoveries.items():
            if seconds:
                log("%d times the faults%s were healed; all that had room was placed after %.1f s (half of the times), %.1f s (at most); "
                    "%d s are allowed: the lease's %d, 5, podMaxBackoffSeconds%s" % (
                        len(seconds), " with a silent loss" if silent else "", sorted(seconds)[len(seconds) // 2], max(seconds),
                        PATIENCE + SILENT_SECONDS * silent, LEASE_SECONDS, ", and until the loss is noticed" if silent else ""))
        log("the longest that a pod with room waited, faults and all: %.1f s" % observer.longest_wait)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100000)
    parser.add_argument("--berth", default=os.path.join(TREE, "build/release/berth"))
    parser.add_argument("--kube-scheduler", action="store_true", help="the one of the test cluster in place of Berth, without gangs")
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--rate", type=float, default=15, help="pods, gangs and deletions a second")
    parser.add_argument("--quiet-faults", action="store_true", help="the API server and etcd stay up")
    options = parser.parse_args()
    if not os.path.exists(LIBFAKETIME):
        sys.exit("soak.py: %s is not there; .ci/setup checks installs it (Debian's package faketime)" % LIBFAKETIME)
    log("seed %d" % options.seed)
    sys.exit(0 if Soak(options).run() else 1)


if __name__ == "__main__":
    main()

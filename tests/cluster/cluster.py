#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes control plane on this machine: etcd, kube-apiserver, kube-controller-manager, nodes that kwok feigns, and
a scheduler if asked for. RBAC is on, everything listens on loopback only.

    cluster.py up [--nodes 10] [--scheduler kube-scheduler] [--dir D]    until Ctrl-C; see `up --help`
    cluster.py down --dir D                                              ends one that runs elsewhere

In a test:

    with Cluster(nodes=make_nodes(10)) as cluster:
        cluster.start_scheduler()
        cluster.api.create({...})
"""
import argparse
import glob
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api import ApiError, Client  # noqa: E402
from certificates import Authority  # noqa: E402
from processes import ClusterError, Process, free_ports, wait_until  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
SERVICE_ADDRESSES = "10.96.0.0/16"


def make_node(name, zone="z0", cpu="32", memory="128Gi", pods="110", labels=None, taints=None, resources=None):
    capacity = {"cpu": cpu, "memory": memory, "ephemeral-storage": "1Ti", "pods": pods, **(resources or {})}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
                                                  "kubernetes.io/arch": "amd64", "topology.kubernetes.io/region": "r0",
                                                  "topology.kubernetes.io/zone": zone, **(labels or {})}},
            "spec": {"taints": taints or []},
            "status": {"capacity": capacity, "allocatable": dict(capacity)}}


def make_nodes(count, zones=3, **kwargs):
    return [make_node("node-%d" % i, zone="z%d" % (i % zones), **kwargs) for i in range(count)]


class Cluster:
    """Starts on entering the `with` block or by start(); ends with the block or by stop(), and with this process however
    that ends. To be started from the main thread: Linux ends the programs with the thread that started them.

    `directory` keeps certificates, etcd's data and logs/; absent: a temporary one, which is removed unless something
    went wrong. `processes` has the components by name: etcd, kube-apiserver, kube-controller-manager, kwok and the
    schedulers; each can be stopped, killed and started again (cluster.restart("etcd"))."""

    def __init__(self, nodes=(), directory=None, crds=True, controllers=True, apiserver_flags=(), etcd_flags=()):
        self.nodes = list(nodes)
        self._kept = directory is not None
        self.directory = os.path.abspath(directory) if directory else tempfile.mkdtemp(prefix="berth-cluster-")
        self.processes = {}
        self.api = None
        self.server = None
        self._crds = crds
        self._controllers = controllers
        self._apiserver_flags = list(apiserver_flags)
        self._etcd_flags = list(etcd_flags)
        self.bin = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self._kept = True
            self.stop()
            raise
        return self

    def __exit__(self, error, *_):
        if error and issubclass(error, Exception):
            self._kept = True
            print("the test cluster's files are in %s" % self.directory, file=sys.stderr)
        self.stop()

    # Life.

    def start(self):
        self.bin = built_programs()
        os.makedirs(self.path("logs"), exist_ok=True)
        self._authority = Authority(self.path("certificates"))
        etcd_port, etcd_peer_port, api_port, self._controllers_port, self._scheduler_port = free_ports(5)
        self.server = "https://127.0.0.1:%d" % api_port
        self.api = self.client("admin", "admin", "system:masters")
        self.kubeconfig = self.kubeconfig_of("admin", "admin", "system:masters")

        self._add_etcd(etcd_port, etcd_peer_port)
        self._add_apiserver(api_port, etcd_port)
        for name in ("etcd", "kube-apiserver"):
            self._start(name)
        if self._controllers:
            self._add_controllers()
            self._start("kube-controller-manager")
        self._add_kwok()
        self.processes["kwok"].start()
        if self._crds:
            self.install_crds()
        self.add_nodes(self.nodes)

    def stop(self):
        """In the order in which they depend on each other; nothing is left of them."""
        for process in reversed(list(self.processes.values())):
            if process.running:
                # Their state is not needed again, and an API server takes a minute to say goodbye to its watches.
                process.kill()
        self.processes.clear()
        if self.api:
            self.api.close()
        if not self._kept:
            shutil.rmtree(self.directory, ignore_errors=True)

    def restart(self, name, kill=False):
        """Ends a component and waits until it is ready again; `kill`: without telling it."""
        self.processes[name].kill() if kill else self.processes[name].stop()
        self._start(name)

    # Who may come in.

    def client(self, name, user, group=None):
        certificate, key = self._authority.client(name, user, group)
        return Client(self.server, self._authority.path("ca.crt"), certificate, key)

    def kubeconfig_of(self, name, user, group=None):
        """The path of a kubeconfig with a certificate for the user."""
        certificate, key = self._authority.client(name, user, group)
        return self._write_kubeconfig(name, {"client-certificate": certificate, "client-key": key})

    def kubeconfig_of_service_account(self, namespace, name):
        """The path of a kubeconfig with a token of the service account; makes the account if there is none."""
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}}
        try:
            self.api.create(account)
        except ApiError as e:
            if e.status != 409:
                raise
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                   "spec": {"expirationSeconds": 24 * 3600}}
        path = self.api.path_of("v1/ServiceAccount", name, namespace, "token")
        token = self.api.request("POST", path, request)["status"]["token"]
        return self._write_kubeconfig("%s-%s" % (namespace, name), {"token": token})

    # What is in it.

    def kubectl(self, *arguments, text=None, check=True, kubeconfig=None):
        """What kubectl printed; ClusterError with its words if it failed."""
        done = subprocess.run([self.program("kubectl"), "--kubeconfig", kubeconfig or self.kubeconfig, *arguments],
                              input=text, capture_output=True, text=True, env=self._environment())
        if check and done.returncode != 0:
            raise ClusterError("kubectl %s: %s" % (" ".join(arguments), done.stderr.strip()))
        return done.stdout

    def kustomized(self, base, components=()):
        """What a kustomization of config/deploy/ makes, as text."""
        deploy = os.path.join(TREE, "config", "deploy", "kustomize")
        folder = tempfile.mkdtemp(prefix="kustomize-", dir=self.directory)
        _write_json(os.path.join(folder, "kustomization.yaml"), {
            "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
            "resources": [os.path.relpath(os.path.join(deploy, base), folder)],
            "components": [os.path.relpath(os.path.join(deploy, "components", name), folder) for name in components]})
        return self.kubectl("kustomize", folder)

    def items(self, text):
        """The objects of some manifests, as dicts."""
        done = self.kubectl("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-", text=text)
        return [item for found in read_json_values(done)
                for item in (found["items"] if found["kind"] == "List" else [found])]

    def install_rules(self, components=("gangs-and-quotas", "gpu-devices", "preemption-toleration")):
        """What config/deploy/ lets the scheduler do, for the service account kube-system/berth. Returns its kubeconfig."""
        for item in self.items(self.kustomized("second-scheduler", components)):
            if item["kind"] in ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"):
                try:
                    self.api.create(item)
                except ApiError as e:
                    if e.status != 409:  # a folder that is used again has them
                        raise
        return self.kubeconfig_of_service_account("kube-system", "berth")

    def install_crds(self, folder=os.path.join(TREE, "config", "crd")):
        """Returns when the API server serves them."""
        files = ["--filename=" + path for path in sorted(glob.glob(os.path.join(folder, "*.yaml")))
                 if os.path.basename(path) != "kustomization.yaml"]
        self.kubectl("apply", "--server-side", *files)
        self.kubectl("wait", "--for=condition=Established", "--timeout=30s", *files)

    def add_nodes(self, nodes):
        """Returns when all are Ready and carry no taints but their own."""
        for node in nodes:
            try:
                self.api.create(node)
            except ApiError as e:
                if e.status != 409:  # a folder that is used again has them
                    raise
        wanted = {node["metadata"]["name"]: len(node["spec"].get("taints") or []) for node in nodes}

        def ready():
            items, _ = self.api.list("v1/Node")
            return all(_is_ready(node, wanted[node["metadata"]["name"]]) for node in items
                       if node["metadata"]["name"] in wanted)

        if wanted:
            wait_until("nodes become ready", ready, 30 + len(wanted) / 20, interval=0.2)

    # Schedulers.

    def start_scheduler(self, name="kube-scheduler", command=None, config=None, flags=(), kubeconfig=None, wait=True):
        """Starts kube-scheduler, or `command` with kube-scheduler's flags: ["build/release/berth", "run"]. It is the user
        system:kube-scheduler unless `kubeconfig` says otherwise. Returns its Process."""
        kubeconfig = kubeconfig or self.kubeconfig_of("kube-scheduler", "system:kube-scheduler")
        port, = free_ports(1)
        command = list(command or [self.program("kube-scheduler")])
        command += ["--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
                    "--bind-address=127.0.0.1", "--secure-port=%d" % port]
        if config:  # its clientConnection names no file: flags next to --config are ignored
            command.append("--config=" + self._with_kubeconfig(name, config, kubeconfig))
        else:
            command += ["--kubeconfig=" + kubeconfig, "--leader-elect=false"]
        scheduler = self._add(name, [*command, *flags], self._answers("https://127.0.0.1:%d/readyz" % port))
        scheduler.start()
        if wait:
            scheduler.wait_ready()
        return scheduler

    # Volumes.

    def start_provisioner(self):
        """From here on, claims of StorageClasses with `provisioner: tests.local/provisioner` get volumes."""
        kubeconfig = self.kubeconfig_of("provisioner", "provisioner", "system:masters")
        provisioner = self._add("provisioner", [sys.executable, os.path.join(HERE, "provisioner.py"), kubeconfig])
        provisioner.start()
        return provisioner

    # Inside.

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def program(self, name):
        return os.path.join(self.bin, name)

    @staticmethod
    def _environment_names():
        return ("PATH", "TZ", "LANG", "TMPDIR", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "GOMAXPROCS")

    def _environment(self):
        """Without the proxies and the home of the user."""
        kept = {name: os.environ[name] for name in self._environment_names() if name in os.environ}
        return {**kept, "HOME": self.directory}

    def _add(self, name, command, ready=None):
        self.processes[name] = Process(name, command, self.path("logs", name + ".log"), self._environment(), ready)
        return self.processes[name]

    def _start(self, name):
        self.processes[name].start()
        self.processes[name].wait_ready()

    def _answers(self, url, client=None):
        """A check that the URL answers 200."""
        tls = ssl.create_default_context()
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE  # schedulers have certificates of their own making
        if client:
            tls.load_cert_chain(*client)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=tls))

        def check():
            with opener.open(url, timeout=2) as answer:
                return answer.status == 200

        return check

    def _add_etcd(self, port, peer_port):
        certificate, key = self._authority.server("etcd")
        url, peer_url = "https://127.0.0.1:%d" % port, "http://127.0.0.1:%d" % peer_port
        self._add("etcd", [
            self.program("etcd"), "--name=test", "--data-dir=" + self.path("etcd"),
            "--listen-client-urls=" + url, "--advertise-client-urls=" + url,
            "--listen-peer-urls=" + peer_url, "--initial-advertise-peer-urls=" + peer_url,
            "--initial-cluster=test=" + peer_url, "--client-cert-auth", "--cert-file=" + certificate,
            "--key-file=" + key, "--trusted-ca-file=" + self._authority.path("ca.crt"),
            "--unsafe-no-fsync",  # it survives being killed, though not the machine
            "--quota-backend-bytes=8589934592", "--log-level=warn", *self._etcd_flags,
        ], self._answers(url + "/health", (certificate, key)))

    def _add_apiserver(self, port, etcd_port):
        certificate, key = self._authority.server("kube-apiserver")
        private, public = self._authority.service_account_key()
        ca = self._authority.path("ca.crt")
        self._add("kube-apiserver", [
            self.program("kube-apiserver"), "--bind-address=127.0.0.1", "--secure-port=%d" % port,
            "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
            "--etcd-servers=https://127.0.0.1:%d" % etcd_port, "--etcd-cafile=" + ca,
            "--etcd-certfile=" + certificate, "--etcd-keyfile=" + key,
            "--tls-cert-file=" + certificate, "--tls-private-key-file=" + key, "--client-ca-file=" + ca,
            "--authorization-mode=Node,RBAC", "--anonymous-auth=true",
            "--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + public,
            "--service-account-signing-key-file=" + private, "--service-cluster-ip-range=" + SERVICE_ADDRESSES,
            "--audit-policy-file=" + os.path.join(HERE, "audit_policy.yaml"),
            "--audit-log-path=" + self.path("logs", "audit.log"), "--allow-privileged=true",
            # A stopped one lets go at once, as one that crashed.
            "--shutdown-delay-duration=0s", "--http2-max-streams-per-connection=1000", *self._apiserver_flags,
        ], self._answers(self.server + "/readyz"))

    def _add_controllers(self):
        kubeconfig = self.kubeconfig_of("kube-controller-manager", "system:kube-controller-manager")
        self._add("kube-controller-manager", [
            self.program("kube-controller-manager"), "--kubeconfig=" + kubeconfig,
            "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
            "--bind-address=127.0.0.1", "--secure-port=%d" % self._controllers_port, "--leader-elect=false",
            "--use-service-account-credentials=true", "--root-ca-file=" + self._authority.path("ca.crt"),
            "--service-account-private-key-file=" + self._authority.service_account_key()[0],
            "--kube-api-qps=500", "--kube-api-burst=1000",
        ], self._default_service_account)

    def _add_kwok(self):
        kubeconfig = self.kubeconfig_of("kwok", "kwok", "system:masters")
        self._add("kwok", [
            self.program("kwok"), "--kubeconfig=" + kubeconfig, "--manage-all-nodes=true", "--cidr=10.0.0.0/10",
            "--node-ip=127.0.0.1", "--node-lease-duration-seconds=40",
            "--config=" + os.path.join(HERE, "pod_stages.yaml"),
        ])

    def _default_service_account(self):
        """Without it no pod can be made."""
        try:
            return self.api.get("v1/ServiceAccount", "default")
        except ApiError:
            return None

    def _write_kubeconfig(self, name, user):
        path = self.path(name + ".kubeconfig")
        _write_json(path, {
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {
                "server": self.server, "certificate-authority": self._authority.path("ca.crt")}}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
        })
        return path

    def _with_kubeconfig(self, name, config, kubeconfig):
        """A copy of the configuration that says how to reach this cluster. `config` is a dict, or a file's path."""
        if not isinstance(config, dict):
            config = self.read_yaml(config)
        config = {**config, "leaderElection": {"leaderElect": False, **config.get("leaderElection", {})}}
        config["clientConnection"] = {**config.get("clientConnection", {}), "kubeconfig": kubeconfig}
        path = self.path(name + ".config.json")
        _write_json(path, config)
        return path

    def read_yaml(self, path):
        """kubectl is the reader: `path` has one object, of any kind."""
        with open(path) as f:
            text = f.read()
        return read_yaml(self.program("kubectl"), text, path)


def built_programs():
    """The folder of the programs, which are built if they are not there."""
    return subprocess.run([os.path.join(HERE, "build")], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def read_json_values(text):
    """One after the other."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text.rstrip()):
        value, at = decoder.raw_decode(text, at)
        yield value
        while at < len(text) and text[at].isspace():
            at += 1


def read_yaml(kubectl, text, what):
    """One object with apiVersion and kind, as a dict."""
    return read_items(kubectl, text, what)[0]


def read_items(kubectl, text, what):
    """Objects with apiVersion and kind, as dicts. Python's own library reads no YAML; kubectl does, and keeps what it does not
    know."""
    done = subprocess.run([kubectl, "label", "--local", "-f", "-", "read=yes", "-o", "json"], input=text,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise ClusterError("%s: %s" % (what, done.stderr.strip()))
    items = list(read_json_values(done.stdout))
    for item in items:
        labels = item["metadata"]["labels"]
        del labels["read"]
        if not labels:
            del item["metadata"]["labels"]
        if not item["metadata"]:
            del item["metadata"]
    return items


def _is_ready(node, taints):
    conditions = {c["type"]: c["status"] for c in node.get("status", {}).get("conditions", [])}
    return conditions.get("Ready") == "True" and len(node["spec"].get("taints") or []) <= taints


def _write_json(path, value):
    with open(path, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as f:
        json.dump(value, f, indent=1)


# The command.


def up(options):
    if options.nodes_from:
        with open(options.nodes_from) as f:
            nodes = json.load(f)
        nodes = nodes["items"] if isinstance(nodes, dict) else nodes
    else:
        nodes = make_nodes(options.nodes)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    started = time.monotonic()
    with Cluster(nodes=nodes, directory=options.dir) as cluster:
        if options.provisioner:
            cluster.start_provisioner()
        with open(cluster.path("pid"), "w") as f:
            f.write("%d\n" % os.getpid())
        if options.scheduler == "kube-scheduler":
            cluster.start_scheduler(config=options.config)
        elif options.scheduler == "berth":
            cluster.start_scheduler("berth", [options.berth, "run"], config=options.config, kubeconfig=cluster.install_rules())
        print("# %d nodes after %.1f s; logs are in %s" % (len(nodes), time.monotonic() - started, cluster.path("logs")))
        print("export KUBECONFIG=%s" % cluster.kubeconfig)
        print("export PATH=%s:$PATH" % cluster.bin, flush=True)
        try:
            while True:
                ended = [p for p in cluster.processes.values() if not p.running]
                if ended:
                    raise ClusterError("%s ended; see %s" % (ended[0].name, ended[0].log))
                time.sleep(1)
        except KeyboardInterrupt:
            pass


def down(options):
    with open(os.path.join(options.dir, "pid")) as f:
        pid = int(f.read())
    try:
        os.kill(pid, signal.SIGTERM)
        wait_until("the cluster ends", lambda: not os.path.exists("/proc/%d" % pid), 30)
    except ProcessLookupError:
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("up", help="starts a cluster and keeps it until Ctrl-C")
    command.add_argument("--nodes", type=int, default=3)
    command.add_argument("--nodes-from", help="a JSON file with Node objects, as `kubectl get nodes -o json` writes it")
    command.add_argument("--dir", help="keeps everything in this folder; etcd's data is found again")
    command.add_argument("--scheduler", choices=["kube-scheduler", "berth", "none"], default="kube-scheduler")
    command.add_argument("--berth", default=os.path.join(TREE, "build/release/berth"), help="Berth's command")
    command.add_argument("--provisioner", action="store_true", help="makes volumes for claims, see start_provisioner()")
    command.add_argument("--config", help="a KubeSchedulerConfiguration for the scheduler")
    command.set_defaults(run=up)
    command = commands.add_parser("down", help="ends the cluster of a folder")
    command.add_argument("--dir", required=True)
    command.set_defaults(run=down)
    options = parser.parse_args()
    try:
        options.run(options)
    except (ClusterError, ApiError, FileNotFoundError) as e:
        sys.exit("cluster.py: %s" % e)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/metrics/kube_scheduler_metrics.txt: the metrics of the kube-scheduler that tests/cluster builds, by name,
type, labels and buckets, as its /metrics and /metrics/resources show them after some work.

    tests/metrics/record_metrics.py
"""
import os
import re
import ssl
import sys
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cluster"))
from cluster import Cluster, make_nodes  # noqa: E402

SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? \S+$')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
# What Go's runtime and its HTTP server tell of themselves.
FOREIGN = re.compile(r"^(go_|promhttp_|apiserver_|authenticat|authorization_|workqueue_|disabled_metrics_|hidden_metrics_|"
                     r"registered_metrics_|cardinality_|field_validation_|aggregator_)")


def pod(name, cpu="1", priority=None, **spec):
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}], **spec}}
    if priority:
        made["spec"]["priorityClassName"] = priority
    return made


def work(cluster):
    """A bit of everything: placed, preempting, unschedulable, gated, deleted."""
    create = cluster.api.create
    create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000})
    for i in range(40):
        create(pod("small-%d" % i))
    for i in range(3):
        create(pod("filler-%d" % i, cpu="15"))
    time.sleep(2)
    create(pod("preempts", cpu="14", priority="high"))
    create(pod("large", cpu="100"))
    create(pod("gated", schedulingGates=[{"name": "example.com/gate"}]))
    for i in range(100):
        create(pod("later-%d" % i, cpu="10m"))
    time.sleep(8)


def families(text):
    """name -> (type, help, labels, buckets)"""
    types, helps, labels, buckets = {}, {}, {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ", 3)
            types[name] = kind
        elif line.startswith("# HELP "):
            _, _, name, help_text = line.split(" ", 3)
            helps[name] = help_text
        elif line:
            match = SAMPLE.match(line)
            name, pairs = match.group(1), dict(LABEL.findall(match.group(2) or ""))
            for suffix in ("_bucket", "_sum", "_count"):
                if name.endswith(suffix) and types.get(name[:-len(suffix)]) == "histogram":
                    name = name[:-len(suffix)]
                    break
            if "le" in pairs:
                buckets.setdefault(name, set()).add(pairs.pop("le"))
            labels.setdefault(name, set()).update(pairs)
    return {name: (types[name], helps.get(name, ""), sorted(labels.get(name, ())),
                   sorted(buckets.get(name, ()), key=lambda b: float(b.replace("+Inf", "inf")))) for name in types}


def main():
    with Cluster(nodes=make_nodes(3, cpu="32")) as cluster:
        scheduler = cluster.start_scheduler(flags=["--leader-elect=true"])
        work(cluster)
        port = next(word.split("=")[1] for word in scheduler.command if word.startswith("--secure-port="))
        certificate, key = cluster._authority.client("admin", "admin", "system:masters")
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        tls.load_cert_chain(certificate, key)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=tls))
        found = {}
        for path in ("/metrics", "/metrics/resources", "/metrics/slis"):
            with opener.open("https://127.0.0.1:%s%s" % (port, path)) as answer:
                text = answer.read().decode()
            if len(sys.argv) > 1:
                with open(os.path.join(sys.argv[1], path.replace("/", "_")), "w") as f:
                    f.write(text)
            for name, family in families(text).items():
                if not FOREIGN.match(name):
                    found[name] = (path, *family)
    with open(os.path.join(HERE, "kube_scheduler_metrics.txt"), "w") as f:
        f.write("# Metrics of kube-scheduler v1.35.4, written by record_metrics.py: path, name, type, labels, buckets, help.\n")
        for name, (path, kind, help_text, labels, buckets) in sorted(found.items()):
            f.write("\t".join([path, name, kind, ",".join(labels) or "-", ",".join(buckets) or "-", help_text]) + "\n")


if __name__ == "__main__":
    main()

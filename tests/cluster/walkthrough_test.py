#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Types the commands of examples/walkthrough/README.md on a cluster of its own, and compares what comes.

    walkthrough_test.py BERTH

A block ```sh is run by bash; each line of the ```text block after it must match a line of what was printed, in that order.
Any number of spaces are alike, and `…` stands for anything. What kube-scheduler can do too is typed again with each scheduler, and
what kubectl then prints of scheduling is compared.
"""
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster import TREE, Cluster, make_nodes  # noqa: E402

BERTH = os.path.abspath(sys.argv.pop()) if len(sys.argv) > 1 else os.path.join(TREE, "build/release/berth")
FOLDER = os.path.join(TREE, "examples", "walkthrough")
BLOCK = re.compile(r"^## (?P<section>.*?)$|^```(?P<kind>sh|text)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks():
    """(section, commands, lines of what they print)"""
    found, section = [], None
    with open(os.path.join(FOLDER, "README.md")) as f:
        for block in BLOCK.finditer(f.read()):
            section = block["section"] or section
            if block["kind"] == "sh":
                found.append((section, block["text"], []))
            elif block["kind"]:
                found[-1][2].extend(block["text"].splitlines())
    return found


def matches(wanted, line):
    pattern = r"\s+".join(re.escape(word) for word in wanted.split())
    return re.search(re.sub(r"(\\s\+)?…(\\s\+)?", ".*", pattern), line)


# What kube-scheduler can do too.
SECTIONS = ["Workloads", "A pod that waits"]


def type_(cluster, commands):
    """What the commands print."""
    environment = {"KUBECONFIG": cluster.kubeconfig, "HOME": cluster.directory, "PATH": cluster.bin + ":" + os.environ["PATH"]}
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=TREE, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    if done.returncode != 0:
        raise AssertionError(commands + done.stdout)
    return done.stdout


def told_of_scheduling(cluster):
    """The lines of `kubectl describe` and `kubectl get events` that are the scheduler's, each once: how often and when it tries
    depends on the clock, and which of equal nodes it takes on chance. So does whether a pod is tried while a new node still has
    the taint of one that is not ready, or before the scheduler has heard of the claim that came with the pod."""
    lines = {"describe: " + line for line in type_(cluster, "kubectl describe pods").splitlines()
             if re.search(r"default-scheduler|PodScheduled|^(Name|Node|Status|Reason|Message|Priority|Nominated[^:]*):", line)}
    lines |= {"events: " + line for line in type_(cluster, "kubectl get events -o wide").splitlines() if "default-scheduler" in line}
    return {plain(line) for line in lines if not re.search(r"untolerated taint|persistentvolumeclaim .* not found", line)}


def plain(line):
    for pattern, same in ((r"\b(web|hello|agent)-[a-z0-9]+(-[a-z0-9]{5})?\b", r"\1-…"), (r"\bdb-\d\b", "db-…"),
                          (r"\bnode-\d+(/[\d.]+)?", "node-…"), (r"\.[0-9a-f]{12,}\b", ".…"),
                          (r"\(x\d+ over \S+\)", ""), (r"(?<=\s)(\d+[smh])+(?=\s)", "AGE"), (r"(?<=AGE)(\s+)\d+(?=\s)", r"\1COUNT"),
                          (r"\s+", " ")):
        line = re.sub(pattern, same, line)
    return line.strip()


class WalkthroughTest(unittest.TestCase):
    def test_every_command_does_what_the_page_says(self):
        with Cluster(nodes=make_nodes(4)) as cluster:
            cluster.start_provisioner()
            cluster.start_scheduler("berth", [BERTH, "run"], config=os.path.join(FOLDER, "scheduler.yaml"),
                                    kubeconfig=cluster.install_rules())
            found = blocks()
            self.assertGreater(len(found), 5)
            for _, commands, wanted in found:
                printed = type_(cluster, commands)
                lines = iter(printed.splitlines())
                for line in wanted:
                    self.assertTrue(any(matches(line, one) for one in lines),
                                    "%s\nnot printed, or not in this order: %s\n%s" % (commands, line, printed))

    def test_it_reads_as_with_kube_scheduler(self):
        told = {}
        with Cluster(nodes=make_nodes(4)) as cluster:
            cluster.start_provisioner()
            for name, command in (("kube-scheduler", None), ("berth", [BERTH, "run"])):
                scheduler = cluster.start_scheduler(name, command)
                told[name] = []
                for section, commands, _ in blocks():
                    if section in SECTIONS:
                        type_(cluster, commands)
                        told[name].append((commands, told_of_scheduling(cluster)))
                scheduler.kill()
                type_(cluster, "kubectl delete persistentvolumeclaims,events --all; kubectl delete persistentvolumes --all")
        self.assertGreater(len(told["berth"]), 3)
        self.assertTrue(any("FailedScheduling" in line for _, lines in told["kube-scheduler"] for line in lines))
        for (commands, wanted), (_, found) in zip(told["kube-scheduler"], told["berth"]):
            with self.subTest(commands):
                self.assertEqual(sorted(found), sorted(wanted))


if __name__ == "__main__":
    unittest.main(verbosity=2)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the conformance cases with NodeUnschedulable and TaintToleration as remote plugins, written in Go: every verdict
and score of every node must be what kube-scheduler's own say.

    conformance.py BERTH BUILTINS [FAMILY ...]    BUILTINS is examples/builtins of the SDK for Go

Cases whose configuration lists plugins are left out: they are not about these two.
"""
import os
import re
import stat
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
conformance = os.path.join(here, "..", "conformance")
REMOTE = ["NodeUnschedulable", "TaintToleration"]
# kube-scheduler v1.35's default plugins in their order, which says who rejects a node first.
DEFAULTS = """SchedulingGates PrioritySort NodeUnschedulable NodeName TaintToleration:3 NodeAffinity:2 NodePorts
NodeResourcesFit:1 VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread:2 InterPodAffinity:2
DynamicResources:2 DefaultPreemption NodeResourcesBalancedAllocation:1 ImageLocality:1 DefaultBinder""".split()

# Stands for `berth explain` in compare.py: rewrites the configuration, and the names in the answer.
WRAPPER = """#!/usr/bin/env python3
import os, re, subprocess, sys, tempfile
arguments = sys.argv[1:]
at = arguments.index("--config") + 1
with open(arguments[at]) as f:
    text = f.read()
plugins, entries = os.environ["BERTH_PLUGINS"], os.environ["BERTH_ENTRIES"]
if "plugins:" not in text:
    text = re.sub(r"(?m)^(- schedulerName: .*)$", lambda m: m.group(1) + "\\n" + plugins, text)
    if "pluginConfig:" in text:
        text = text.replace("  pluginConfig:\\n", "  pluginConfig:\\n" + entries)
    else:
        text = re.sub(r"(?m)^(- schedulerName: .*)$", lambda m: m.group(1) + "\\n  pluginConfig:\\n" + entries.rstrip("\\n"), text)
with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
    config.write(text)
    config.flush()
    arguments[at] = config.name
    done = subprocess.run([os.environ["BERTH"]] + arguments, stdout=subprocess.PIPE, text=True)
print(re.sub("Remote(%s)" % os.environ["BERTH_REMOTE"], r"\\1", done.stdout), end="")
sys.exit(done.returncode)
"""


def remote(name):
    return "Remote" + name if name in REMOTE else name


berth, builtins, families = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
cases = sorted(os.listdir(os.path.join(conformance, "cases")))
kept = []
for case in cases:
    with open(os.path.join(conformance, "cases", case, "config.yaml")) as f:
        text = f.read()
    if "plugins:" not in text and "- schedulerName:" in text and (not families or re.sub(r"-\d+$", "", case) in families):
        kept.append(case)
assert kept, "no case is left"
with tempfile.TemporaryDirectory() as folder:
    addresses = {name: "unix:%s/%s.sock" % (folder, name) for name in REMOTE}
    listed = []
    for entry in DEFAULTS:
        name, _, weight = entry.partition(":")
        listed.append("{name: %s%s}" % (remote(name), ", weight: " + weight if weight else ""))
    entries = "".join("  - name: Remote%s\n    args: {kind: RemotePluginArgs, address: '%s', deadline: 20s, startTimeout: 60s}\n"
                      % item for item in addresses.items())
    wrapper = os.path.join(folder, "berth")
    with open(wrapper, "w") as f:
        f.write(WRAPPER)
    os.chmod(wrapper, stat.S_IRWXU)
    environment = dict(os.environ, BERTH=berth, BERTH_ENTRIES=entries, BERTH_REMOTE="|".join(REMOTE), BERTH_PLUGINS=(
        "  plugins:\n    multiPoint:\n      disabled: [{name: '*'}]\n      enabled: [%s]" % ", ".join(listed)))
    process = subprocess.Popen([builtins] + [addresses[name] for name in REMOTE])
    try:
        print("%d of %d cases, with remote %s" % (len(kept), len(cases), " and ".join(REMOTE)), flush=True)
        sys.exit(subprocess.run([sys.executable, os.path.join(conformance, "compare.py"), "--bin", wrapper] + kept,
                                env=environment).returncode)
    finally:
        process.kill()
        process.wait()

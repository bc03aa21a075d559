#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what loading and scheduling small clusters costs, and fails if it costs more than it did.

    guard.py [--bin FOLDER] [--update] [CASE...]

FOLDER is a build folder with -DBERTH_BUILD_BENCH=ON; berth_count is built there first, so that no old one is counted.
Instructions (callgrind's) and allocations are counted, not time, so that every machine with the same compiler and
libraries finds the same. expected.csv has what they came to when somebody last looked; more than TOLERANCE above that
fails. --update writes expected.csv anew: do it when something has become cheaper, or has to cost what it costs, and
say why in the commit.

    valgrind --tool=callgrind --instr-atstart=no build/bench/berth_count schedule CONFIGURATION CLUSTER

and callgrind_annotate show where instructions go; --keep leaves the clusters in a folder.
"""
import argparse
import csv
import json
import multiprocessing.pool
import os
import re
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
WORKLOADS = os.path.join(os.path.dirname(FOLDER), "workloads")
EXPECTED = os.path.join(FOLDER, "expected.csv")
TOLERANCE = 0.04
sys.path.insert(0, WORKLOADS)
from workloads import WORKLOADS as KNOWN  # noqa: E402

# Name of the case: (phase, the generator's arguments).
CASES = {
    "load": ("load", "basic --nodes 200 --placed 2000 --pods 500"),
    "load-yaml": ("load", "basic --nodes 50 --placed 100 --pods 50 --format yaml"),
    "basic": ("schedule", "basic --nodes 500 --placed 200 --pods 1000"),
    "basic-8000-nodes": ("schedule", "basic --nodes 8000 --placed 200 --pods 1000"),
    "basic-10000-running": ("schedule", "basic --nodes 500 --placed 10000 --pods 1000"),
    "unalike": ("schedule", "unalike --nodes 500 --placed 200 --pods 500"),
    "mixed": ("schedule", "mixed-4000 --nodes 500 --placed 1000 --pods 500 --groups 200"),
    "mixed-40": ("schedule", "mixed-40 --nodes 500 --placed 1000 --pods 1000"),
    "mixed-requests": ("schedule", "mixed-requests --nodes 500 --placed 1000 --pods 500 --groups 200"),
    "mixed-rejected": ("schedule", "mixed-rejected --nodes 500 --placed 1000 --pods 600 --groups 200"),
    "mixed-preempting": ("schedule", "mixed-preempting --nodes 100 --pods 100 --groups 40"),
    "topology-spreading": ("schedule", "topology-spreading --nodes 500 --placed 500 --pods 500"),
    "anti-affinity": ("schedule", "anti-affinity --nodes 500 --placed 100 --pods 300"),
    "preferred-affinity": ("schedule", "preferred-affinity --nodes 500 --placed 500 --pods 500"),
    "rack-affinity": ("schedule", "rack-affinity --nodes 500 --placed 500 --pods 500"),
    "rack-spreading": ("schedule", "rack-spreading --nodes 500 --placed 500 --pods 500"),
    "unschedulable": ("schedule", "unschedulable --nodes 500 --placed 500 --pods 1000"),
    "rejected": ("schedule", "rejected --nodes 600 --placed 400 --pods 1000"),
    "volumes": ("schedule", "volumes --nodes 200 --placed 400 --pods 500"),
    "volumes-full": ("schedule", "volumes --nodes 40 --placed 1550 --pods 300"),
    "shared-volume": ("schedule", "shared-volume --nodes 500 --placed 500 --pods 500"),
    "gated": ("schedule", "gated --placed 500 --pods 1000"),
    "preemption-basic": ("schedule", "preemption-basic --nodes 100 --placed 400 --pods 100"),
    "preemption-5000-nodes": ("schedule", "preemption-mixed --nodes 5000 --placed 20000 --pods 100"),
    "preemption-in-vain": ("schedule", "preemption-in-vain --nodes 5000 --placed 20000 --pods 100"),
    "gpu-binpack": ("schedule", "gpu-binpack --nodes 150 --pods 1000"),
    "gpu-binpack-8000-nodes": ("schedule", "gpu-binpack --nodes 8000 --pods 1000"),
    "claims": ("schedule", "claims --nodes 500 --pods 500"),
    "claims-mixed": ("schedule", "claims-mixed --nodes 200 --pods 400"),
    "gang": ("schedule", "gang --nodes 100 --groups 50"),
    "gang-contended": ("schedule", "gang-contended --nodes 100 --groups 50"),
    "quota": ("schedule", "quota --nodes 40 --pods 160"),
    "quota-fresh": ("schedule", "quota-fresh --nodes 100 --pods 880"),
}
COLUMNS = ("instructions", "allocations", "cycles")


def count(name, berth_count, folder):
    """{column: what the case costs}; cycles are the pods looked at, more of them when pods are tried again in vain."""
    phase, words = CASES[name]
    cluster = os.path.join(folder, name)
    subprocess.run([sys.executable, os.path.join(WORKLOADS, "generate.py"), *words.split(), "-o", cluster], check=True)
    config = os.path.join(WORKLOADS, "configs", KNOWN[words.split()[0]].config + ".yaml")
    done = subprocess.run(["valgrind", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=/dev/null",
                           berth_count, phase, config, cluster],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or collected is None or int(collected[1]) == 0:
        sys.exit(f"{name}: nothing was counted (is valgrind's header there when berth_count is built?)\n{done.stderr}")
    result = json.loads(done.stdout.splitlines()[-1])
    return {"instructions": int(collected[1]), "allocations": result[phase]["allocations"], "cycles": result["cycles"]}


def read_expected():
    if not os.path.exists(EXPECTED):
        return {}
    with open(EXPECTED, newline="", encoding="utf-8") as f:
        return {row["case"]: {column: int(row[column]) for column in COLUMNS} for row in csv.DictReader(f)}


def write_expected(expected):
    with open(EXPECTED, "w", newline="", encoding="utf-8") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(("case", *COLUMNS))
        for name in CASES:
            if name in expected:
                out.writerow((name, *(expected[name][column] for column in COLUMNS)))


def change(now, before):
    if before == 0:
        return 0.0 if now == 0 else float("inf")
    return now / before - 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--bin", default="build/bench", help="build folder, with BERTH_BUILD_BENCH")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--keep", metavar="FOLDER")
    args = parser.parse_args()
    if subprocess.run(["cmake", "--build", args.bin, "--target", "berth_count"]).returncode != 0:
        sys.exit(f"berth_count cannot be built in {args.bin}: cmake -DBERTH_BUILD_BENCH=ON {args.bin}")
    names = args.cases or list(CASES)
    unknown = [name for name in names if name not in CASES]
    if unknown:
        parser.error(f"no case {unknown[0]}; there are {', '.join(CASES)}")

    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or scratch
        os.makedirs(folder, exist_ok=True)
        berth_count = os.path.join(args.bin, "berth_count")
        with multiprocessing.pool.ThreadPool(os.cpu_count()) as pool:
            counted = dict(zip(names, pool.map(lambda name: count(name, berth_count, folder), names, chunksize=1)))

    expected = read_expected()
    dearer, cheaper = [], []
    print(f"{'':22}" + "".join(f"{column:>14} {'change':>8}" for column in COLUMNS))
    for name, now in counted.items():
        cells = ""
        for column in COLUMNS:
            if name not in expected:
                cells += f"{now[column]:14,} {'new':>8}"
                dearer.append(f"{name} is not in expected.csv")
                continue
            before = expected[name][column]
            by = change(now[column], before)
            cells += f"{now[column]:14,} {by:+8.1%}"
            if by > TOLERANCE:
                dearer.append(f"{name}: {now[column]:,} {column}, {by:.1%} more than the {before:,} of before")
            elif by < -TOLERANCE:
                cheaper.append(name)
        print(f"{name:22}{cells}")
    if args.update:
        write_expected({**expected, **counted})
        return
    if cheaper:
        print(f"\ncheaper than expected.csv says, so that it no longer guards well (--update): {', '.join(sorted(set(cheaper)))}")
    if dearer:
        print(f"\nMore than {TOLERANCE:.0%} dearer:")
        for line in dict.fromkeys(dearer):
            print("  " + line)
        print("If that is the price of something, --update and say so in the commit; see bench/guard/guard.py.")
        sys.exit(1)


if __name__ == "__main__":
    main()

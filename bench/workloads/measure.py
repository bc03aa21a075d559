#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `berth simulate` on generated workloads and prints one table.

    measure.py [WORKLOAD...] [--runs N] [--seed N] [--nodes N] [--pods N] [--placed N] [--groups N]
               [--against 'CMD {config} {file}'] [--bin FOLDER] [--keep FOLDER] [--json FILE]

Figures are of the run with the median pods/s. A cycle is one pod looked at; its time is in microseconds. Allocations
are those of scheduling, divided by the cycles; berth_count counts them in a run of its own. The pause is the longest
time on the processor from the end of one attempt to the end of the next, bindings and events included, which
berth_pauses finds in three more ("-" if they are not built).

--against runs another scheduler on the same file, in turn with ours. {config} and {file} become paths. The last line
that it prints is the result: pods/s as a number, or JSON with "pods_per_second", or JSON with "bound" and
"schedule_seconds", at the top or in "summary". The ratio is that of the two medians. What it cannot run, because its
exit status is not 0, is "-".
"""
import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile

from workloads import WORKLOADS

FOLDER = os.path.dirname(os.path.abspath(__file__))
COMPARED = ("basic", "gpu-binpack", "gpu-mixed", "topology-spreading", "anti-affinity", "preferred-affinity",
            "unschedulable", "gated", "preemption-basic", "gang", "quota-100")
SIZES = ("nodes", "pods", "placed", "groups", "seed")


def generate(name, folder, args):
    path = os.path.join(folder, name + ".jsonl")
    command = [sys.executable, os.path.join(FOLDER, "generate.py"), name, "-o", path]
    for option in SIZES:
        if getattr(args, option) is not None:
            command += ["--" + option, str(getattr(args, option))]
    subprocess.run(command, check=True)
    return path


class Failed(Exception):
    """A command that has no result."""


def output(command):
    """The last line that a command prints."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        raise Failed(f"{shlex.join(command)}: exit status {done.returncode}")
    return lines[-1]


def summary(line):
    """What another scheduler's last line says, or ours."""
    try:
        said = json.loads(line)
    except ValueError:
        sys.exit(f"neither a number nor JSON: {line[:200]}")
    if isinstance(said, (int, float)):
        return {"pods_per_second": said}
    said = said.get("summary", said)
    if "pods_per_second" not in said:
        said["pods_per_second"] = said["bound"] / max(said["schedule_seconds"], 1e-9)
    return said


def median_run(runs):
    return sorted(runs, key=lambda run: run["pods_per_second"])[len(runs) // 2]


def measure(name, folder, args):
    config = os.path.join(FOLDER, "configs", WORKLOADS[name].config + ".yaml")
    cluster = generate(name, folder, args)
    ours, others, runs_elsewhere = [], [], bool(args.against)
    for _ in range(args.runs):
        ours.append(summary(output([os.path.join(args.bin, "berth"), "simulate", "--config", config, "--cluster",
                                    cluster, "-o", "json"])))
        if runs_elsewhere:
            command = [word.replace("{config}", config).replace("{file}", cluster)
                       for word in shlex.split(args.against)]
            try:
                others.append(summary(output(command)))
            except Failed as failed:
                print(failed, file=sys.stderr)
                runs_elsewhere = False
    result = {"workload": name, **median_run(ours)}
    count = os.path.join(args.bin, "berth_count")
    if os.path.exists(count):
        result["counted"] = json.loads(output([count, "schedule", config, cluster]))
    pauses = os.path.join(args.bin, "berth_pauses")
    if os.path.exists(pauses):
        result["longest_pause_us"] = json.loads(output([pauses, config, cluster]))["longest"][0]["us"]
    if others:
        result["other_pods_per_second"] = statistics.median(run["pods_per_second"] for run in others)
    if not args.keep:
        os.remove(cluster)
    return result


def row(result):
    cycle = result["cycle_us"]
    counted = result.get("counted")
    pause = result.get("longest_pause_us")
    cells = [result["workload"], f"{result['pods_per_second']:,.0f}", f"{result['bound']:,}", f"{result['pending']:,}",
             f"{cycle['p50']:.1f}", f"{cycle['p99']:.1f}", f"{cycle['max']:,.0f}",
             "-" if pause is None else f"{pause:,.0f}", f"{result['load_seconds']:.2f}",
             f"{result['peak_rss_bytes'] / 2**20:,.0f}",
             f"{counted['schedule']['allocations'] / max(counted['cycles'], 1):.1f}" if counted else "-"]
    other = result.get("other_pods_per_second")
    cells += [f"{other:,.0f}", f"{result['pods_per_second'] / other:,.0f}"] if other else ["-", "-"]
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    parser.add_argument("--runs", type=int, default=3)
    for option in SIZES:
        parser.add_argument("--" + option, type=int)
    parser.add_argument("--against", metavar="CMD")
    parser.add_argument("--bin", default="build/bench", help="folder of berth, berth_count and berth_pauses")
    parser.add_argument("--keep", metavar="FOLDER", help="leaves the generated files there")
    parser.add_argument("--json", metavar="FILE", help="writes all figures there")
    args = parser.parse_args()
    names = args.workloads or COMPARED
    for name in names:
        if name not in WORKLOADS or WORKLOADS[name].config is None:
            parser.error(f"{name} is no workload that can be run; generate.py --list shows them")
    head = ["workload", "pods/s", "bound", "pending", "p50 µs", "p99 µs", "max µs", "pause µs", "load s", "peak MiB",
            "alloc/cycle"]
    if args.against:
        head += ["other pods/s", "ratio"]
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or scratch
        os.makedirs(folder, exist_ok=True)
        print("| " + " | ".join(head) + " |\n|---" + "|---:" * (len(head) - 1) + "|", flush=True)
        for name in names:
            try:
                results.append(measure(name, folder, args))
            except Failed as failed:
                sys.exit(str(failed))
            print("| " + " | ".join(row(results[-1])[:len(head)]) + " |", flush=True)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump(results, out, indent=1)


if __name__ == "__main__":
    main()

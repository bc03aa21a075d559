#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `berth simulate` on clusters of which one thing is twice as many, and prints what that costs.

    growth.py [SERIES...] [--bin FOLDER] [--times N] [--limit RATIO] [--keep FOLDER]
    growth.py --list

A row a series: seconds of CPU and peak memory of the whole command at n and at 2n, and their ratios. Exit status 1
if a ratio is above the limit. --times 4 multiplies every n, for looking further out.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

from series import SERIES, TOP

# Below these, what a program costs that does nothing decides the ratio, or the clock's grain.
LEAST_SECONDS, LEAST_MIB = 0.1, 40


def run(berth, config, cluster):
    """CPU seconds and peak MiB."""
    child = subprocess.Popen([berth, "simulate", "--config", config, "--cluster", cluster, "-o", "json"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{berth} on {cluster}: status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(name, n, folder, args):
    series = SERIES[name]
    cluster = os.path.join(folder, f"{name}-{n}.jsonl")
    with open(cluster, "w", encoding="utf-8") as out:
        for each in series.objects(n):
            out.write(json.dumps(each, separators=(",", ":")) + "\n")
    result = run(os.path.join(args.bin, "berth"), series.config, cluster)
    if not args.keep:
        os.remove(cluster)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("series", nargs="*", metavar="SERIES")
    parser.add_argument("--list", action="store_true", help="the series and what grows in each")
    parser.add_argument("--bin", default=os.path.join(TOP, "build", "bench"), help="folder of berth")
    parser.add_argument("--times", type=float, default=1)
    parser.add_argument("--limit", type=float, default=2.5)
    parser.add_argument("--keep", metavar="FOLDER", help="leaves the clusters there")
    args = parser.parse_args()
    unknown = [name for name in args.series if name not in SERIES]
    if unknown:
        parser.error(f"no series {unknown[0]}; --list shows them")
    if args.list:
        for name, each in SERIES.items():
            print(f"{name:28} {each.n:6}  {each.objects.__doc__}")
        return
    worse = []
    print("| series | n | s at n | at 2n | ratio | MiB at n | at 2n | ratio |\n|---|" + "---:|" * 7, flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name in args.series or SERIES:
            n = int(SERIES[name].n * args.times)
            folder = args.keep or scratch
            small, large = (measure(name, count, folder, args) for count in (n, 2 * n))
            ratios = [b / max(a, least) for a, b, least in zip(small, large, (LEAST_SECONDS, LEAST_MIB))]
            if max(ratios) > args.limit:
                worse.append(name)
            print(f"| {name} | {n} | {small[0]:.2f} | {large[0]:.2f} | {ratios[0]:.1f} "
                  f"| {small[1]:.0f} | {large[1]:.0f} | {ratios[1]:.1f} |", flush=True)
    if worse:
        sys.exit(f"more than {args.limit} times for twice as many: {', '.join(worse)}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `berth simulate` on clusters of which one thing is twice as many, and prints what that costs.

    growth.py [SERIES...] [--bin FOLDER] [--times N] [--repeat K] [--limit RATIO] [--keep FOLDER]
    growth.py --count [SERIES...]
    growth.py --list

A row a series: seconds of CPU in user mode and peak memory of the whole command at n and at 2n, and their ratios.
Each is run K times in turn, and the least counts: what else the machine does can only add to a run.
Exit status 1 if a ratio is above the limit. --times 4 multiplies every n, for looking further out.

--count counts instructions (callgrind's) instead, of a twentieth of every n: slower a run, but other work on the machine
does not change what it says. What a cluster of one node costs is taken off. It finds what is much worse than linear; what is
a little worse shows further out.
"""
import argparse
import json
import multiprocessing.pool
import os
import re
import shutil
import subprocess
import sys
import tempfile

from series import SERIES, TOP, node

# Below these, what a program costs that does nothing decides the ratio, or the clock's grain.
LEAST_SECONDS, LEAST_MIB, LEAST_INSTRUCTIONS = 0.1, 40, 5e6
# Of n, with --count; and the least, as with fewer what is made once decides.
COUNTED_PART, LEAST_COUNTED = 1 / 20, 60


def command(berth, config, cluster):
    return [berth, "simulate", "--config", config, "--cluster", cluster, "-o", "json"]


def write(objects, path):
    with open(path, "w", encoding="utf-8") as out:
        for each in objects:
            out.write(json.dumps(each, separators=(",", ":")) + "\n")


def run(berth, config, cluster):
    """CPU seconds in user mode and peak MiB."""
    child = subprocess.Popen(command(berth, config, cluster), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise RuntimeError(f"{berth} on {cluster}: status {status}")
    return usage.ru_utime, usage.ru_maxrss / 1024


def count(berth, config, cluster):
    """Instructions."""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                           *command(berth, config, cluster)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or collected is None:
        raise RuntimeError(f"{berth} on {cluster}: status {done.returncode}\n{done.stderr}")
    return int(collected[1])


def written(name, n, args):
    """Path of the cluster of this series in which n of its thing are."""
    path = os.path.join(args.folder, f"{name}-{n}.jsonl")
    write(SERIES[name].objects(n), path)
    return path


def least_of_runs(name, sizes, args):
    """Of each size, the least CPU seconds and peak MiB of its runs."""
    berth, config = os.path.join(args.bin, "berth"), SERIES[name].config
    clusters = [written(name, n, args) for n in sizes]
    rounds = [[run(berth, config, cluster) for cluster in clusters] for _ in range(args.repeat)]
    if not args.keep:
        for cluster in clusters:
            os.remove(cluster)
    return [tuple(map(min, zip(*runs))) for runs in zip(*rounds)]


def counted(name, n, args):
    """Instructions of one run."""
    cluster = written(name, n, args)
    result = count(os.path.join(args.bin, "berth"), SERIES[name].config, cluster)
    if not args.keep:
        os.remove(cluster)
    return result


def grow(names, args):
    """Prints seconds and memory. Returns the series above the limit."""
    worse = []
    print("| series | n | s at n | at 2n | ratio | MiB at n | at 2n | ratio |\n|---|" + "---:|" * 7, flush=True)
    for name in names:
        n = int(SERIES[name].n * args.times)
        small, large = least_of_runs(name, (n, 2 * n), args)
        ratios = [b / max(a, least) for a, b, least in zip(small, large, (LEAST_SECONDS, LEAST_MIB))]
        if max(ratios) > args.limit:
            worse.append(name)
        print(f"| {name} | {n} | {small[0]:.2f} | {large[0]:.2f} | {ratios[0]:.1f} "
              f"| {small[1]:.0f} | {large[1]:.0f} | {ratios[1]:.1f} |", flush=True)
    return worse


def grow_counted(names, args):
    """Prints instructions. Returns the series above the limit."""
    sizes = {name: max(LEAST_COUNTED, int(SERIES[name].n * args.times * COUNTED_PART)) for name in names}
    least = os.path.join(args.folder, "least.jsonl")
    write([node("node")], least)
    configs = sorted({SERIES[name].config for name in names})
    with multiprocessing.pool.ThreadPool(os.cpu_count()) as pool:
        berth = os.path.join(args.bin, "berth")
        of_least = dict(zip(configs, pool.map(lambda config: count(berth, config, least), configs, chunksize=1)))
        runs = [(name, size) for name in names for size in (sizes[name], 2 * sizes[name])]
        instructions = dict(zip(runs, pool.map(lambda each: counted(*each, args), runs, chunksize=1)))
    worse = []
    print("| series | n | million instructions at n | at 2n | ratio |\n|---|" + "---:|" * 4)
    for name in names:
        n = sizes[name]
        small, large = (instructions[name, size] - of_least[SERIES[name].config] for size in (n, 2 * n))
        ratio = large / max(small, LEAST_INSTRUCTIONS)
        if ratio > args.limit:
            worse.append(name)
        print(f"| {name} | {n} | {small / 1e6:.1f} | {large / 1e6:.1f} | {ratio:.2f} |")
    return worse


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("series", nargs="*", metavar="SERIES")
    parser.add_argument("--list", action="store_true", help="the series and what grows in each")
    parser.add_argument("--count", action="store_true", help="instructions of small clusters")
    parser.add_argument("--bin", default=os.path.join(TOP, "build", "bench"), help="folder of berth")
    parser.add_argument("--times", type=float, default=1)
    parser.add_argument("--repeat", type=int, default=3, help="runs of each size")
    parser.add_argument("--limit", type=float, default=2.5)
    parser.add_argument("--keep", metavar="FOLDER", help="leaves the clusters there")
    args = parser.parse_args()
    unknown = [name for name in args.series if name not in SERIES]
    if unknown:
        parser.error(f"no series {unknown[0]}; --list shows them")
    if args.count and shutil.which("valgrind") is None:
        parser.error("--count needs valgrind")
    if args.list:
        for name, each in SERIES.items():
            print(f"{name:28} {each.n:6}  {each.objects.__doc__}")
        return
    with tempfile.TemporaryDirectory() as scratch:
        args.folder = args.keep or scratch
        try:
            worse = (grow_counted if args.count else grow)(args.series or list(SERIES), args)
        except RuntimeError as error:
            sys.exit(str(error))
    if worse:
        sys.exit(f"more than {args.limit} times for twice as many: {', '.join(worse)}")


if __name__ == "__main__":
    main()

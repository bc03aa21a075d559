#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a cluster for measuring: nodes, pods that run, pods that wait; the same bytes for the same arguments.

    generate.py WORKLOAD [--nodes N] [--pods N] [--placed N] [--groups N] [--permit SECONDS] [--seed N]
                         [--format jsonl|yaml] [-o FILE]
    generate.py --list

jsonl is one object a line, yaml the same objects as a stream of documents.
"""
import argparse
import json
import random
import sys

from workloads import WORKLOADS


def json_line(value):
    return json.dumps(value, separators=(",", ":")) + "\n"


def yaml_lines(value, indent=""):
    """A dict or a list as YAML in block style. Scalars are written as JSON, which YAML contains."""
    pairs = ((key + ":", each) for key, each in value.items()) if isinstance(value, dict) else (("-", each) for each in value)
    for begin, each in pairs:
        if isinstance(each, (dict, list)) and each:
            yield indent + begin
            yield from yaml_lines(each, indent + "  ")
        else:
            yield indent + begin + " " + json.dumps(each)


def yaml_document(value):
    return "---\n" + "\n".join(yaml_lines(value)) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", nargs="?", choices=WORKLOADS, metavar="WORKLOAD")
    parser.add_argument("--list", action="store_true", help="the workloads and their sizes")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--pods", type=int, help="that wait; gangs have as many as they draw")
    parser.add_argument("--placed", type=int, help="that run already; of gated: behind the gate")
    parser.add_argument("--groups", type=int, help="of gangs")
    parser.add_argument("--permit", type=int, help="scheduleTimeoutSeconds of gangs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", choices=("jsonl", "yaml"), default="jsonl")
    parser.add_argument("-o", "--output", help="a file; default: standard output")
    args = parser.parse_args()
    if args.list or args.workload is None:
        for name, workload in WORKLOADS.items():
            nodes, pods, placed, *_ = workload.size
            print(f"{name:28} {nodes:6} nodes {pods:7} pods {placed:6} placed  {workload.objects.__doc__}")
        return
    workload = WORKLOADS[args.workload]
    given = {field: getattr(args, field) for field in workload.size._fields if getattr(args, field) is not None}
    write = json_line if args.format == "jsonl" else yaml_document
    out = open(args.output, "w", encoding="utf-8") if args.output else sys.stdout
    with out:
        for each in workload.objects(workload.size._replace(**given), random.Random(args.seed)):
            out.write(write(each))


if __name__ == "__main__":
    main()

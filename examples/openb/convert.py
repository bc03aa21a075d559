#!/usr/bin/env python3
"""Turns the OpenB trace's CSV files into Kubernetes manifests, one JSON object a line.

    convert.py FOLDER >cluster.jsonl

GPUs become the extended resource nvidia.com/gpu. A pod that asks for a share of a card gets a whole
one: sharing of cards is not scheduled yet.
"""
import csv
import json
import os
import sys

GPU = "nvidia.com/gpu"


def node(row):
    allocatable = {"cpu": f"{row['cpu_milli']}m", "memory": f"{row['memory_mib']}Mi",
                   GPU: row["gpu"], "pods": "1001"}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": row["sn"], "labels": {"kubernetes.io/hostname": row["sn"],
                                                       "nvidia.com/gpu.product": row["model"]}},
            "status": {"capacity": allocatable, "allocatable": allocatable}}


def pod(row):
    requests = {"cpu": f"{row['cpu_milli']}m", "memory": f"{row['memory_mib']}Mi"}
    if int(row["num_gpu"]) > 0:
        requests[GPU] = row["num_gpu"]
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": row["name"], "namespace": "default"},
            "spec": {"schedulerName": "default-scheduler",
                     "containers": [{"name": "main", "image": "openb",
                                     "resources": {"requests": requests, "limits": requests}}]},
            "status": {"phase": "Pending"}}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    folder = sys.argv[1]
    shares = share_milli = 0
    with open(os.path.join(folder, "openb_node_list_gpu_node.csv"), newline="") as f:
        for row in csv.DictReader(f):
            print(json.dumps(node(row)))
    with open(os.path.join(folder, "openb_pod_list_default.csv"), newline="") as f:
        for row in csv.DictReader(f):
            if int(row["num_gpu"]) == 1 and int(row["gpu_milli"]) < 1000:
                shares += 1
                share_milli += int(row["gpu_milli"])
            print(json.dumps(pod(row)))
    print(f"Note: {shares:,} pods of the trace ask for a share of a GPU, {share_milli / 1000:,.0f} GPUs in all; "
          f"each is given a whole one ({shares:,} GPUs), because sharing of cards is not scheduled yet.",
          file=sys.stderr)


if __name__ == "__main__":
    main()

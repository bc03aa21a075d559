#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the OpenB trace's CSV files into Kubernetes manifests, one JSON object a line.

    convert.py FOLDER >cluster.jsonl

Whole GPUs become the extended resource nvidia.com/gpu, shares the annotations of gpu-share.
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
    metadata = {"name": row["name"], "namespace": "default"}
    if int(row["num_gpu"]) > 0 and int(row["gpu_milli"]) >= 1000:
        requests[GPU] = row["num_gpu"]
    elif int(row["num_gpu"]) > 0:
        metadata["annotations"] = {"alibabacloud.com/gpu-milli": row["gpu_milli"],
                                   "alibabacloud.com/gpu-count": row["num_gpu"]}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": metadata,
            "spec": {"schedulerName": "default-scheduler",
                     "containers": [{"name": "main", "image": "openb",
                                     "resources": {"requests": requests, "limits": requests}}]},
            "status": {"phase": "Pending"}}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    folder = sys.argv[1]
    with open(os.path.join(folder, "openb_node_list_gpu_node.csv"), newline="") as f:
        for row in csv.DictReader(f):
            print(json.dumps(node(row)))
    with open(os.path.join(folder, "openb_pod_list_default.csv"), newline="") as f:
        for row in csv.DictReader(f):
            print(json.dumps(pod(row)))


if __name__ == "__main__":
    main()

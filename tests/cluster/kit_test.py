#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conformance kit of cluster backends, on a real API server: kit_test.py BERTH_CLUSTER_KIT"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster import Cluster  # noqa: E402

if __name__ == "__main__":
    kit = os.path.abspath(sys.argv[1])
    with Cluster() as cluster:
        subprocess.run([kit, cluster.path("admin.kubeconfig")], check=True, timeout=300)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes PersistentVolumes for claims, as a storage driver does: at once, or with WaitForFirstConsumer when a scheduler
has written the node. There is nothing behind them.

    provisioner.py KUBECONFIG
"""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api import ApiError, Client  # noqa: E402

PROVISIONER = "tests.local/provisioner"
SELECTED_NODE = "volume.kubernetes.io/selected-node"


def volume_for(claim, storage_class):
    """None as long as the claim has to wait."""
    node = claim["metadata"].get("annotations", {}).get(SELECTED_NODE)
    if storage_class.get("volumeBindingMode") == "WaitForFirstConsumer" and not node:
        return None
    metadata, spec = claim["metadata"], claim["spec"]
    volume = {
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": "pvc-" + metadata["uid"], "annotations": {"pv.kubernetes.io/provisioned-by": PROVISIONER}},
        "spec": {"capacity": {"storage": spec["resources"]["requests"]["storage"]}, "accessModes": spec["accessModes"],
                 "storageClassName": storage_class["metadata"]["name"], "persistentVolumeReclaimPolicy": "Retain",
                 "hostPath": {"path": "/nowhere"},
                 "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": metadata["name"],
                              "namespace": metadata["namespace"], "uid": metadata["uid"]}}}
    if node:
        term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
        volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    return volume


def provision(api):
    classes = {item["metadata"]["name"]: item for item in api.list("storage.k8s.io/v1/StorageClass")[0]
               if item["provisioner"] == PROVISIONER}
    for claim in api.list("v1/PersistentVolumeClaim")[0]:
        storage_class = classes.get(claim["spec"].get("storageClassName"))
        if storage_class and not claim["spec"].get("volumeName"):
            volume = volume_for(claim, storage_class)
            if volume:
                try:
                    api.create(volume)
                except ApiError as e:
                    if e.status != 409:  # the controller manager has not bound it yet
                        raise


def main():
    api = Client.of_kubeconfig(sys.argv[1])
    while True:
        try:
            provision(api)
        except (ApiError, OSError) as e:
            print(e, flush=True)
        time.sleep(0.5)


if __name__ == "__main__":
    main()

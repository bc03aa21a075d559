# SPDX-License-Identifier: Apache-2.0
"""Runs a remote plugin, and simulates a cluster with it."""
import json
import os
import subprocess
import tempfile


def simulate(berth, command, configuration, cluster):
    """What `berth simulate` decides, once `berth validate` has taken the configuration, and what `berth describe-plugin`
    says. `command` serves the plugin at the address that is added to it, which ADDRESS stands for in the configuration."""
    with tempfile.TemporaryDirectory() as folder:
        address = "unix:%s/plugin.sock" % folder
        paths = os.path.join(folder, "config.yaml"), os.path.join(folder, "cluster.yaml")
        for path, text in zip(paths, (configuration.replace("ADDRESS", address), cluster)):
            with open(path, "w") as f:
                f.write(text)
        process = subprocess.Popen(command + [address])
        try:
            described = subprocess.run([berth, "describe-plugin", address], check=True, stdout=subprocess.PIPE).stdout
            subprocess.run([berth, "validate", paths[0]], check=True)
            simulated = subprocess.run([berth, "simulate", "--config", paths[0], "--cluster", paths[1], "-o", "json"],
                                       check=True, stdout=subprocess.PIPE).stdout
        finally:
            process.kill()
            process.wait()
    return json.loads(simulated), json.loads(described)

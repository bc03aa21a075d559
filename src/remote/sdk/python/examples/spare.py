# SPDX-License-Identifier: Apache-2.0
"""Makes room for pods that fit nowhere: pods that are labelled example.com/spare=true go, whatever their priority.

    spare.py unix:/run/spare.sock    or HOST:PORT CA.pem CERT.pem KEY.pem
"""
import sys

from berth.v1 import plugin_pb2 as v1
from berth_plugin import Plugin, serve, uid_of, unschedulable

LABEL = "example.com/spare"


class Spare(Plugin):
    name, version = "example.com/spare", "1.0"

    def post_filter(self, pod, nodes, codes):
        if pod.metadata.labels.get(LABEL) == "true":
            return None  # it is one itself
        for node, code in zip(nodes, codes):
            if code != v1.UNSCHEDULABLE:  # there is no such node, or evicting pods does not help on it
                continue
            victims = [uid_of(there) for there in node.pods.values() if there.metadata.labels.get(LABEL) == "true"]
            if victims:
                return node.name, victims
        return unschedulable("no pod is spare")


if __name__ == "__main__":
    serve(sys.argv[1], Spare, *sys.argv[2:])

# SPDX-License-Identifier: Apache-2.0
"""Keeps pods that are annotated example.com/licence: NAME on nodes that are labelled example.com/licences.NAME, and
prefers nodes without licences for all others.

    licences.py unix:/run/licences.sock    or HOST:PORT CA.pem CERT.pem KEY.pem
"""
import sys

from berth_plugin import Plugin, serve, unresolvable

ANNOTATION, LABEL = "example.com/licence", "example.com/licences."


class Licences(Plugin):
    name, version = "example.com/licences", "1.0"
    # What the verdicts read, so that Berth asks once for all pods with the same licence.
    signature = ["metadata.annotations[%s]" % ANNOTATION]
    depends_on = ["NodeLabels"]
    events = [("Node", ["Add", "UpdateNodeLabel"])]

    def filter(self, pod, node):
        licence = pod.metadata.annotations.get(ANNOTATION)
        if licence and LABEL + licence not in node.object.metadata.labels:
            return unresolvable("node(s) had no licence for " + licence)

    def score(self, pod, node):
        has_licences = any(key.startswith(LABEL) for key in node.object.metadata.labels)
        return 0 if has_licences and not pod.metadata.annotations.get(ANNOTATION) else 100


if __name__ == "__main__":
    serve(sys.argv[1], Licences, *sys.argv[2:])

# SPDX-License-Identifier: Apache-2.0
"""Runs a plugin as Berth would, without a scheduler and without gRPC."""
from berth.api import core_v1_pb2 as api
from berth.v1 import plugin_pb2 as v1

import berth_plugin


def pod(name, annotations=None, labels=None):
    made = api.Pod()
    made.metadata.name, made.metadata.namespace = name, "default"
    made.metadata.annotations.update(annotations or {})
    made.metadata.labels.update(labels or {})
    return made


def node(name, labels=None):
    made = api.Node()
    made.metadata.name = name
    made.metadata.labels.update(labels or {})
    return made


class Scheduler:
    """One end of a session; a plugin of that class is at the other."""

    def __init__(self, plugin_class, arguments="{}"):
        self.description, self.session, self.names = plugin_class.description(), berth_plugin.Session(plugin_class), []
        started = self.session.handle(v1.ToPlugin(start=v1.Start(protocol_version=1, arguments_json=arguments)))
        assert not started.started.error, started.started.error

    def set_nodes(self, *nodes):
        """These, and no others, are the nodes; they have no pods."""
        self.names, self.pods = [each.metadata.name for each in nodes], {each.metadata.name: [] for each in nodes}
        update = v1.Update(revision=1, full=True, node_count=len(nodes))
        for index, each in enumerate(nodes):
            update.nodes.add(index=index).node.CopyFrom(each)
        assert self.session.handle(v1.ToPlugin(update=update)).synced.revision == 1

    def set_pods(self, node_name, *pods):
        """These, and no others, are on that node."""
        update = v1.Update(revision=1, node_count=len(self.names))
        update.nodes.add(index=self.names.index(node_name), pods_removed=self.pods[node_name], pods=pods)
        self.pods[node_name] = [berth_plugin.uid_of(each) for each in pods]
        assert self.session.handle(v1.ToPlugin(update=update)) is None

    def post_filter(self, asked, codes):
        """What is done for a pod that fits nowhere, `codes` by node name: (node, victims), or why nothing is."""
        question = v1.PostFilter(id=1, revision=1, pod=asked, codes=bytes(codes[name] for name in self.names))
        answer = self.session.handle(v1.ToPlugin(post_filter=question)).post_filter
        if answer.status.code == v1.SUCCESS:
            return answer.nominated_node, list(answer.victim_uids)
        return "".join(answer.status.reasons)

    def evaluate(self, asked):
        """Why nodes are rejected ("" if they are not), and their scores, by name."""
        question = v1.Evaluate(id=1, revision=1, pod=asked, points=self.description.points)
        answer = self.session.handle(v1.ToPlugin(evaluate=question)).evaluation
        assert answer.status.code == v1.SUCCESS, answer.status
        rejections, scores, ids = {}, {}, iter(answer.reason_ids)
        for index, name in enumerate(self.names):
            is_rejected = answer.rejected and answer.rejected[index // 8] >> (index % 8) & 1
            rejections[name] = answer.reasons[next(ids)].reasons[0] if is_rejected else ""
            width = answer.score_width
            scores[name] = int.from_bytes(answer.scores[index * width:(index + 1) * width], "little", signed=True)
        return rejections, scores

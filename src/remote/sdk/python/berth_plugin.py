# SPDX-License-Identifier: Apache-2.0
"""Serves a scheduler plugin to Berth. A plugin is a subclass of Plugin: the methods that it overrides are the extension
points that it serves. Calls of one session come one at a time. What they raise is an ERROR, and failurePolicy in the profile
says what becomes of the pod.

    class Mine(Plugin):
        name, signature, depends_on = "example.com/mine", ["metadata.labels"], ["NodeLabels"]
        def filter(self, pod, node): return unresolvable("node(s) were not mine") if ... else None

    serve("unix:/run/mine.sock", Mine)
"""
import array
import concurrent.futures
import ipaddress
import itertools
import json
import operator
import os
import queue
import struct
import sys
import traceback

import grpc

from berth.v1 import plugin_pb2 as v1
from berth.v1 import plugin_pb2_grpc
from berth_standard_services import add_standard_services

MAX_MESSAGE_BYTES = 256 << 20


def unschedulable(reason):
    """Rejects; evicting pods might help."""
    return v1.Status(code=v1.UNSCHEDULABLE, reasons=[reason])


def unresolvable(reason):
    """Rejects; evicting pods does not help."""
    return v1.Status(code=v1.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons=[reason])


def failure(error):
    """What an exception of a plugin becomes. Where it was raised is for the operator of the plugin."""
    traceback.print_exc()
    return v1.Status(code=v1.ERROR, reasons=[repr(error)])


def uid_of(pod):
    """metadata.uid, or what Berth takes instead for a pod without one."""
    return pod.metadata.uid or "Pod/%s/%s" % (pod.metadata.namespace, pod.metadata.name)


class Node:
    """A node as the scheduler sees it, as far as depends_on asks for it."""

    def __init__(self):
        self.object, self.requested, self.pod_count, self.pods = None, {}, 0, {}

    @property
    def name(self):
        return self.object.metadata.name

    def change(self, state, removed, added):
        if state.HasField("requested"):
            self.requested, self.pod_count = dict(state.requested.amounts), state.requested.pods
        for uid in removed:
            self.pods.pop(uid, None)
        for pod in added:
            self.pods[uid_of(pod)] = pod


class Plugin:
    """One profile of one scheduler. `arguments` are those of the profile; an exception of __init__ refuses them."""

    name, version, arguments_schema = "", "", ""
    signature = None  # fields of the pod that verdicts read; None: they are asked for each pod
    depends_on = ()
    normalization = v1.NORMALIZATION_NONE
    events = ()  # (resource, [actions])

    def __init__(self, arguments, session):
        self.arguments, self.session = arguments, session

    def pre_filter(self, pod, nodes):
        """None, or a Status: a rejection of the pod, or SKIP if filter() need not be called. Or a set of names: filter() is
        asked of these nodes only, and the pod goes to no other. `nodes` are all, by index; None where there is none."""

    def filter(self, pod, node):
        """None, or a Status."""

    def post_filter(self, pod, nodes, codes):
        """No node is feasible; `codes` says how each of `nodes` was rejected (None: there is none at that index).
        None if nothing can be done here, a Status, or (node_name, [uids of pods there that are to be evicted])."""

    def score(self, pod, node):
        """A whole number from 0 to 100; with a normalization, to 2**53. Not called for nodes that filter() rejects."""

    def reserve(self, pod, node_name):
        """None, or a Status."""

    def unreserve(self, pod, node_name):
        pass

    def permit(self, pod, node_name):
        """None, a Status, or (seconds, None) to wait for session.decide()."""

    def pre_bind(self, pod, node_name):
        """None, or a Status."""

    def bind(self, pod, node_name):
        """None, or a Status."""

    def post_bind(self, pod, node_name):
        pass

    @classmethod
    def description(cls):
        points = {v1.PRE_FILTER: "pre_filter", v1.FILTER: "filter", v1.POST_FILTER: "post_filter", v1.SCORE: "score", v1.RESERVE: "reserve",
                  v1.PERMIT: "permit", v1.PRE_BIND: "pre_bind", v1.BIND: "bind", v1.POST_BIND: "post_bind"}
        message = v1.Description(
            name=cls.name, version=cls.version, protocol_version=v1.PROTOCOL_VERSION_1, depends_on=cls.depends_on,
            arguments_schema=cls.arguments_schema, normalization=cls.normalization,
            points=[point for point, method in points.items() if getattr(cls, method) is not getattr(Plugin, method)],
            events=[v1.Event(resource=resource, actions=actions) for resource, actions in cls.events])
        if cls.signature is not None:
            message.signature.pod_fields.extend(cls.signature)
            message.signature.SetInParent()
        return message


class Session:
    """The stream to one profile of a scheduler."""

    def __init__(self, plugin_class):
        self.plugin_class, self.plugin, self.nodes, self.outgoing = plugin_class, None, [], queue.SimpleQueue()

    def invalidate(self):
        """Verdicts so far do not count any more."""
        self.outgoing.put(v1.FromPlugin(invalidate=v1.Invalidate()))

    def decide(self, pod_uid, allow, message=""):
        """The answer to a permit() that waits."""
        self.outgoing.put(v1.FromPlugin(permit=v1.PermitDecision(pod_uid=pod_uid, allow=allow, message=message)))

    def handle(self, message):
        """The answer, or None."""
        kind = message.WhichOneof("message")
        if kind == "start":
            try:
                self.plugin = self.plugin_class(json.loads(message.start.arguments_json or "{}"), self)
            except Exception as error:  # whatever it is, the scheduler shows it
                return v1.FromPlugin(started=v1.Started(error=str(error) or repr(error)))
            return v1.FromPlugin(started=v1.Started())
        if kind == "update":
            self.update(message.update)
            if message.update.full:
                return v1.FromPlugin(synced=v1.Synced(revision=message.update.revision))
        elif kind == "evaluate":
            return v1.FromPlugin(evaluation=self.evaluate(message.evaluate))
        elif kind == "post_filter":
            return v1.FromPlugin(post_filter=self.post_filter(message.post_filter))
        elif kind == "call":
            return self.call(message.call)
        return None

    def update(self, update):
        if update.full:
            self.nodes = []
        self.nodes.extend([None] * (update.node_count - len(self.nodes)))
        for index in update.removed:
            self.nodes[index] = None
        for state in update.nodes:
            node = self.nodes[state.index] = self.nodes[state.index] or Node()
            if state.HasField("node"):
                node.object = state.node
            node.change(state, state.pods_removed, state.pods)

    def evaluate(self, question):
        answer = v1.Evaluation(id=question.id, revision=question.revision)
        nodes, pod = self.nodes, question.pod
        if question.HasField("hypothetical"):
            nodes = [self.hypothetical(question.hypothetical)]
        try:
            said = self.plugin.pre_filter(pod, self.nodes) if v1.PRE_FILTER in question.points else None
            if isinstance(said, v1.Status) and said.code == v1.ERROR:
                answer.status.CopyFrom(said)
                return answer
            if isinstance(said, v1.Status):
                answer.pre_filter.CopyFrom(said)
            elif said is not None and not question.HasField("hypothetical"):  # which is one of these already
                nodes = [node if node and node.name in said else None for node in nodes]
                answer.eligible = bitmap(nodes)
            if v1.FILTER in question.points and not isinstance(said, v1.Status):
                statuses = [self.rejection(pod, node) if node else None for node in nodes]
                pack_verdicts(statuses, answer)
                nodes = [None if status else node for node, status in zip(nodes, statuses)]
        except Exception as error:  # failurePolicy says what becomes of the pod; others go on
            answer.status.CopyFrom(failure(error))
            return answer
        try:
            if v1.SCORE in question.points:
                pack_scores([self.plugin.score(pod, node) if node else 0 for node in nodes], answer)
        except Exception as error:  # the verdicts count
            answer.score_status.CopyFrom(failure(error))
        return answer

    def rejection(self, pod, node):
        status = self.plugin.filter(pod, node)
        return None if status is None or status.code == v1.SUCCESS else status

    def post_filter(self, question):
        result = v1.PostFilterResult(id=question.id)
        try:
            said = self.plugin.post_filter(question.pod, self.nodes, question.codes)
            if isinstance(said, tuple):
                result.nominated_node = said[0]
                result.victim_uids.extend(said[1])
            else:
                result.status.CopyFrom(said or v1.Status(code=v1.UNSCHEDULABLE))
        except Exception as error:
            result.status.CopyFrom(failure(error))
        return result

    def hypothetical(self, change):
        known, node = self.nodes[change.index], Node()
        node.object, node.requested, node.pod_count = known.object, known.requested, known.pod_count
        node.pods = dict(known.pods)
        node.change(change, change.pods_removed, change.pods_added)
        return node

    def call(self, call):
        methods = {v1.CALL_RESERVE: self.plugin.reserve, v1.CALL_UNRESERVE: self.plugin.unreserve,
                   v1.CALL_PERMIT: self.plugin.permit, v1.CALL_PRE_BIND: self.plugin.pre_bind,
                   v1.CALL_BIND: self.plugin.bind, v1.CALL_POST_BIND: self.plugin.post_bind}
        result = v1.CallResult(id=call.id)
        try:
            said = methods[call.point](call.pod, call.node)
            if isinstance(said, tuple):
                result.wait_milliseconds, said = int(said[0] * 1000), v1.Status(code=v1.WAIT)
        except Exception as error:
            said = failure(error)
        if call.id == 0:
            return None
        if said is not None:
            result.status.CopyFrom(said)
        return v1.FromPlugin(call=result)


def pack_verdicts(statuses, answer):
    """Statuses by node index, None for feasible ones."""
    if not any(statuses):
        return
    positions, ids = {}, bytearray()
    for status in statuses:
        if status is None:
            continue
        key = status.SerializeToString(deterministic=True)
        if key not in positions and len(positions) < 250:  # the last one stands for all others
            positions[key] = len(positions)
            answer.reasons.append(status)
        ids.append(positions.get(key, 249))
    answer.rejected, answer.reason_ids = bitmap(statuses), bytes(ids)


def bitmap(values):
    """A bit for each that is not None."""
    bits = bytearray((len(values) + 7) // 8)
    for index, value in enumerate(values):
        if value is not None:
            bits[index // 8] |= 1 << (index % 8)
    return bytes(bits)


def pack_scores(scores, answer):
    """Scores by node index."""
    scores = [operator.index(score) for score in scores]  # no None, and nothing with a fraction
    if not any(scores):
        return
    if all(-128 <= score < 128 for score in scores):
        answer.score_width, answer.scores = 1, array.array("b", scores).tobytes()
    else:
        answer.score_width, answer.scores = 8, struct.pack("<%dq" % len(scores), *scores)


class Service(plugin_pb2_grpc.PluginServicer):
    def __init__(self, plugin_class):
        self.plugin_class = plugin_class

    def Describe(self, request, context):
        return self.plugin_class.description()

    def Session(self, requests, context):
        session = Session(self.plugin_class)
        end = object()

        def read():
            try:
                for request in requests:
                    answer = session.handle(request)
                    if answer is not None:
                        session.outgoing.put(answer)
            except grpc.RpcError:
                pass  # the scheduler has gone
            finally:
                session.outgoing.put(end)

        reader = concurrent.futures.ThreadPoolExecutor(1)
        reader.submit(read).add_done_callback(lambda done: done.exception() and print(done.exception(), file=sys.stderr))
        yield from itertools.takewhile(lambda answer: answer is not end, iter(session.outgoing.get, None))


def serve(address, plugin_class, ca_file="", cert_file="", key_file=""):
    """Serves at unix:/PATH or HOST:PORT until the process ends. With TLS, which takes all three PEM files, only schedulers
    that have a certificate of the authority in ca_file are let in; without, HOST has to be the loopback interface."""
    credentials = server_credentials(address, ca_file, cert_file, key_file)
    options = [("grpc.max_receive_message_length", MAX_MESSAGE_BYTES), ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
               ("grpc.so_reuseport", 0)]
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(64), options=options)
    plugin_pb2_grpc.add_PluginServicer_to_server(Service(plugin_class), server)
    add_standard_services(server, ["berth.v1.Plugin"])
    server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
    server.start()
    if address.startswith("unix:"):
        os.chmod(address[len("unix:"):].replace("//", "", 1) if address.startswith("unix://") else address[5:], 0o600)
    server.wait_for_termination()


def server_credentials(address, ca_file, cert_file, key_file):
    """None where no TLS is needed; ValueError for what nobody should serve at."""
    files = [ca_file, cert_file, key_file]
    if any(files):
        if not all(files) or address.startswith("unix:"):
            raise ValueError("TLS takes ca_file, cert_file and key_file, and HOST:PORT")
        ca, certificate, key = (open(name, "rb").read() for name in files)
        return grpc.ssl_server_credentials([(key, certificate)], ca, require_client_auth=True)
    if not address.startswith("unix:") and not is_loopback(address):
        raise ValueError("%s is not on the loopback interface; use TLS or a Unix socket" % address)
    return None


def is_loopback(address):
    host = address.rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name, which may be anybody's
        return False

# SPDX-License-Identifier: Apache-2.0
"""The standard health service and reflection for a server. Debian has no packages of them; where the packages of PyPI are
installed their messages are used, as a process can have each message only once."""
import threading

import grpc
from google.protobuf import descriptor_pool

try:
    from grpc_health.v1 import health_pb2
    from grpc_reflection.v1alpha import reflection_pb2
except ImportError:
    from berth.standard import health_pb2, reflection_pb2

HEALTH, REFLECTION = "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"
NOT_FOUND = grpc.StatusCode.NOT_FOUND.value[0]


def add_standard_services(server, services):
    """`services` are the full names of what the server serves besides; all of them are healthy as long as it runs."""
    health, reflection = Health(services), Reflection([*services, HEALTH, REFLECTION])
    server.add_generic_rpc_handlers((
        grpc.method_handlers_generic_handler(HEALTH, {
            "Check": handler(grpc.unary_unary_rpc_method_handler, health.check, health_pb2.HealthCheckRequest),
            "Watch": handler(grpc.unary_stream_rpc_method_handler, health.watch, health_pb2.HealthCheckRequest)}),
        grpc.method_handlers_generic_handler(REFLECTION, {
            "ServerReflectionInfo": handler(grpc.stream_stream_rpc_method_handler, reflection.info,
                                            reflection_pb2.ServerReflectionRequest)})))


def handler(make, method, request):
    return make(method, request_deserializer=request.FromString, response_serializer=lambda answer: answer.SerializeToString())


class Health:
    def __init__(self, services):
        self.services = {"", *services}
        self.watches = threading.Semaphore(8)  # each one holds a thread of the server

    def check(self, request, context):
        if request.service not in self.services:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such service")
        return health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVING)

    def watch(self, request, context):
        if not self.watches.acquire(blocking=False):
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many calls of Watch")
        try:
            known, ended = request.service in self.services, threading.Event()
            status = health_pb2.HealthCheckResponse
            yield status(status=status.SERVING if known else status.SERVICE_UNKNOWN)
            if context.add_callback(ended.set):
                ended.wait()  # nothing changes as long as the server runs
        finally:
            self.watches.release()


class Reflection:
    def __init__(self, services):
        self.services, self.pool = services, descriptor_pool.Default()

    def info(self, requests, context):
        for request in requests:
            answer = reflection_pb2.ServerReflectionResponse(valid_host=request.host, original_request=request)
            try:
                self.fill(request, answer)
            except KeyError:
                answer.error_response.error_code, answer.error_response.error_message = NOT_FOUND, "not found"
            yield answer

    def fill(self, request, answer):
        kind = request.WhichOneof("message_request")
        if kind == "list_services":
            for name in self.services:
                answer.list_services_response.service.add(name=name)
        elif kind == "file_by_filename":
            self.add_file(self.pool.FindFileByName(request.file_by_filename), answer.file_descriptor_response, set())
        elif kind == "file_containing_symbol":
            self.add_file(self.file_of(request.file_containing_symbol), answer.file_descriptor_response, set())
        elif kind == "all_extension_numbers_of_type":  # there are none
            name = self.pool.FindMessageTypeByName(request.all_extension_numbers_of_type).full_name
            answer.all_extension_numbers_response.base_type_name = name
        else:
            raise KeyError(kind)

    def file_of(self, symbol):
        try:
            return self.pool.FindFileContainingSymbol(symbol)
        except KeyError:
            parent = symbol.rpartition(".")[0]  # of a method, say
            if not parent:
                raise
            found = self.pool.FindFileContainingSymbol(parent)
            name = symbol.rpartition(".")[2]
            if name in found.services_by_name or any(name in service.methods_by_name
                                                     for service in found.services_by_name.values()):
                return found
            raise

    def add_file(self, file, response, added):
        if file.name in added:
            return
        added.add(file.name)
        response.file_descriptor_proto.append(file.serialized_pb)
        for imported in file.dependencies:
            self.add_file(imported, response, added)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The standard health service and reflection of a server, asked as grpc_health_probe and grpcurl do.

    standard_services.py SERVICE COMMAND...    COMMAND serves SERVICE ("berth.v1.Plugin") at the address that is added to it
"""
import os
import subprocess
import sys
import tempfile

import grpc
from berth.standard import health_pb2 as health
from berth.standard import reflection_pb2 as reflection
from google.protobuf import descriptor_pb2

SERVING = health.HealthCheckResponse.SERVING

service, command = sys.argv[1], sys.argv[2:]
with tempfile.TemporaryDirectory() as folder:
    address = "unix:" + os.path.join(folder, "served.sock")
    process = subprocess.Popen(command + [address], stdout=subprocess.DEVNULL)
    try:
        channel = grpc.insecure_channel(address)
        check = channel.unary_unary("/grpc.health.v1.Health/Check", health.HealthCheckRequest.SerializeToString,
                                    health.HealthCheckResponse.FromString)
        assert check(health.HealthCheckRequest(), wait_for_ready=True, timeout=60).status == SERVING
        try:
            check(health.HealthCheckRequest(service="no.Such"), timeout=60)
            raise AssertionError("a service that there is not is healthy")
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.NOT_FOUND, error
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch", health.HealthCheckRequest.SerializeToString,
                                     health.HealthCheckResponse.FromString)
        stream = watch(health.HealthCheckRequest(), timeout=60)
        assert next(stream).status == SERVING
        stream.cancel()

        info = channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                                     reflection.ServerReflectionRequest.SerializeToString,
                                     reflection.ServerReflectionResponse.FromString)
        asked = [reflection.ServerReflectionRequest(list_services="*"),
                 reflection.ServerReflectionRequest(file_containing_symbol=service),
                 reflection.ServerReflectionRequest(file_containing_symbol="no.Such")]
        services, files, none = info(iter(asked), timeout=60)
        names = [each.name for each in services.list_services_response.service]
        assert service in names and "grpc.health.v1.Health" in names, names
        described = [descriptor_pb2.FileDescriptorProto.FromString(each) for each in files.file_descriptor_response.file_descriptor_proto]
        assert any(each.package + "." + one.name == service for each in described for one in each.service), described
        assert none.error_response.error_code == grpc.StatusCode.NOT_FOUND.value[0], none
        print("%s of %s is healthy, and described by reflection" % (service, os.path.basename(command[0])))
    finally:
        process.kill()
        process.wait()

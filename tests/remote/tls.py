#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the example "licences" of an SDK over TCP with mutual TLS: a client without a certificate of the authority is refused,
at both ends, and told why.

    tls.py BERTH COMMAND...    COMMAND serves the plugin at the address and with the files that are added to it
"""
import os
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
from certificates import Authority  # noqa: E402

berth, command = sys.argv[1], sys.argv[2:]
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    address = "127.0.0.1:%d" % probe.getsockname()[1]
with tempfile.TemporaryDirectory() as folder:
    ours, others = Authority(os.path.join(folder, "ours")), Authority(os.path.join(folder, "others"))
    server, client, stranger = ours.server("plugin"), ours.client("scheduler", "scheduler"), others.client("x", "x")
    expired = ours.expired_client("expired", "scheduler")

    def describe(*files):
        flags = [f for pair in zip(("--ca-file", "--cert-file", "--key-file"), files) for f in pair]
        done = subprocess.run([berth, "describe-plugin", address, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    process = subprocess.Popen(command + [address, ours.path("ca.crt"), *server])
    try:
        end = time.time() + 60
        while describe(ours.path("ca.crt"), *client)[0] != 0 and time.time() < end:
            time.sleep(0.1)
        status, text = describe(ours.path("ca.crt"), *client)
        assert status == 0 and "example.com/licences" in text, text
        for why, files in {"was not signed by " + others.path("ca.crt"): (others.path("ca.crt"), *client),
                           "the peer may refuse " + stranger[0]: (ours.path("ca.crt"), *stranger),
                           ": the certificate expired on ": (ours.path("ca.crt"), *expired),
                           "it may speak TLS": ()}.items():
            status, text = describe(*files)
            assert status == 1 and why in text, (files, status, text)
        print("%s is served over mutual TLS, and to nobody else" % os.path.basename(command[-1]))
    finally:
        process.kill()
        process.wait()

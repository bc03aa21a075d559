#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `berth serve` and a client in Python: it does what the client asks for, is for this user alone, and ends cleanly.

    serve.py BERTH COMMAND...    COMMAND is the client; the server's address is added to it
"""
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile

WANT = ["placed: p0 on n1, p1 on n2, p2 on n3", "waiting: p3: 0/3 nodes are available: 3 Insufficient cpu.",
        "what if: with 1 more node: fits", "is evicted: default-scheduler: preempting", "urgent is on n"]

berth, command = sys.argv[1], sys.argv[2:]
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "berth.sock")
    for listen, why in ("0.0.0.0:0", "is not on the loopback interface"), ("unix:relative", "absolute path"):
        refused = subprocess.run([berth, "serve", "--listen", listen], stderr=subprocess.PIPE, timeout=60)
        assert refused.returncode == 1 and why in refused.stderr.decode(), refused
    server = subprocess.Popen([berth, "serve", "--listen", "unix:" + path], stdout=subprocess.PIPE)
    try:
        assert server.stdout.readline().decode() == "listening on unix:%s\n" % path
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        for _ in range(2):  # the cluster was forgotten, and is another one
            said = subprocess.run(command + ["unix:" + path], check=True, stdout=subprocess.PIPE, timeout=120).stdout.decode()
            for line in WANT:
                assert re.search(re.escape(line), said), said
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=60) == 0, server.returncode
        print("berth serve schedules what %s asks for" % os.path.basename(command[-1]))
    finally:
        server.kill()
        server.wait()

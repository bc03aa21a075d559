# SPDX-License-Identifier: Apache-2.0
"""Builds and runs go_extender/."""
import json
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))


def build(path):
    environment = {**os.environ, "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
    subprocess.run(["go", "build", "-o", path, "."], cwd=os.path.join(HERE, "go_extender"), env=environment, check=True)


class GoExtender:
    """Listens while it is entered; `requests` are those so far."""

    def __init__(self, program, log, flags=()):
        self._command = [program, "-log", log, *flags]
        self._log = log

    def __enter__(self):
        open(self._log, "w", encoding="utf-8").close()
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        self.url = self._process.stdout.readline().strip()
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()

    @property
    def requests(self):
        with open(self._log, encoding="utf-8") as log:
            return [json.loads(line) for line in log]

# SPDX-License-Identifier: Apache-2.0
"""Programs that run until they are stopped. None of them outlives the program that started it."""
import collections
import ctypes
import os
import signal
import socket
import subprocess
import time

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class ClusterError(Exception):
    """Says what went wrong, with the last lines of the log."""


def wait_until(what, check, seconds, interval=0.05):
    """Returns what `check` returns once that is true. A check that raises OSError is tried again."""
    deadline = time.monotonic() + seconds
    while True:
        error = None
        try:
            result = check()
            if result:
                return result
        except OSError as e:
            error = e
        if time.monotonic() > deadline:
            raise ClusterError("%s: not within %d s%s" % (what, seconds, ": %s" % error if error else ""))
        time.sleep(interval)


_next_port = None


def free_ports(count):
    """Below the range from which connections get theirs, and never the same twice: a program that is stopped finds its
    port free when it comes back."""
    global _next_port
    if _next_port is None:
        with open("/proc/sys/net/ipv4/ip_local_port_range") as f:
            first_ephemeral = int(f.read().split()[0])
        _next_port = 10000 + os.getpid() * 64 % max(64, first_ephemeral - 12000)
    ports = []
    while len(ports) < count:
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", _next_port))
                ports.append(_next_port)
            except OSError:
                pass
        _next_port += 1
    return ports


class Process:
    """A program with its arguments, its log file and what tells that it is ready."""

    def __init__(self, name, command, log, environment, ready=None, ready_seconds=60):
        """`ready` is called until it returns something true; it may raise OSError meanwhile."""
        self.name = name
        self.command = command
        self.log = log
        self._environment = environment
        self._ready = ready
        self._ready_seconds = ready_seconds
        self._child = None

    @property
    def running(self):
        return self._child is not None and self._child.poll() is None

    @property
    def pid(self):
        return self._child.pid

    def start(self):
        """Starts it and returns at once; see wait_ready()."""
        assert not self.running, self.name
        parent = os.getpid()

        def in_child():  # it dies with us, even if we are killed
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)

        with open(self.log, "a") as log:
            self._child = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                           env=self._environment, start_new_session=True, preexec_fn=in_child)

    def wait_ready(self):
        def check():
            if not self.running:
                raise ClusterError(self._words("ended with status %d before it was ready" % self._child.returncode))
            return self._ready is None or self._ready()

        try:
            wait_until(self.name, check, self._ready_seconds)
        except ClusterError as e:
            if "last lines" in str(e):
                raise
            raise ClusterError(self._words("is not ready after %d s (%s)" % (self._ready_seconds, e))) from e

    def signal(self, number):
        """To all that it started too, unless these made sessions of their own."""
        if self.running:
            os.killpg(self._child.pid, number)

    def stop(self, seconds=10):
        """SIGTERM, then SIGKILL. Returns the exit status."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)
        try:
            self._child.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
        return self._child.returncode

    def kill(self):
        self.signal(signal.SIGKILL)
        self._child.wait()

    def _words(self, what):
        return "%s %s; the last lines of %s:\n%s" % (self.name, what, self.log, tail(self.log))


def tail(path, lines=15):
    try:
        with open(path, errors="replace") as f:
            return "".join("  " + line for line in collections.deque(f, lines))
    except FileNotFoundError:
        return "  (there is no such file)"

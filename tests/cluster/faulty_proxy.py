# SPDX-License-Identifier: Apache-2.0
"""Stands between a scheduler and the API server and does to their connection what networks and servers do: cuts, delays,
refuses, loses answers. Faults are switched on and off while it runs.

FaultyProxy understands the requests, and speaks HTTP/1.1; FaultyLink forwards bytes and understands nothing, so that the two
speak HTTP/2 with each other, as without it."""
import http.client
import json
import random
import socket
import ssl
import threading
import time
import urllib.parse

REASONS = {409: "Conflict", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"}


class FaultyProxy:
    """Speaks HTTP/1.1 with TLS on `port`. It has no credentials of its own: clients bring a token.

    `set(...)` replaces the faults; each is a probability for one request, unless it says otherwise:
      refuse    {status: probability}: answered here, the server hears nothing of it; 429 says Retry-After: 1
      lose      the server answers a write, and the answer is lost
      half      half of an answer's body, then the connection is cut
      delay     (probability, seconds)
      down      True: nobody answers
    `cut_watches()` cuts all watches now; `stall_watches(seconds)` delivers nothing on them for so long, then cuts them;
    `nonsense_on_watches()` sends bytes that are no event."""

    def __init__(self, server, port, authority, seed=0):
        self._target = urllib.parse.urlsplit(server).netloc
        self._upstream = ssl.create_default_context(cafile=authority.path("ca.crt"))
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(*authority.server("proxy"))
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._faults = {}
        self._watches = set()
        self._stalled_until = 0
        self._nonsense = set()
        self.counts = {}
        self.url = "https://127.0.0.1:%d" % port
        self.trust = {"certificate-authority": authority.path("ca.crt")}  # what a kubeconfig says of whom it meets there
        self._listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self._ended = False
        threading.Thread(target=self._accept, daemon=True).start()

    def set(self, **faults):
        with self._lock:
            self._faults = faults

    def cut_watches(self):
        with self._lock:
            watches, self._watches = self._watches, set()
        for connection in watches:
            self._count("watch cut")
            _slam(connection)

    def stall_watches(self, seconds):
        self._stalled_until = time.monotonic() + seconds

    def heal(self):
        """No faults from now on."""
        self.set()
        self._stalled_until = 0

    def nonsense_on_watches(self):
        with self._lock:
            self._nonsense = set(self._watches)

    def close(self):
        self._ended = True
        self._listener.close()
        self.cut_watches()

    # Inside.

    def _count(self, what):
        with self._lock:
            self.counts[what] = self.counts.get(what, 0) + 1

    def _draw(self, request):
        """What becomes of a request: (kind, argument)."""
        with self._lock:
            faults, chance = self._faults, self._random.random
            if faults.get("down"):
                return "down", None
            probability, seconds = faults.get("delay", (0, 0))
            delay = seconds * chance() if chance() < probability else 0
            for status, probability in faults.get("refuse", {}).items():
                if chance() < probability:
                    return "refuse", status
            if request["method"] != "GET" and chance() < faults.get("lose", 0):
                return "lose", None
            if not request["watch"] and chance() < faults.get("half", 0):
                return "half", None
            return "delay", delay

    def _accept(self):
        while not self._ended:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, raw):
        upstream = http.client.HTTPSConnection(self._target, timeout=700, context=self._upstream)
        connection = raw
        try:
            raw.settimeout(700)
            connection = self._tls.wrap_socket(raw, server_side=True)  # takes `raw` over
            reader = connection.makefile("rb")
            while not self._ended:
                request = _read_request(reader)
                if request is None or not self._answer(connection, upstream, request):
                    break
        except (OSError, http.client.HTTPException, ValueError):
            pass
        finally:
            upstream.close()
            _slam(connection)

    def _answer(self, connection, upstream, request):
        """Returns whether the connection can be used again."""
        fate, argument = self._draw(request)
        if fate == "down":
            self._count("unreachable")
            return False
        if fate == "refuse":
            self._count("%d" % argument)
            connection.sendall(_refusal(argument))
            return True
        if fate == "delay" and argument:
            self._count("delayed")
            time.sleep(argument)
        upstream.request(request["method"], request["target"], request["body"], request["headers"])
        answer = upstream.getresponse()
        if request["watch"] and answer.status == 200:
            self._watch(connection, answer)
            return False
        body = answer.read()
        if fate == "lose":
            self._count("answer lost")
            return False
        head = _head(answer, "Content-Length: %d" % len(body))
        if fate == "half" and len(body) > 1:
            self._count("half an answer")
            connection.sendall(head + body[:len(body) // 2])
            return False
        connection.sendall(head + body)
        return True

    def _watch(self, connection, answer):
        with self._lock:
            self._watches.add(connection)
        try:
            connection.sendall(_head(answer, "Transfer-Encoding: chunked"))
            while True:
                chunk = answer.read1(65536)
                if self._stalled_until > time.monotonic():
                    self._count("watch stalled")
                    while self._stalled_until > time.monotonic():
                        time.sleep(0.1)
                    return
                if connection in self._nonsense:
                    self._nonsense.discard(connection)
                    self._count("nonsense")
                    chunk = bytes(self._random.randrange(256) for _ in range(100))
                if not chunk:
                    connection.sendall(b"0\r\n\r\n")
                    return
                connection.sendall(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        finally:
            with self._lock:
                self._watches.discard(connection)
                self._nonsense.discard(connection)
            answer.close()


class FaultyLink:
    """A TCP connection to `server` for each that comes to `port`. TLS is between the two ends: the certificate is the API
    server's, and the kubeconfig needs `trust`.

    `set(...)` replaces the faults:
      down      True: who comes is turned away, and all connections are cut
      dead      True: who comes is let in, and hears nothing
      delay     seconds that a piece of data takes at most
      cut       probability for one piece of data that half of it is forwarded, and then the connection is cut
    `cut()` cuts all connections now; after `lose()` nothing more comes through on those that there are, and nobody is told: the
    bytes are swallowed, as by a firewall that has forgotten them."""

    def __init__(self, server, port, authority, seed=0):
        target = urllib.parse.urlsplit(server)
        self._target = (target.hostname, target.port)
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._faults = {}
        self._links = set()  # (client, server) of each connection
        self._lost = set()
        self.counts = {}
        self.url = "https://127.0.0.1:%d" % port
        self.trust = {"certificate-authority": authority.path("ca.crt"), "tls-server-name": "kubernetes.default.svc"}
        self._listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self._ended = False
        threading.Thread(target=self._accept, daemon=True).start()

    def set(self, **faults):
        with self._lock:
            self._faults = faults
        if faults.get("down"):
            self.cut()

    def cut(self):
        with self._lock:
            links = list(self._links)
        for link in links:
            self._count("cut")
            self._end(link)

    def lose(self):
        with self._lock:
            self._lost |= self._links

    def heal(self):
        """No faults from now on. What is lost stays so."""
        with self._lock:
            dead = self._faults.get("dead")
        self.set()
        if dead:
            self.lose()

    def close(self):
        self._ended = True
        self._listener.close()
        self.cut()

    def _count(self, what):
        with self._lock:
            self.counts[what] = self.counts.get(what, 0) + 1

    def _accept(self):
        while not self._ended:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._faults.get("down"):
                self._count("turned away")
                _slam(client)
                continue
            try:
                link = (client, socket.create_connection(self._target, 10))
                for end in link:
                    end.settimeout(None)
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError:  # the server is not there
                _slam(client)
                continue
            self._count("connections")
            with self._lock:
                self._links.add(link)
                if self._faults.get("dead"):
                    self._lost.add(link)
            for source, sink in (link, link[::-1]):
                threading.Thread(target=self._forward, args=(link, source, sink), daemon=True).start()

    def _forward(self, link, source, sink):
        try:
            while True:
                data = source.recv(65536)
                if link in self._lost:
                    self._count("swallowed")
                    if not data:
                        return
                    continue
                if not data:
                    break
                with self._lock:
                    delay = self._faults.get("delay", 0) * self._random.random()
                    cut = self._random.random() < self._faults.get("cut", 0)
                if delay:
                    self._count("delayed")
                    time.sleep(delay)
                if cut:
                    self._count("cut in the middle")
                    sink.sendall(data[:len(data) // 2])
                    break
                sink.sendall(data)
        except OSError:
            pass
        self._end(link)

    def _end(self, link):
        with self._lock:
            self._links.discard(link)
            self._lost.discard(link)
        for connection in link:
            _slam(connection)


def _slam(connection):
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    connection.close()


def _read_request(reader):
    line = reader.readline(65536)
    if not line:
        return None
    method, target, _ = line.decode("latin-1").split(" ", 2)
    headers = {}
    while True:
        line = reader.readline(65536).decode("latin-1").rstrip("\r\n")
        if not line:
            break
        name, value = line.split(":", 1)
        headers[name.strip().lower()] = value.strip()
    body = reader.read(int(headers.get("content-length", 0)))
    kept = {name: value for name, value in headers.items()
            if name in ("authorization", "accept", "content-type", "user-agent")}
    return {"method": method, "target": target, "headers": kept, "body": body,
            "watch": method == "GET" and "watch=" in target}


def _head(answer, framing):
    lines = ["HTTP/1.1 %d %s" % (answer.status, answer.reason), framing]
    lines += ["%s: %s" % (name, answer.headers[name]) for name in ("Content-Type", "Retry-After") if answer.headers[name]]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _refusal(status):
    body = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": REASONS[status], "code": status,
                       "message": "refused by the test's proxy"}).encode()
    retry = "Retry-After: 1\r\n" if status == 429 else ""
    return ("HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n"
            % (status, REASONS[status], retry, len(body))).encode() + body

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""FaultyLink between a client and a server of this test. Needs no cluster, but openssl."""
import http.client
import http.server
import os
import socket
import ssl
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from certificates import Authority  # noqa: E402
from faulty_proxy import FaultyLink  # noqa: E402
from processes import free_ports  # noqa: E402

BODY = b"x" * 200000


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):  # clients and their connections go without a word
        pass


class FaultyLinkTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.authority = Authority(folder.name)
        port, = free_ports(1)
        server = Server(("127.0.0.1", port), Answers)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*cls.authority.server("server"))
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        cls.server = "https://127.0.0.1:%d" % port

    def setUp(self):
        self.link = FaultyLink(self.server, free_ports(1)[0], self.authority, seed=1)
        self.addCleanup(self.link.close)

    def connect(self):
        tls = ssl.create_default_context(cafile=self.link.trust["certificate-authority"])
        connection = http.client.HTTPSConnection(self.link.url.split("//")[1], context=tls, timeout=2)
        self.addCleanup(connection.close)
        return connection

    def get(self, connection):
        connection.request("GET", "/")
        return connection.getresponse().read()

    def expect_cut(self, connection):
        with self.assertRaises((ConnectionError, ssl.SSLError, http.client.HTTPException)) as cut:
            self.get(connection)
        self.assertNotIsInstance(cut.exception, socket.timeout)

    def test_it_forwards(self):
        connection = self.connect()
        self.assertEqual(self.get(connection), BODY)
        self.assertEqual(self.get(connection), BODY)
        self.assertEqual(self.link.counts["connections"], 1)

    def test_who_comes_is_turned_away_until_it_has_healed(self):
        self.link.set(down=True)
        self.expect_cut(self.connect())
        self.link.heal()
        self.assertEqual(self.get(self.connect()), BODY)

    def test_connections_are_cut(self):
        connection = self.connect()
        self.get(connection)
        self.link.cut()
        self.expect_cut(connection)

    def test_connections_are_cut_in_the_middle(self):
        self.link.set(cut=1)
        self.expect_cut(self.connect())

    def test_what_is_lost_hears_nothing_and_is_not_told(self):
        lost = self.connect()
        self.get(lost)
        self.link.lose()
        with self.assertRaises(socket.timeout):
            self.get(lost)
        self.assertEqual(self.get(self.connect()), BODY)

    def test_who_came_while_it_was_dead_stays_lost(self):
        self.link.set(dead=True)
        with self.assertRaises(socket.timeout):
            self.get(self.connect())
        self.link.heal()
        self.assertEqual(self.get(self.connect()), BODY)

    def test_it_delays(self):
        self.link.set(delay=0.01)
        self.assertEqual(self.get(self.connect()), BODY)
        self.assertGreater(self.link.counts["delayed"], 3)


if __name__ == "__main__":
    unittest.main()

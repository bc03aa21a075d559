# SPDX-License-Identifier: Apache-2.0
"""Certificates of a test cluster, made by openssl: an authority, and what it signs."""
import os
import subprocess


class Authority:
    """Keeps NAME.crt and NAME.key in `folder`; its own are ca.crt and ca.key."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        if not os.path.exists(self.path("ca.crt")):
            self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                          "-days", "30", "-subj", "/CN=test-cluster-ca", "-keyout", self.path("ca.key"),
                          "-out", self.path("ca.crt"), "-addext", "keyUsage=critical,keyCertSign,cRLSign")

    def path(self, name):
        return os.path.join(self.folder, name)

    def server(self, name):
        """For a server at 127.0.0.1, and a client too: etcd uses one for both."""
        names = ("DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,"
                 "IP:127.0.0.1,IP:10.96.0.1")
        return self._sign(name, "/CN=" + name, "extendedKeyUsage=serverAuth,clientAuth\nsubjectAltName=" + names)

    def client(self, name, user, group=None):
        subject = ("/O=" + group if group else "") + "/CN=" + user
        return self._sign(name, subject, "extendedKeyUsage=clientAuth")

    def service_account_key(self):
        """(private, public) key files for the tokens of service accounts."""
        private, public = self.path("service-accounts.key"), self.path("service-accounts.pub")
        if not os.path.exists(public):
            self._openssl("ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", private)
            self._openssl("ec", "-in", private, "-pubout", "-out", public)
        return private, public

    def expired_client(self, name, user):
        return self._sign(name, "/CN=" + user, "extendedKeyUsage=clientAuth", days=0)

    def _sign(self, name, subject, extensions, days=30):
        certificate, key, request = self.path(name + ".crt"), self.path(name + ".key"), self.path(name + ".csr")
        if not os.path.exists(certificate):
            self._openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                          "-subj", subject, "-keyout", key, "-out", request)
            self._openssl("x509", "-req", "-in", request, "-CA", self.path("ca.crt"), "-CAkey", self.path("ca.key"),
                          "-CAcreateserial", "-days", str(days), "-extfile", "/dev/stdin", "-out", certificate,
                          text=extensions)
        return certificate, key

    @staticmethod
    def _openssl(*arguments, text=""):
        done = subprocess.run(["openssl", *arguments], input=text, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError("openssl %s: %s" % (arguments[0], done.stderr))

# SPDX-License-Identifier: Apache-2.0
"""A small client of an API server: objects are dicts, as JSON has them. Errors are ApiError, with the server's words."""
import http.client
import json
import ssl
import threading
import urllib.parse

DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
MERGE_PATCH = "application/merge-patch+json"


class ApiError(Exception):
    def __init__(self, method, path, status, message):
        super().__init__("%s %s: %d: %s" % (method, path, status, message))
        self.status = status


class Client:
    """`server` is a URL. It is safe to use from several threads: each has a connection of its own."""

    def __init__(self, server, ca, certificate=None, key=None, token=None, timeout=30):
        self._address = urllib.parse.urlsplit(server).netloc
        self._tls = ssl.create_default_context(cafile=ca)
        if certificate:
            self._tls.load_cert_chain(certificate, key)
        self._token = token
        self._timeout = timeout
        self._local = threading.local()
        self._resources = None

    @classmethod
    def of_kubeconfig(cls, path):
        """For the files that cluster.py writes."""
        with open(path) as f:
            config = json.load(f)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        return cls(cluster["server"], cluster["certificate-authority"], user.get("client-certificate"),
                   user.get("client-key"), user.get("token"))

    # Requests.

    def request(self, method, path, body=None, content_type="application/json", accept="application/json"):
        """The answer as a dict, or as text if it is no JSON."""
        answer = self._send(method, path, body, content_type, accept)
        text = answer.read().decode()
        if answer.headers.get_content_type() != "application/json":
            return text
        return json.loads(text)

    def watch(self, path, resource_version, seconds):
        """Yields (type, object) for `seconds`, or until the connection ends."""
        query = urllib.parse.urlencode({"watch": "true", "resourceVersion": resource_version,
                                        "timeoutSeconds": seconds, "allowWatchBookmarks": "true"})
        separator = "&" if "?" in path else "?"
        connection = self._connect(seconds + 30)
        try:
            connection.request("GET", path + separator + query, headers=self._headers("application/json"))
            answer = self._checked(connection.getresponse(), "WATCH", path)
            for line in answer:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise ApiError("WATCH", path, event["object"].get("code", 0), event["object"].get("message"))
                yield event["type"], event["object"]
        finally:
            connection.close()

    def close(self):
        """Ends the connection of this thread."""
        if getattr(self._local, "connection", None):
            self._local.connection.close()
            self._local.connection = None

    # Objects.

    def path_of(self, kind, name=None, namespace="default", subresource=None):
        """`kind` may be preceded by its apiVersion: "v1/Pod", "policy/v1/PodDisruptionBudget"."""
        prefix, plural, namespaced = self._resource(kind)
        path = prefix
        if namespaced and namespace:
            path += "/namespaces/" + namespace
        return "/".join(part for part in (path, plural, name, subresource) if part)

    def create(self, item, namespace="default"):
        path = self.path_of("%s/%s" % (item["apiVersion"], item["kind"]), None,
                            item["metadata"].get("namespace", namespace))
        return self.request("POST", path, item)

    def get(self, kind, name, namespace="default"):
        return self.request("GET", self.path_of(kind, name, namespace))

    def list(self, kind, namespace=None, selector=None):
        """(items, resourceVersion); namespace None: of all."""
        path = self.path_of(kind, None, namespace)
        if selector:
            path += "?" + urllib.parse.urlencode({"labelSelector": selector})
        answer = self.request("GET", path)
        return answer["items"], answer["metadata"]["resourceVersion"]

    def patch(self, kind, name, patch, namespace="default", subresource=None):
        return self.request("PATCH", self.path_of(kind, name, namespace, subresource), patch, MERGE_PATCH)

    def delete(self, kind, name, namespace="default", grace_seconds=None):
        options = {} if grace_seconds is None else {"gracePeriodSeconds": grace_seconds}
        return self.request("DELETE", self.path_of(kind, name, namespace), options)

    def delete_all(self, kind, namespace="default", grace_seconds=None):
        options = {} if grace_seconds is None else {"gracePeriodSeconds": grace_seconds}
        return self.request("DELETE", self.path_of(kind, None, namespace), options)

    # Inside.

    def _connect(self, timeout):
        return http.client.HTTPSConnection(self._address, timeout=timeout, context=self._tls)

    def _headers(self, accept):
        headers = {"Accept": accept, "User-Agent": "tests-cluster"}
        if self._token:
            headers["Authorization"] = "Bearer " + self._token
        return headers

    def _send(self, method, path, body, content_type, accept):
        headers = self._headers(accept)
        data = None
        if body is not None:
            data = json.dumps(body)
            headers["Content-Type"] = content_type
        connection = getattr(self._local, "connection", None)
        if connection:
            try:
                connection.request(method, path, data, headers)
                return self._checked(connection.getresponse(), method, path)
            except (http.client.RemoteDisconnected, http.client.CannotSendRequest, ConnectionError, ssl.SSLEOFError):
                connection.close()  # the server closed it while it was idle, or was killed
        connection = self._local.connection = self._connect(self._timeout)
        try:
            connection.request(method, path, data, headers)
            return self._checked(connection.getresponse(), method, path)
        except (OSError, http.client.HTTPException):
            self._local.connection = None
            connection.close()
            raise

    @staticmethod
    def _checked(answer, method, path):
        if answer.status < 400:
            return answer
        text = answer.read().decode(errors="replace")
        try:
            text = json.loads(text)["message"]
        except (ValueError, KeyError, TypeError):
            pass
        raise ApiError(method, path, answer.status, text)

    def _resource(self, kind):
        if self._resources is None or kind not in self._resources:
            self._resources = self._discover()
        if kind not in self._resources:
            raise ApiError("GET", "/apis", 404, "the server knows no kind %s" % kind)
        return self._resources[kind]

    def _discover(self):
        found = {}
        for root in ("/api", "/apis"):
            for group in self.request("GET", root, accept=DISCOVERY)["items"]:
                name = group["metadata"].get("name", "")
                for version in group["versions"]:
                    api_version = "/".join(part for part in (name, version["version"]) if part)
                    for resource in version.get("resources", []):
                        entry = (root + "/" + api_version, resource["resource"], resource["scope"] == "Namespaced")
                        kind = resource["responseKind"]["kind"]
                        found.setdefault(kind, entry)  # groups come in the order of preference
                        found.setdefault(api_version + "/" + kind, entry)
        return found

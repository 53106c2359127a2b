"""The cluster of dev/cluster, as bench/run sees it: bare pods, and a proxy that counts what is written."""
import base64
import collections
import http.client
import http.server
import json
import os
import re
import ssl
import subprocess
import threading
import time
import urllib.parse

DEV = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "dev")
WRITES = ("POST", "PUT", "PATCH", "DELETE")


def cluster(*arguments, check=True):
    """Runs dev/cluster and gives what it prints."""
    done = subprocess.run([os.path.join(DEV, "cluster"), *arguments], check=False, capture_output=True, text=True)
    if check and done.returncode != 0:
        raise SystemExit(f"bench: dev/cluster {' '.join(arguments)}: {done.stderr}")
    return done.stdout.strip()


class Kube:
    """The API server, with the rights of a kubeconfig that dev/cluster wrote."""

    def __init__(self, kubeconfig, namespace):
        with open(kubeconfig, encoding="utf-8") as file:
            self.text = file.read()
        self.server = re.search(r'server: "?(https://[^",}\s]+)', self.text)[1]
        self.token = re.search(r"token: ([\w.-]+)", self.text)[1]
        authority = base64.b64decode(re.search(r"certificate-authority-data: ([\w+/=]+)", self.text)[1])
        self.context = ssl.create_default_context(cadata=authority.decode())
        self.pods = f"/api/v1/namespaces/{namespace}/pods"
        self.connection = self.connect()
        self.number = 0

    def connect(self):
        address = urllib.parse.urlsplit(self.server)
        return http.client.HTTPSConnection(address.hostname, address.port, context=self.context)

    def ask(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        self.connection.request(method, path, json.dumps(body) if body else None, headers)
        response = self.connection.getresponse()
        answer = json.loads(response.read())
        if response.status >= 400:
            raise SystemExit(f"bench: {method} {path}: {answer.get('message')}")
        return answer

    def bare_pod(self, image):
        """Seconds from creating a pod that runs `true` to its success, as a watch sees it."""
        self.number += 1
        name = f"bare-{os.getpid()}-{self.number}"
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
            "restartPolicy": "Never", "hostUsers": False, "automountServiceAccountToken": False,
            "containers": [{"name": "one", "image": image, "imagePullPolicy": "IfNotPresent", "command": ["true"]}]}}
        began = time.perf_counter()
        created = self.ask("POST", self.pods, pod)
        took = None
        for event in self.watch(name, created["metadata"]["resourceVersion"]):
            if took is None and event["object"]["status"]["phase"] == "Succeeded":
                took = time.perf_counter() - began
                self.ask("DELETE", f"{self.pods}/{name}?gracePeriodSeconds=0")
        return took

    def watch(self, name, version):
        """A pod's changes, up to and with its removal."""
        watching = self.connect()
        path = f"{self.pods}?watch=true&fieldSelector=metadata.name%3D{name}&resourceVersion={version}"
        watching.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
        for line in watching.getresponse():
            event = json.loads(line)
            yield event
            if event["type"] == "DELETED":
                break
        watching.close()


class CountingProxy:
    """Stands between Airside and the API server and counts the writes: no metric tells clients apart."""

    def __init__(self, kube, kubeconfig):
        self.writes, self.kubeconfig = collections.Counter(), kubeconfig
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), forwarder(kube, self.writes))
        with open(kubeconfig, "w", encoding="utf-8") as file:
            file.write(kube.text.replace(kube.server, f"http://127.0.0.1:{self.server.server_port}"))

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()


def forwarder(kube, writes):
    class Forwarder(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self):
            if self.command in WRITES:
                writes[self.command] += 1
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length) if length else None
            headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "accept-encoding")}
            upstream = kube.connect()
            upstream.request(self.command, self.path, body, headers)
            response = upstream.getresponse()
            self.send_response(response.status)
            self.send_header("Content-Type", response.headers.get("Content-Type", "application/json"))
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                while chunk := response.read1(65536):
                    self.wfile.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
                self.wfile.write(b"0\r\n\r\n")
            except OSError:
                self.close_connection = True
            finally:
                upstream.close()

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward

        def log_message(self, *_):
            pass

    return Forwarder

"""The cluster of dev/cluster, as benchmarks see it: bare pods, and a proxy that counts what is written."""
import base64
import collections
import http.client
import http.server
import json
import os
import re
import socket
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

    def ask(self, method, path, body=None, content="application/json"):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content}
        self.connection.request(method, path, json.dumps(body) if body else None, headers)
        response = self.connection.getresponse()
        answer = json.loads(response.read())
        if response.status >= 400:
            raise SystemExit(f"bench: {method} {path}: {answer.get('message')}")
        return answer

    def bare_pod(self, image, script="true", volumes=0, stay=True):
        """Seconds from creating a pod that runs a script to its success, as a watch sees it. Whoever does not stay does
        not wait until it is removed."""
        self.number += 1
        name = f"bare-{os.getpid()}-{threading.get_ident()}-{self.number}"
        named = [f"volume-{number}" for number in range(volumes)]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
            "restartPolicy": "Never", "hostUsers": False, "automountServiceAccountToken": False,
            "volumes": [{"name": each, "emptyDir": {}} for each in named],
            "containers": [{"name": "one", "image": image, "imagePullPolicy": "IfNotPresent",
                            "command": ["sh", "-c", script],
                            "volumeMounts": [{"name": each, "mountPath": f"/{each}"} for each in named]}]}}
        began = time.perf_counter()
        created = self.ask("POST", self.pods, pod)
        took = None
        for event in self.watch(name, created["metadata"]["resourceVersion"]):
            if took is None and event["object"]["status"]["phase"] == "Succeeded":
                took = time.perf_counter() - began
                self.ask("DELETE", f"{self.pods}/{name}?gracePeriodSeconds=0")
                if not stay:
                    break
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


class FirstByte:
    """Hears from inside of pods, at the address at which they reach this machine."""

    def __init__(self, host):
        self.socket = socket.create_server((host, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def wait(self, run):
        """Seconds from `run`, which gets a script, to the first byte that the script sends."""
        host, port = self.socket.getsockname()
        heard = []

        def listen():
            connection, _ = self.socket.accept()
            with connection:
                connection.recv(1)
                heard.append(time.perf_counter())

        listening = threading.Thread(target=listen, daemon=True)
        listening.start()
        began = time.perf_counter()
        run(f"echo here | nc {host} {port}")
        listening.join()
        return heard[0] - began


def pods_created(namespace):
    """How many pods were ever created there, as the API server's audit has it. Those that were only tried out are none."""
    names = set()
    for line in cluster("audit").splitlines():
        entry = json.loads(line)
        about = entry.get("objectRef", {})
        if entry["verb"] == "create" and about.get("namespace") == namespace and not about.get("subresource") \
                and "dryRun=" not in entry["requestURI"] and entry.get("responseStatus", {}).get("code", 500) < 300:
            names.add(about.get("name"))
    return len(names)


class CountingProxy:
    """Stands between Airside and the API server and counts the writes: no metric tells clients apart. They are counted by
    verb, or by whatever `name` makes of verb and path."""

    def __init__(self, kube, kubeconfig, name=lambda verb, _path: verb):
        self.writes, self.kubeconfig = collections.Counter(), kubeconfig
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), forwarder(kube, self.writes, name))
        with open(kubeconfig, "w", encoding="utf-8") as file:
            file.write(kube.text.replace(kube.server, f"http://127.0.0.1:{self.server.server_port}"))

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()


def forwarder(kube, writes, name):
    class Forwarder(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self):
            if self.command in WRITES:
                writes[name(self.command, self.path)] += 1
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length) if length else None
            headers = {key: value for key, value in self.headers.items() if key.lower() not in ("host", "accept-encoding")}
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

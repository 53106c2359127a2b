"""A registry that benchmarks fill and that counts what is read from it."""
import collections
import hashlib
import http.server
import io
import json
import os
import pathlib
import re
import tarfile
import threading
import time

MEDIA, MB = "application/vnd.oci.image.", 1 << 20


class Upstream:
    """Serves without TLS to whoever reaches this address; what it sends is counted by repository.

    All that ask at once share its line, which may be given a rate in bytes a second."""

    def __init__(self, folder, host, rootfs):
        self.folder, self.manifests, self.sent = folder, {}, collections.Counter()
        self.lock, self.rate, self.free_at = threading.Lock(), None, 0
        os.makedirs(folder)
        self.base = self.keep(pathlib.Path(rootfs).read_bytes())
        self.server = http.server.ThreadingHTTPServer((host, 0), handler(self))
        self.address = f"{host}:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()

    def keep(self, *pieces):
        """The digest and size of a blob that is now kept."""
        digest, size, path = hashlib.sha256(), 0, os.path.join(self.folder, "new")
        with open(path, "wb") as blob:
            for piece in pieces:
                digest.update(piece)
                size += blob.write(piece)
        os.rename(path, os.path.join(self.folder, digest.hexdigest()))
        return {"digest": "sha256:" + digest.hexdigest(), "size": size}

    def add(self, repository, megabytes=0, layers=1):
        """The name of a new image of this size that nobody has seen, beside a small root file system."""
        made = [self.base] + [self.keep(*random_layer(megabytes * MB // layers)) for _ in range(layers)]
        config = {"architecture": "amd64", "os": "linux", "config": {"Env": ["PATH=/bin:/usr/bin"], "Labels": {"of": repository}},
                  "rootfs": {"type": "layers", "diff_ids": [layer["digest"] for layer in made]}}
        manifest = json.dumps({
            "schemaVersion": 2, "mediaType": MEDIA + "manifest.v1+json",
            "config": {"mediaType": MEDIA + "config.v1+json", **self.keep(json.dumps(config).encode())},
            "layers": [{"mediaType": MEDIA + "layer.v1.tar", **layer} for layer in made]}).encode()
        digest = self.keep(manifest)["digest"]
        self.manifests[repository] = digest
        return f"{self.address}/{repository}:new"

    def wait_for_line(self, size):
        """Until so many bytes more have their turn."""
        if not self.rate:
            return
        with self.lock:
            begins = max(time.monotonic(), self.free_at)
            self.free_at = begins + size / self.rate
        time.sleep(max(0, begins - time.monotonic()))

    def find(self, path):
        """The blob that a path means, with its digest and the kind it is told to be."""
        asked = re.fullmatch(r"/v2/(.+)/(manifests|blobs)/([^/]+)", path)
        if not asked:
            return None
        repository, kind, which = asked.groups()
        digest = which if which.startswith("sha256:") else self.manifests.get(repository, "")
        file = os.path.join(self.folder, digest.removeprefix("sha256:"))
        told = MEDIA + "manifest.v1+json" if kind == "manifests" else "application/octet-stream"
        return (repository, file, digest, told) if digest and os.path.isfile(file) else None


def random_layer(size):
    """A layer with one file that nobody can compress."""
    info = tarfile.TarInfo(f"filling-{os.urandom(8).hex()}")
    info.size = size
    yield info.tobuf()
    left = size
    while left > 0:
        yield os.urandom(min(left, MB))
        left -= MB
    yield bytes(-size % 512 + 2 * 512)


def handler(upstream):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            path = self.path.split("?")[0]
            found = upstream.find(path)
            if not found:
                self.send_response(200 if path == "/v2/" else 404)
                self.send_header("Content-Length", "0")
                return self.end_headers()
            repository, file, digest, kind = found
            self.send_response(200)
            for name, value in {"Content-Type": kind, "Content-Length": os.path.getsize(file), "Docker-Content-Digest": digest}.items():
                self.send_header(name, str(value))
            self.end_headers()
            return self.send(repository, file) if self.command == "GET" else None

        do_HEAD = do_GET

        def send(self, repository, file):
            with open(file, "rb") as blob:
                while piece := blob.read(MB):
                    upstream.wait_for_line(len(piece))
                    self.wfile.write(piece)
                    with upstream.lock:
                        upstream.sent[repository] += len(piece)

        def log_message(self, *_):
            pass

    return Handler

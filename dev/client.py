"""`airside up` in a folder of its own, and what fly would ask of its HTTP API. For dev/little-fly and bench/run."""
import http.client
import json
import os
import re
import secrets
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

CACHE = os.environ.get("AIRSIDE_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "airside")
TARGET = os.environ.get("CARGO_TARGET_DIR") or os.path.join(CACHE, "target")
PATIENCE = 30  # seconds, for what should take one


class Server:
    """`airside up` on ports that were free. Its log is beside its data."""

    def __init__(self, airside, folder, *options):
        if os.geteuid() != 0:
            raise SystemExit("making containers needs root")
        if not os.path.exists(airside):
            raise SystemExit(f"{airside} is missing; run `make build`")
        self.password, self.log = secrets.token_hex(8), os.path.join(folder, "server.log")
        command = [airside, "up", "--data", os.path.join(folder, "data"), "--listen", "127.0.0.1:0", *options]
        env = {**os.environ, "AIRSIDE_USER": f"dev:{self.password}"}
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, start_new_session=True)

    def api(self):
        """A client that is logged in, once the server is up."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self.process.poll() is None:
            found = re.search(r"Airside is up at (\S+)", self._said())
            if found:
                return Api.log_in(found[1], "dev", self.password)
            time.sleep(0.02)
        raise SystemExit(f"the server did not start:\n{self._said()}")

    def _said(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Api:
    """A server as fly would use it, for one team."""

    def __init__(self, url, token=None, team_name="main"):
        self.url, self.token, self.team_name = url, token, team_name

    @classmethod
    def log_in(cls, url, user, password):
        form = urllib.parse.urlencode({"grant_type": "password", "username": user, "password": password})
        answer = cls(url).ask("POST", "/sky/issuer/token", form.encode(), {
            "Authorization": "Basic Zmx5OlpteDU=",  # fly's own name for itself; no secret
            "Content-Type": "application/x-www-form-urlencoded"})
        return cls(url, json.load(answer)["access_token"])

    def ask(self, method, path, body=None, headers=None):
        headers = dict(headers or {})
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(self.url + path, body, headers, method=method)
        try:
            return urllib.request.urlopen(request)
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{method} {path}: {error.code}\n{error.read().decode()}") from None

    def team(self, method, path, *rest):
        return self.ask(method, f"/api/v1/teams/{self.team_name}/{path}", *rest)

    def set_pipeline(self, name, config):
        self.save_config(name, config)
        self.team("PUT", f"pipelines/{name}/unpause")

    def save_config(self, name, config, headers=None, query=""):
        """The answer's status says whether the pipeline is new (201) or changed (200)."""
        return self.team("PUT", f"pipelines/{name}/config{query}", config,
                         {"Content-Type": "application/x-yaml", **(headers or {})})

    def trigger(self, pipeline, job):
        return json.load(self.team("POST", f"pipelines/{pipeline}/jobs/{job}/builds"))

    def abort(self, build):
        self.ask("PUT", f"/api/v1/builds/{build}/abort")

    def events(self, build):
        """The build's events as they come, as (name, data), up to the last one. A stream that is cut off, by a
        server that goes away, is taken up again where it was."""
        last, deadline = None, None
        while True:
            try:
                headers = {} if last is None else {"Last-Event-ID": last}
                for line in self.ask("GET", f"/api/v1/builds/{build}/events", None, headers):
                    text, deadline = line.decode().rstrip("\n"), None
                    if text.startswith("id: "):
                        following = text[len("id: "):]
                    elif text.startswith("data: "):
                        event = json.loads(text[len("data: "):])
                        yield event["event"], event["data"]
                        last = following
                    elif text == "event: end":
                        return
            except (OSError, http.client.HTTPException) as error:
                deadline = deadline or time.monotonic() + PATIENCE
                if time.monotonic() > deadline:
                    raise SystemExit(f"{self.url} does not answer: {error}") from None
            time.sleep(0.02)

    def wait_until_clean(self):
        """Containers go right after their build; whoever removes the data folder should not be first."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and json.load(self.team("GET", "containers")):
            time.sleep(0.02)

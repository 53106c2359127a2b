#!/usr/bin/env python3
"""What checks cost: thousands of native resources at an interval of a minute.

  checks.py [RESOURCES [SECONDS]]      default: 10000 resources, measured for 180 seconds; on SQLite

Half of them are `mock`, half are `time`, in pipelines of a thousand. After two rounds, by which they are spread over
their interval, it counts the checks that end and the processor time of server and checkers, then looks how old each
resource's last check is. Needs root and the programs of `make bench-checks` (AIRSIDE_BIN).
docs/performance.md says how to read the numbers.
"""
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "dev"))
from client import TARGET, Server  # noqa: E402

AIRSIDE = os.environ.get("AIRSIDE_BIN") or os.path.join(TARGET, "bench", "airside")
EACH, INTERVAL = 1000, 60
# Times of checks are written every ten seconds, and shown in whole ones.
WRITTEN = 11


def pipeline(first, count):
    """Resources that trigger a job. It is paused, so that only checks are measured."""
    names = [(f"r{number}", "mock" if number % 2 else "time") for number in range(first, first + count)]
    source = {"mock": "{{initial_version: '{0}'}}", "time": "{{interval: 1h}}"}
    resources = [f"- {{name: {name}, type: {kind}, check_every: {INTERVAL}s, source: {source[kind].format(name)}}}"
                 for name, kind in names]
    gets = [f"    - {{get: {name}, trigger: true}}" for name, _ in names]
    return "\n".join(["resources:", *resources, "jobs:", "- name: all", "  plan:", "  - in_parallel:", *gets]).encode()


def processes(root):
    """The server and what it started: its checkers."""
    session = os.getsid(root)
    for entry in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if os.getsid(int(entry)) == session:
                yield int(entry)
        except ProcessLookupError:
            pass


def cpu(root):
    """Seconds of processor time: the server's, and its checkers'."""
    used = {root: 0.0}
    for pid in processes(root):
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        used[pid] = sum(int(field) for field in fields[11:13]) / os.sysconf("SC_CLK_TCK")
    return used[root], sum(used.values()) - used[root]


def ended(address):
    """How many checks have ended, and how many of them well."""
    text = urllib.request.urlopen(f"http://{address}/metrics").read().decode()
    counts = [re.search(rf"^concourse_builds_check_{what}_total (\d+)", text, re.M) for what in ("finished", "succeeded")]
    return [int(count[1]) if count else 0 for count in counts]


def free_address():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{listener.getsockname()[1]}"


def measure(server, api, address, resources, seconds):
    began = time.monotonic()
    for first in range(0, resources, EACH):
        name = f"p{first // EACH}"
        api.save_config(name, pipeline(first, min(EACH, resources - first)))
        api.team("PUT", f"pipelines/{name}/jobs/all/pause")
        api.team("PUT", f"pipelines/{name}/unpause")
    print(f"set in {time.monotonic() - began:.1f} s; two rounds until they are spread", flush=True)
    time.sleep(2 * INTERVAL)
    before, used_before, began = ended(address), cpu(server.process.pid), time.monotonic()
    time.sleep(seconds)
    after, used, took = ended(address), cpu(server.process.pid), time.monotonic() - began
    count, well = (late - early for late, early in zip(after, before))
    server_used, checkers_used = (late - early for late, early in zip(used, used_before))
    both = server_used + checkers_used
    wanted = resources * took / INTERVAL
    print(f"checks        {count} in {took:.0f} s ({count / took * 60:.0f} a minute of {resources * 60 / INTERVAL:.0f}"
          f" wanted, {count / wanted:.1%}); {count - well} did not succeed")
    print(f"processor     {both / took:.2f} of a core (server {server_used / took:.2f}, checkers {checkers_used / took:.2f});"
          f" goal: < 0.50")
    print(f"              {both / max(count, 1) * 1000:.2f} ms a check, {count / max(both, 1e-9):.0f} checks a second of it;"
          f" goal: > 300; Concourse: 8")
    now = time.time()
    ages = sorted(now - each.get("last_checked", 0) for each in json.load(api.ask("GET", "/api/v1/resources")))
    late = sum(age > INTERVAL + WRITTEN for age in ages)
    print(f"last checked  median {ages[len(ages) // 2]:.0f} s ago, oldest {ages[-1]:.0f} s;"
          f" {late} of {len(ages)} later than their interval and what is not written yet")


def main(resources=10000, seconds=180):
    if not os.path.exists(AIRSIDE):
        raise SystemExit(f"bench: {AIRSIDE} is missing; run `make bench-checks`")
    version = subprocess.run([AIRSIDE, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    print(f"{version}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {resources} resources every {INTERVAL} s")
    with tempfile.TemporaryDirectory(prefix="airside-bench-") as folder:
        address = free_address()
        server = Server(AIRSIDE, folder, "--metrics-listen", address)
        try:
            measure(server, server.api(), address, resources, seconds)
        finally:
            server.stop()


if __name__ == "__main__":
    if len(sys.argv) > 3 or not all(argument.isdecimal() for argument in sys.argv[1:]):
        print(__doc__.strip())
        sys.exit(2)
    main(*map(int, sys.argv[1:]))

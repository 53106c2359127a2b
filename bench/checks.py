#!/usr/bin/env python3
"""What checks cost: thousands of native resources at an interval of a minute.

  checks.py [RESOURCES [SECONDS [GIT]]]      default: 10000 resources, measured for 180 seconds, then 1200 of `git`

Half of them are `mock`, half are `time`, in pipelines of a thousand. After two rounds, by which they are spread over
their interval, it counts the checks that end and the processor time of server and checkers, then looks how old each
resource's last check is. Then the same with resources of `git`, each with an address of its own on a server on
loopback, while the others rest. On SQLite. Needs root, git, and the programs of `make bench-checks` (AIRSIDE_BIN).
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

from common import AIRSIDE
from client import Server
from repository import Repository

EACH, INTERVAL = 1000, 60
# Times of checks are written every ten seconds, and shown in whole ones.
WRITTEN = 11
# Seconds until each was checked for the first time.
PATIENCE = 600


def mock_or_time(number):
    if number % 2:
        return {"type": "mock", "source": {"initial_version": f"r{number}"}}
    return {"type": "time", "source": {"interval": "1h"}}


def pipeline(first, count, resource):
    """Resources that trigger a job. It is paused, so that only checks are measured."""
    names = [f"r{number}" for number in range(first, first + count)]
    return json.dumps({
        "resources": [{"name": name, "check_every": f"{INTERVAL}s", **resource(number)}
                      for number, name in enumerate(names, first)],
        "jobs": [{"name": "all", "plan": [{"in_parallel": [{"get": name, "trigger": True} for name in names]}]}],
    }).encode()


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
    """Seconds of processor time: the server's, and its checkers' with the programs that they ran."""
    used = {root: 0.0}
    for pid in processes(root):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # a program of a checker that has just ended
        last = 13 if pid == root else 15
        used[pid] = sum(int(field) for field in fields[11:last]) / os.sysconf("SC_CLK_TCK")
    return used[root], sum(used.values()) - used[root]


class Counted:
    """What the server's metrics say at a moment."""

    def __init__(self, address, kinds):
        text = urllib.request.urlopen(f"http://{address}/metrics").read().decode()
        self.ended, self.well = (
            sum(map(int, re.findall(rf"^concourse_builds_check_{what}_total (\d+)", text, re.M)))
            for what in ("finished", "succeeded"))
        self.buckets = {}
        for bound, kind, count in re.findall(
                r'^concourse_native_checks_duration_seconds_bucket\{le="([^"]+)",type="([^"]+)"\} (\d+)', text, re.M):
            if kind in kinds:
                bound = float(bound)
                self.buckets[bound] = self.buckets.get(bound, 0) + int(count)


def part(before, after, share):
    """How long this share of the checks between took at most, by the bounds of buckets."""
    counts = [(bound, count - before.buckets.get(bound, 0)) for bound, count in sorted(after.buckets.items())]
    wanted = counts[-1][1] * share
    bound = next(bound for bound, count in counts if count >= wanted)
    if bound == float("inf"):
        return f"over {counts[-2][0] * 1000:.0f} ms"
    return f"under {bound * 1000:.1f} ms"


def free_address():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{listener.getsockname()[1]}"


class Bench:
    def __init__(self, server, api, address, seconds):
        self.server, self.api, self.address, self.seconds = server, api, address, seconds

    def set(self, prefix, resources, resource):
        """The names of the pipelines."""
        names = []
        for first in range(0, resources, EACH):
            name = f"{prefix}{first // EACH}"
            self.api.save_config(name, pipeline(first, min(EACH, resources - first), resource))
            self.api.team("PUT", f"pipelines/{name}/jobs/all/pause")
            self.api.team("PUT", f"pipelines/{name}/unpause")
            names.append(name)
        return names

    def measure(self, what, resources, resource, kinds, goals=("", "")):
        pid, began = self.server.process.pid, time.monotonic()
        pipelines = self.set(what.split()[0], resources, resource)
        print(f"{resources} of {what}, set in {time.monotonic() - began:.1f} s;", end=" ", flush=True)
        # The first check of a repository clones it.
        while not all(self.last_checked(pipelines)):
            if time.monotonic() - began > PATIENCE:
                raise SystemExit(f"bench: some were not checked within {PATIENCE} s")
            time.sleep(1)
        print(f"checked once after {time.monotonic() - began:.1f} s; two rounds until they are spread", flush=True)
        time.sleep(2 * INTERVAL)
        before, used_before, began = Counted(self.address, kinds), cpu(pid), time.monotonic()
        time.sleep(self.seconds)
        after, used, took = Counted(self.address, kinds), cpu(pid), time.monotonic() - began
        count, well = after.ended - before.ended, after.well - before.well
        server, checkers = (late - early for late, early in zip(used, used_before))
        both, wanted = server + checkers, resources * took / INTERVAL
        print(f"  checks        {count} in {took:.0f} s ({count / took * 60:.0f} a minute of {resources * 60 / INTERVAL:.0f}"
              f" wanted, {count / wanted:.1%}); {count - well} did not succeed")
        print(f"  processor     {both / took:.2f} of a core (server {server / took:.2f}, checkers {checkers / took:.2f}){goals[0]}")
        print(f"                {both / max(count, 1) * 1000:.2f} ms a check, {count / max(both, 1e-9):.0f} checks a second"
              f" of it{goals[1]}; Concourse: 8")
        print(f"  duration      median {part(before, after, 0.5)}, p99 {part(before, after, 0.99)}")
        self.show_ages(pipelines)
        for name in pipelines:
            self.api.team("PUT", f"pipelines/{name}/pause")

    def last_checked(self, pipelines):
        """When each resource was checked, in seconds; 0 for never."""
        resources = json.load(self.api.ask("GET", "/api/v1/resources"))
        return [each.get("last_checked", 0) for each in resources if each["pipeline_name"] in pipelines]

    def show_ages(self, pipelines):
        now = time.time()
        ages = sorted(now - last for last in self.last_checked(pipelines))
        late = sum(age > INTERVAL + WRITTEN for age in ages)
        print(f"  last checked  median {ages[len(ages) // 2]:.0f} s ago, oldest {ages[-1]:.0f} s;"
              f" {late} of {len(ages)} later than their interval and what is not written yet", flush=True)


def measure_git(bench, folder, resources):
    """Addresses that differ, so that no check is spared by another; all at the same commit, as most are most of the time."""
    repository = Repository(folder)
    try:
        repository.commit("first")
        repository.push()
        for number in range(resources):
            repository.name_also(f"r{number}")
        bench.measure("git", resources, lambda number: {
            "type": "git", "source": {"uri": repository.uri(f"r{number}"), "branch": "main"}}, {"git"})
    finally:
        repository.stop()


def main(resources=10000, seconds=180, git=1200):
    if not os.path.exists(AIRSIDE):
        raise SystemExit(f"bench: {AIRSIDE} is missing; run `make bench-checks`")
    version = subprocess.run([AIRSIDE, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    print(f"{version}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; every {INTERVAL} s")
    with tempfile.TemporaryDirectory(prefix="airside-bench-") as folder:
        address = free_address()
        server = Server(AIRSIDE, folder, "--metrics-listen", address)
        try:
            bench = Bench(server, server.api(), address, seconds)
            if resources:
                bench.measure("mock and time", resources, mock_or_time, {"mock", "time"}, ("; goal: < 0.50", "; goal: > 300"))
            if git:
                measure_git(bench, folder, git)
        finally:
            server.stop()


if __name__ == "__main__":
    if len(sys.argv) > 4 or not all(argument.isdecimal() for argument in sys.argv[1:]):
        print(__doc__.strip())
        sys.exit(2)
    main(*map(int, sys.argv[1:]))

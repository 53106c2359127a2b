#!/usr/bin/env python3
"""What the control plane costs: setting a large pipeline with the real fly, long lists, idle memory.

  control.py [COUNT]      default: 20 runs of fly, ten times as many requests; on SQLite, then on Postgres

Prints the fastest, the median and the 99th percentile of each and the processor time that the server spent on it
(which a busy machine does not change much), beside the goal and what Concourse 8.3 took on two cores.
Needs root, the programs of `make bench-control` (AIRSIDE_BIN), fly (AIRSIDE_FLY) and an installed Postgres.
docs/performance.md says how to read the numbers.
"""
import concurrent.futures
import contextlib
import glob
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse

from common import AIRSIDE, Fly, cpu, family, need, pss, summary
from client import PATIENCE, Server

JOBS, PIPELINES, WARM_UP = 500, 3000, 2
CLOCK = time.perf_counter


def pipeline(jobs, changed=()):
    """Jobs with a get and a task each; those that are changed say something else. No `passed`: fly checks that in
    a time that grows with the square of the jobs (3 s for 500), which would hide everything else."""
    text = ["resources:", "- {name: source, type: mock, source: {initial_version: '1'}}", "jobs:"]
    for number in range(jobs):
        say = "other" if number in changed else "hello"
        text += [f"- name: job-{number}", "  plan:", "  - {get: source, trigger: true}", "  - task: work", "    config:",
                 "      platform: linux", f"      run: {{path: echo, args: [{say}]}}"]
    return "\n".join(text).encode()


def line(what, measured, goal="", concourse=""):
    taken, spent = measured
    shown = [*summary(taken), spent]
    print(f"  {what:<42}{''.join(f'{each * 1000:9.2f}' for each in shown)} ms  {goal:<10}{concourse}", flush=True)


def measure(server, count, once):
    """How long each call took, but for the first few, and the server's processor time for one."""
    taken, before = [], 0
    for number in range(count + WARM_UP):
        if number == WARM_UP:
            before = cpu(server)
        began = CLOCK()
        # Whoever knows better than the clock says so.
        own = once(number)
        taken.append(own or CLOCK() - began)
    return taken[WARM_UP:], (cpu(server) - before) / count


class Connection:
    """One connection that is kept, so that only the request is measured."""

    def __init__(self, api):
        self.http = http.client.HTTPConnection(urllib.parse.urlsplit(api.url).netloc)
        self.headers = {"Authorization": f"Bearer {api.token}"}

    def ask(self, method, path, body=None, **headers):
        self.http.request(method, path, body, {**self.headers, **headers})
        answer = self.http.getresponse()
        content = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"bench: {method} {path}: {answer.status} {content.decode()}")
        return answer, content

    def put_config(self, name, config):
        path = f"/api/v1/teams/main/pipelines/{name}/config"
        version = ""
        with contextlib.suppress(SystemExit):
            version = self.ask("GET", path)[0].headers["X-Concourse-Config-Version"]
        kind = {"Content-Type": "application/x-yaml", "X-Concourse-Config-Version": version}
        began = CLOCK()
        self.ask("PUT", path, config, **kind)
        return CLOCK() - began


def setting(count, folder, server, api):
    """A large pipeline, by fly and by the request alone."""
    fly, configs = Fly(folder, server, api), [pipeline(JOBS), pipeline(JOBS, [JOBS // 2]), pipeline(JOBS, range(JOBS))]
    files = [os.path.join(folder, f"{number}.yml") for number in range(len(configs))]
    for name, config in zip(files, configs):
        with open(name, "wb") as file:
            file.write(config)
    line("fly --version", measure(server, count, lambda _: fly.run("--version")))
    line("fly validate-pipeline: no server", measure(server, count, lambda _: fly.run("validate-pipeline", "-c", files[0])))
    line(f"fly set-pipeline, {JOBS} jobs, new", measure(server, count, lambda number: fly.run(
        "set-pipeline", "-n", "-p", f"new-{number}", "-c", files[0])), "< 200 ms", "640 ms")
    fly.run("set-pipeline", "-n", "-p", "large", "-c", files[2])
    line("fly set-pipeline, one job changed", measure(server, count, lambda number: fly.run(
        "set-pipeline", "-n", "-p", "large", "-c", files[number % 2])), "< 200 ms", "900 ms")
    line("fly set-pipeline, every job changed", measure(server, count, lambda number: fly.run(
        "set-pipeline", "-n", "-p", "large", "-c", files[number % 2 * 2])), "< 200 ms")
    connection = Connection(api)
    line("  of which PUT …/config, new", measure(
        server, count, lambda number: connection.put_config(f"put-{number}", configs[0])))
    line("  of which PUT …/config, every job changed", measure(
        server, count, lambda number: connection.put_config("large", configs[number % 2 * 2])))
    line("  of which GET …/config, compressed", measure(server, count, lambda _: connection.ask(
        "GET", "/api/v1/teams/main/pipelines/large/config", **{"Accept-Encoding": "gzip"}) and None))


def listing(count, server, api):
    """Long lists, with some builds in the large pipeline's history."""
    connection, jobs = Connection(api), "/api/v1/teams/main/pipelines/large/jobs"
    for number in range(0, JOBS, 5):
        build = json.loads(connection.ask("POST", f"{jobs}/job-{number}/builds")[1])
        connection.ask("PUT", f"/api/v1/builds/{build['id']}/abort")
    assert len(json.loads(connection.ask("GET", jobs)[1])) == JOBS
    line(f"GET …/jobs, {JOBS} of them", measure(
        server, count, lambda _: connection.ask("GET", jobs) and None), "< 3 ms", "24 ms")
    line("  the same, compressed", measure(server, count, lambda _: connection.ask(
        "GET", jobs, **{"Accept-Encoding": "gzip"}) and None))
    small = pipeline(1)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        def make(first):
            own = Connection(api)
            for number in range(first, PIPELINES, 4):
                own.put_config(f"small-{number}", small)
        list(pool.map(make, range(4)))
    listed = json.loads(connection.ask("GET", "/api/v1/pipelines")[1])
    assert len(listed) >= PIPELINES
    line(f"GET /api/v1/pipelines, {len(listed)} of them", measure(
        server, count, lambda _: connection.ask("GET", "/api/v1/pipelines") and None), "< 15 ms", "2.7 ms for 300")


def memory(server, when, goal="", concourse=""):
    """Once it has come to rest: the smallest of a few looks, as whoever was busy gives back."""
    looks = []
    for _ in range(10):
        time.sleep(0.5)
        looks.append(pss(list(family(server.process.pid))))
    count = len(list(family(server.process.pid)))
    print(f"  {f'memory (PSS), {count} process(es), {when}':<42}{min(looks):9.1f} MB {'':26} {goal:<10}{concourse}", flush=True)


@contextlib.contextmanager
def postgres(folder):
    """A Postgres of our own with its usual settings, on a socket in the folder."""
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
    data = os.path.join(folder, "postgres")
    os.makedirs(data)
    shutil.chown(data, "postgres", "postgres")
    os.chmod(folder, 0o755)
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    subprocess.run([*as_user, f"{programs}/initdb", "-D", f"{data}/db", "-U", "airside", "-A", "trust", "-E", "UTF8",
                    "--locale=C"], check=True, stdout=subprocess.DEVNULL, cwd="/")
    server = subprocess.Popen([*as_user, f"{programs}/postgres", "-D", f"{data}/db", "-k", data, "-c",
                               "listen_addresses="], stderr=subprocess.DEVNULL, cwd="/")
    try:
        deadline = time.monotonic() + PATIENCE
        while subprocess.run([f"{programs}/pg_isready", "-q", "-h", data], check=False).returncode:
            if time.monotonic() > deadline:
                raise SystemExit("bench: Postgres did not start")
            time.sleep(0.05)
        yield f"postgres://airside@localhost/postgres?host={urllib.parse.quote(data, safe='')}"
    finally:
        server.terminate()
        server.wait()


def on(database, count):
    heads = "".join(f"{head:>9}" for head in ("fastest", "median", "p99", "server"))
    print(f"\nOn {database}{'':<{41 - len(database)}}{heads}     {'goal':<10}Concourse")
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="airside-bench-"))
        options = ["--database-url", stack.enter_context(postgres(folder))] if database == "Postgres" else []
        server = Server(AIRSIDE, folder, *options)
        try:
            api = server.api()
            memory(server, "idle", "< 40 MB", "210 MB with worker and Postgres")
            setting(count, folder, server, api)
            listing(count * 10, server, api)
            memory(server, "afterwards")
        finally:
            server.stop()


def main(count=20):
    print(f"{need('make bench-control')}; {count} runs of fly, {count * 10} requests")
    for database in ("SQLite", "Postgres"):
        on(database, count)


if __name__ == "__main__":
    if len(sys.argv) > 2 or not all(argument.isdecimal() for argument in sys.argv[1:]):
        print(__doc__.strip())
        sys.exit(2)
    main(*map(int, sys.argv[1:]))

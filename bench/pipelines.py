#!/usr/bin/env python3
"""What pipelines cost from end to end: a job with get, task and put, a chain of jobs, a push to the build it starts.

  pipelines.py [COUNT]      default: 20 of the first and the last, 5 of the chain

Prints the fastest, the median and the slowest of each, beside the goal and what Concourse 8.3 took on two cores.
Needs root, git, and the programs of `make bench-pipelines` (AIRSIDE_BIN).
docs/performance.md says how to read the numbers.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

from common import AIRSIDE, summary
from client import CACHE, PATIENCE, Server
from repository import Repository

HERE = os.path.dirname(os.path.abspath(__file__))
ROOTFS = os.path.join(CACHE, "rootfs.tar")
CLOCK, WARM_UP, JOBS, TOKEN = time.perf_counter, 2, 20, "bench"


def show(what, numbers, unit, goal, concourse=""):
    print(f"  {what:<46}{''.join(f'{number:9.1f}' for number in numbers)} {unit:<5} {goal:<10}{concourse}", flush=True)


def until(api, path, done):
    """Asks again and again; the answer that will do, and when it came."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        answer = json.load(api.team("GET", path))
        if done(answer):
            return answer, CLOCK()
        time.sleep(0.002)
    raise SystemExit(f"bench: {path} is still {json.dumps(answer)[:500]}")


def ended(api, build):
    status = None
    for event, data in api.events(build):
        status = data["status"] if event == "status" else status
    if status != "succeeded":
        raise SystemExit(f"bench: build {build} {status}")


def task(layout):
    return {"task": "work", "config": {
        "platform": "linux", "image_resource": {"type": "oci-layout", "source": {"path": layout}},
        "run": {"path": "true"}}}


def mock_job(api, layout, count):
    """From the trigger, checks of its inputs included, to the last event."""
    api.set_pipeline("mock", json.dumps({
        "resources": [{"name": name, "type": "mock", "source": {"initial_version": "1"}} for name in ("in", "out")],
        "jobs": [{"name": "one", "plan": [
            {"get": "in"}, task(layout), {"put": "out", "params": {"version": "1"}}]}]}).encode())
    taken = []
    for _ in range(count + WARM_UP):
        api.wait_until_clean()
        began = CLOCK()
        ended(api, api.trigger("mock", "one")["id"])
        taken.append((CLOCK() - began) * 1000)
    show("a job with get, task and put of mock", summary(taken[WARM_UP:]), "ms", "< 300", "29700; 3700 after its start")


def chain(api, layout, count):
    """From the check that finds a version to the end of the last job that it passes."""
    jobs = [{"name": "job-1", "plan": [{"get": "thing", "trigger": True}, task(layout)]}]
    jobs += [{"name": f"job-{number}", "plan": [
        {"get": "thing", "trigger": True, "passed": [f"job-{number - 1}"]}, task(layout)]} for number in range(2, JOBS + 1)]
    api.set_pipeline("chain", json.dumps({
        "resources": [{"name": "thing", "type": "mock", "check_every": "never", "source": {"no_initial_version": True}}],
        "jobs": jobs}).encode())
    taken = []
    for number in range(1, count + 2):
        body = json.dumps({"from": {"version": f"v{number}"}}).encode()
        began = CLOCK()
        api.team("POST", "pipelines/chain/resources/thing/check", body)
        _, over = until(api, f"pipelines/chain/jobs/job-{JOBS}", lambda job: (
            (job.get("finished_build") or {}).get("name") == str(number) and not job.get("next_build")))
        taken.append(over - began)
    show(f"a chain of {JOBS} jobs by passed", summary(taken[1:]), "s", "< 5")


def push_to_build(api, folder, layout, count):
    repository = Repository(folder)
    try:
        repository.commit("first")
        repository.push()
        api.set_pipeline("push", json.dumps({
            "resources": [{"name": "code", "type": "git", "webhook_token": TOKEN, "check_every": "1h", "source": {
                "uri": repository.uri(), "branch": "main"}}],
            "jobs": [{"name": "one", "plan": [{"get": "code", "trigger": True}, task(layout)]}]}).encode())
        builds = "pipelines/push/jobs/one/builds?limit=1"
        until(api, builds, lambda found: found and found[0]["name"] == "1" and found[0]["status"] == "succeeded")
        pushes, webhooks = [], []
        for number in range(2, count + WARM_UP + 2):
            repository.commit(str(number))
            api.wait_until_clean()
            began = CLOCK()
            repository.push()
            called = CLOCK()
            api.ask("POST", f"/api/v1/teams/main/pipelines/push/resources/code/check/webhook?webhook_token={TOKEN}",
                    b'{"ref": "refs/heads/main"}', {"Content-Type": "application/json"})
            _, started = until(api, builds, lambda found: found[0]["name"] == str(number) and found[0]["status"] != "pending")
            pushes.append((started - began) * 1000)
            webhooks.append((started - called) * 1000)
            until(api, builds, lambda found: found[0]["status"] == "succeeded")
        show("git push, webhook, build started", summary(pushes[WARM_UP:]), "ms", "< 300")
        show("  of which from the webhook on", summary(webhooks[WARM_UP:]), "ms", "")
    finally:
        repository.stop()


def main(count=20):
    if not os.path.exists(AIRSIDE):
        raise SystemExit(f"bench: {AIRSIDE} is missing; run `make bench-pipelines`")
    version = subprocess.run([AIRSIDE, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    print(f"{version}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {count} of the short ones")
    print(f"  {'':<46}{'fastest':>9}{'median':>9}{'slowest':>9}       {'goal':<10}Concourse")
    with tempfile.TemporaryDirectory(prefix="airside-bench-") as folder:
        layout = os.path.join(folder, "image")
        subprocess.run([os.path.join(os.path.dirname(HERE), "dev", "image"), "layout", ROOTFS, layout], check=True)
        # The get of a push must reach git's daemon on loopback.
        server = Server(AIRSIDE, folder, "--local-network", "machine")
        try:
            api = server.api()
            mock_job(api, layout, count)
            chain(api, layout, max(count // 4, 2))
            push_to_build(api, folder, layout, count)
            api.wait_until_clean()
        finally:
            server.stop()


if __name__ == "__main__":
    if len(sys.argv) > 2 or not all(argument.isdecimal() for argument in sys.argv[1:]):
        print(__doc__.strip())
        sys.exit(2)
    main(*map(int, sys.argv[1:]))

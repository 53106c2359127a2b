#!/usr/bin/env python3
"""What steps as pods cost, beside bare pods and a pipe by hand, on the same cluster in the same run.

  kube.py [COUNT [BUILDS [MEGABYTES [RESOURCES]]]]      default: 50 of each, 200 builds, 500 MB, 1000 resources

Prints the median and the p99 of each, and goals that are ratios beside what they came to. Needs root, a cluster of
`dev/cluster` with two nodes (CLUSTER=name, default airside), the images of `make cluster-images` and the programs of
`make bench-kube` (AIRSIDE_BIN). docs/performance.md says how to read the numbers.
"""
import concurrent.futures
import json
import os
import statistics
import sys
import tempfile
import threading
import time

from common import AIRSIDE, cpu, p99, peak, version
from client import PATIENCE, Server
from cluster import CountingProxy, FirstByte, Kube, cluster, pods_created
from pipe import by_hand

NAMESPACE, IMAGE = "bench", "airside.local/busybox:dev"
CLOCK, WARM_UP, AT_ONCE, ROUNDS = time.perf_counter, 2, 20, 3
WORKERS = {"bench": None, "first": 0, "second": 1}  # a tag of each, and which node it is tied to


def show(what, numbers, unit, goal=""):
    print(f"  {what:<50}{''.join(f'{number:9.2f}' for number in numbers):<18} {unit:<8}{goal}", flush=True)


def timed(what, taken, goal=""):
    show(what, [statistics.median(taken), p99(taken)], "s", goal)
    return statistics.median(taken)


def task(name, worker, script, inputs=(), outputs=()):
    repository, tag = IMAGE.split(":")
    return {"task": name, "tags": [worker], "config": {
        "platform": "linux", "image_resource": {"type": "registry-image", "source": {"repository": repository, "tag": tag}},
        "inputs": [{"name": each} for each in inputs], "outputs": [{"name": each} for each in outputs],
        "run": {"path": "sh", "args": ["-ec", script]}}}


def job(*plan):
    return json.dumps({"jobs": [{"name": "one", "plan": list(plan)}]}).encode()


class Bench:
    """A server whose workers are the cluster, its first node and its second."""

    def __init__(self, folder, kubeconfig):
        os.makedirs(folder)
        file, nodes = os.path.join(folder, "targets.yml"), cluster("kubectl", "get", "nodes", "-o", "name").split()
        with open(file, "w", encoding="utf-8") as targets:
            json.dump({"targets": [self.target(name, number, nodes, kubeconfig) for name, number in WORKERS.items()
                                   if number is None or number < len(nodes)]}, targets)
        self.workers = len(nodes[:2]) + 1
        self.server = Server(AIRSIDE, folder, "--targets", file)

    @staticmethod
    def target(name, number, nodes, kubeconfig):
        tied = {} if number is None else {"node_selector": {"kubernetes.io/hostname": nodes[number].removeprefix("node/")}}
        return {"name": name, "tags": [name], "kubeconfig": kubeconfig, "namespace": NAMESPACE,
                "hub_host": cluster("host-ip"), "default_requests": {"cpu": "5m", "memory": "16Mi"}, **tied}

    def __enter__(self):
        self.api = self.server.api()
        self.api.set_pipeline("trivial", job(task("one", "bench", "true")))
        self.wait_for_workers()
        return self

    def wait_for_workers(self):
        """Each sends a pod to look at a node, which is none of what is measured."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with open(self.server.log, encoding="utf-8", errors="replace") as log:
                if log.read().count("looked at a node") == self.workers:
                    break
            time.sleep(0.1)
        while time.monotonic() < deadline and cluster("kubectl", "-n", NAMESPACE, "get", "pods", "-o", "name"):
            time.sleep(0.1)

    def __exit__(self, *_):
        self.server.stop()

    def build(self, name, alone=True):
        """Seconds from the trigger to the build's last event. If it is alone, the pods before it are gone by then."""
        if alone:
            self.api.wait_until_clean()
        began, status, said = CLOCK(), None, []
        build = self.api.trigger(name, "one")
        for event, data in self.api.events(build["id"]):
            if event == "status":
                status, ended = data["status"], CLOCK()
            elif event in ("log", "error"):
                said.append(data.get("payload") or data.get("message"))
        if status != "succeeded":
            raise SystemExit(f"bench: {name} {status}: {''.join(said)[-2000:]}")
        return ended - began


def single(bench, kube, count):
    """In turn, so that what else this machine does meets all of them."""
    def first_byte(volumes):
        with FirstByte(cluster("host-ip")) as listener:
            return listener.wait(lambda script: kube.bare_pod(IMAGE, script, volumes))

    kinds = {"bare pod: create → Succeeded seen": lambda: kube.bare_pod(IMAGE),
             "bare pod: create → first byte, without volumes": lambda: first_byte(0),
             "bare pod: create → first byte, with one": lambda: first_byte(1),
             "Airside: trigger → finished": lambda: bench.build("trivial")}
    rounds = [[once() for once in kinds.values()] for _ in range(count + WARM_UP)][WARM_UP:]
    bare, _, _, ours = [timed(what, taken) for what, taken in zip(kinds, zip(*rounds))]
    show("  of the bare pod's Succeeded", [ours / bare], "×", "< 0.4")


def writes(folder, kube, count):
    with CountingProxy(kube, os.path.join(folder, "counted.conf")) as proxy:
        with Bench(os.path.join(folder, "counted"), proxy.kubeconfig) as bench:
            bench.build("trivial")
            bench.api.wait_until_clean()
            before = dict(proxy.writes)
            for _ in range(count):
                bench.build("trivial")
            bench.api.wait_until_clean()
            each = {verb: (number - before.get(verb, 0)) / count for verb, number in proxy.writes.items()}
    listed = ", ".join(f"{verb} {number:.1f}" for verb, number in sorted(each.items()))
    show(f"Airside: API writes for a step ({listed})", [sum(each.values())], "", "≤ 3")


def many(bench, kubeconfig, builds):
    """So many a minute, some of them at once."""
    own = threading.local()

    def bare(_):
        own.kube = getattr(own, "kube", None) or Kube(kubeconfig, NAMESPACE)
        own.kube.bare_pod(IMAGE, stay=False)

    rates = []
    for what, once in (("bare pods", bare), ("builds of Airside", lambda _: bench.build("trivial", alone=False))):
        began, spent = CLOCK(), cpu(bench.server)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(once, range(builds)))
        rates.append(builds / (CLOCK() - began) * 60)
        show(f"{builds} {what}, {AT_ONCE} at once", [rates[-1]], "a minute")
        spent = cpu(bench.server) - spent
        bench.api.wait_until_clean()
    show("  of the bare pods", [rates[1] / rates[0]], "×", "≥ 0.8")
    show("  processor time of web for a build", [spent / builds * 1000], "ms")


def artifact(bench, folder, megabytes):
    """Half of it can be compressed. What counts is how much longer a build takes if the second node gets it."""
    half = "dd if=/dev/urandom of=$to/$n bs=512k count=1; dd if=/dev/zero of=$to/$n bs=512k count=1 seek=1"
    make = f"for n in $(seq {megabytes}); do {half}; done 2>/dev/null"
    for name, to in (("left", "/tmp"), ("handed-on", "out")):
        bench.api.set_pipeline(name, job(task("make", "first", f"to={to}; {make}", outputs=["out"]),
                                         task("take", "second", "test -d out", inputs=["out"])))
    left, handed = (statistics.median(bench.build(name) for _ in range(ROUNDS)) for name in ("left", "handed-on"))
    hand = statistics.median(by_hand(folder, megabytes) for _ in range(ROUNDS))
    ours = megabytes / max(handed - left, 0.001)
    show(f"{megabytes} MB to another node: tar, zstd -1 and nc", [megabytes / hand], "MB/s")
    show(f"{megabytes} MB to another node: Airside", [ours], "MB/s")
    show("  of the pipe", [ours * hand / megabytes], "×", "≥ 0.7")


def checks(bench, resources):
    names, before = [f"r{number}" for number in range(resources)], pods_created(NAMESPACE)
    bench.api.save_config("checks", json.dumps({
        "resources": [{"name": name, "type": "mock", "tags": ["bench"], "source": {"initial_version": name}} for name in names],
        "jobs": [{"name": "all", "plan": [{"in_parallel": [{"get": name, "trigger": True} for name in names]}]}]}).encode())
    bench.api.team("PUT", "pipelines/checks/jobs/all/pause")
    bench.api.team("PUT", "pipelines/checks/unpause")
    deadline = time.monotonic() + PATIENCE + resources
    while any("last_checked" not in each for each in json.load(bench.api.team("GET", "pipelines/checks/resources"))):
        if time.monotonic() > deadline:
            raise SystemExit("bench: not every resource was checked in time")
        time.sleep(0.5)
    show(f"{resources} resources checked: pods created", [pods_created(NAMESPACE) - before], "", "1")
    bench.api.team("DELETE", "pipelines/checks")


def main(count=50, builds=200, megabytes=500, resources=1000):
    nodes = len(cluster("kubectl", "get", "nodes", "-o", "name").split())
    print(f"{version('make bench-kube')}, {nodes} nodes; {count} of each: median, p99")
    with tempfile.TemporaryDirectory(prefix="airside-bench-") as folder:
        kubeconfig = os.path.join(folder, "kubeconfig")
        cluster("minimal-kubeconfig", NAMESPACE, kubeconfig)
        kube = Kube(kubeconfig, NAMESPACE)
        with Bench(os.path.join(folder, "timed"), kubeconfig) as bench:
            began = CLOCK()
            single(bench, kube, count)
            many(bench, kubeconfig, builds)
            if nodes > 1:
                artifact(bench, folder, megabytes)
            else:
                print("  an artifact to another node: skipped, there is one node only")
            checks(bench, resources)
            show("web, of one core all the while", [cpu(bench.server) / (CLOCK() - began)], "")
            show("web, memory at most", [peak(bench.server)], "MB")
            bench.api.wait_until_clean()
        writes(folder, kube, min(count, 20))


if __name__ == "__main__":
    if len(sys.argv) > 5 or not all(argument.isdecimal() for argument in sys.argv[1:]):
        print(__doc__.strip())
        sys.exit(2)
    main(*map(int, sys.argv[1:]))

#!/usr/bin/env python3
"""What a task and a chain of tasks cost as a job of Airside and as a PipelineRun of Tekton, on one cluster in one run.

  peers.py [COUNT [MEGABYTES]]      default: 30 of each, 100 MB handed on

The two take turns, so that whatever else the machine does meets both. A time is from the request that creates a run to the
moment at which its end is seen: the last event of a build, or a watch that sees the condition `Succeeded`. Needs root, a
cluster of `dev/cluster` with the images of `make cluster-images`, Tekton's controller on it (`dev/cluster
controllers-start tekton`) and the programs of `make bench-peers` (AIRSIDE_BIN). docs/performance.md says how to read the
numbers.
"""
import json
import os
import statistics
import sys
import tempfile
import time

from common import p99, version
from cluster import Kube, cluster
from kube import CLOCK, IMAGE, NAMESPACE, WARM_UP, Bench, job, show, task

RUNS = f"/apis/tekton.dev/v1/namespaces/{NAMESPACE}/pipelineruns"
CLAIM, VOLUME = "peers", "bench-peers"


def administrator(folder, kubeconfig):
    """The minimal kubeconfig with a token that may do everything: Tekton's objects are none of what Airside needs."""
    kubectl = lambda *arguments: cluster("kubectl", *arguments)  # noqa: E731
    kubectl("-n", NAMESPACE, "create", "serviceaccount", "peers")
    kubectl("create", "clusterrolebinding", VOLUME, "--clusterrole=cluster-admin", f"--serviceaccount={NAMESPACE}:peers")
    token = kubectl("-n", NAMESPACE, "create", "token", "peers", "--duration=4h")
    with open(kubeconfig, encoding="utf-8") as file:
        text = file.read()
    path, before = os.path.join(folder, "administrator.conf"), text.split("token: ", 1)[1].split("}", 1)[0]
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(before, token))
    return Kube(path, NAMESPACE)


def make_volume(kube):
    """A folder of a node, for what tasks of Tekton hand on: the cluster makes no volumes by itself."""
    kube.ask("POST", "/api/v1/persistentvolumes", {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": VOLUME}, "spec": {
            "capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": VOLUME,
            "hostPath": {"path": "/var/tmp/airside-bench-peers", "type": "DirectoryOrCreate"}}})
    kube.ask("POST", f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims", {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": CLAIM}, "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": VOLUME, "resources": {"requests": {"storage": "10Gi"}}}})


def tidy_up():
    for what in (f"-n {NAMESPACE} delete pipelineruns --all", f"-n {NAMESPACE} delete pvc {CLAIM} --ignore-not-found",
                 f"delete pv {VOLUME} --ignore-not-found", f"delete clusterrolebinding {VOLUME} --ignore-not-found",
                 f"-n {NAMESPACE} delete serviceaccount peers --ignore-not-found"):
        cluster("kubectl", *what.split(), check=False)


def tekton_task(name, script, after=None, workspace=False):
    shared = [{"name": "shared"}] if workspace else []
    return {"name": name, "runAfter": [after] if after else [], "workspaces": shared, "taskSpec": {
        "workspaces": shared, "steps": [{"name": "one", "image": IMAGE, "imagePullPolicy": "IfNotPresent",
                                         "command": ["sh", "-ec", script]}]}}


def pipeline_run(name, tasks, workspace=False):
    shared = [{"name": "shared"}] if workspace else []
    claim = [{"name": "shared", "persistentVolumeClaim": {"claimName": CLAIM}}] if workspace else []
    return {"apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "metadata": {"name": name},
            "spec": {"workspaces": claim, "pipelineSpec": {"workspaces": shared, "tasks": tasks}}}


def succeeded(run):
    return next((each for each in run.get("status", {}).get("conditions", []) if each["type"] == "Succeeded"), {})


class Tekton:
    """Runs of Tekton, each seen to its end by a watch, and removed before the next begins."""

    def __init__(self, kube):
        self.kube, self.number = kube, 0

    def run(self, tasks, workspace=False):
        self.number += 1
        name = f"peer-{os.getpid()}-{self.number}"
        began = CLOCK()
        created = self.kube.ask("POST", RUNS, pipeline_run(name, tasks, workspace))
        took = self.wait(name, created["metadata"]["resourceVersion"], began)
        self.kube.ask("DELETE", f"{RUNS}/{name}?propagationPolicy=Foreground")
        self.wait_until_gone()
        return took

    def wait(self, name, resource_version, began):
        watching = self.kube.connect()
        watching.request("GET", f"{RUNS}?watch=true&fieldSelector=metadata.name%3D{name}&resourceVersion={resource_version}",
                         headers={"Authorization": f"Bearer {self.kube.token}"})
        for line in watching.getresponse():
            condition = succeeded(json.loads(line)["object"])
            if condition.get("status") == "True":
                watching.close()
                return CLOCK() - began
            if condition.get("status") == "False":
                raise SystemExit(f"bench: {name} failed: {condition.get('message')}")
        raise SystemExit(f"bench: the watch of {name} ended early")

    def wait_until_gone(self):
        while cluster("kubectl", "-n", NAMESPACE, "get", "pods,pipelineruns", "-o", "name"):
            time.sleep(0.1)


def chain(bench, megabytes):
    """Three tasks: the first writes so much, half of it random, the others read it and hand it on."""
    half = megabytes * 1024 // 2
    make = f"dd if=/dev/urandom of=$to/data bs=1k count={half}; dd if=/dev/zero of=$to/data bs=1k count={half} seek={half}"
    bench.api.set_pipeline("chain", job(
        task("make", "bench", f"to=one; {make}", outputs=["one"]),
        task("pass", "bench", "cp one/data two/data", inputs=["one"], outputs=["two"]),
        task("take", "bench", "cksum two/data", inputs=["two"])))
    shared = "$(workspaces.shared.path)"
    return [tekton_task("make", f"to={shared}; {make}", workspace=True),
            tekton_task("pass", f"cp {shared}/data {shared}/more", "make", workspace=True),
            tekton_task("take", f"cksum {shared}/more", "pass", workspace=True)]


def in_turn(count, ours, theirs):
    rounds = [(ours(), theirs()) for _ in range(count + WARM_UP)][WARM_UP:]
    return [list(taken) for taken in zip(*rounds)]


def compare(what, count, ours, theirs):
    airside, tekton = in_turn(count, ours, theirs)
    show(f"{what}: Airside", [statistics.median(airside), p99(airside)], "s")
    show(f"{what}: Tekton", [statistics.median(tekton), p99(tekton)], "s")
    show("  Tekton's, of Airside's", [statistics.median(tekton) / statistics.median(airside)], "×")


def main(count=30, megabytes=100):
    print(f"{version('make bench-peers')}; {count} of each: median, p99")
    with tempfile.TemporaryDirectory(prefix="airside-bench-") as folder:
        kubeconfig = os.path.join(folder, "kubeconfig")
        cluster("minimal-kubeconfig", NAMESPACE, kubeconfig)
        tidy_up()
        kube = administrator(folder, kubeconfig)
        try:
            make_volume(kube)
            tekton = Tekton(kube)
            with Bench(os.path.join(folder, "timed"), kubeconfig) as bench:
                trivial = [tekton_task("one", "true")]
                compare("a trivial task", count, lambda: bench.build("trivial"), lambda: tekton.run(trivial))
                handed = chain(bench, megabytes)
                compare(f"three tasks, {megabytes} MB", count, lambda: bench.build("chain"),
                        lambda: tekton.run(handed, workspace=True))
                bench.api.wait_until_clean()
        finally:
            tidy_up()


if __name__ == "__main__":
    if len(sys.argv) > 3 or not all(argument.isdecimal() for argument in sys.argv[1:]):
        print(__doc__.strip())
        sys.exit(2)
    main(*map(int, sys.argv[1:]))

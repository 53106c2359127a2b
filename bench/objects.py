#!/usr/bin/env python3
"""What pipelines and builds as objects of a cluster cost, and how soon a put of `kubernetes` sees that its object is done.

  objects.py [COUNT]      default: 30 of each

Two servers run builds on this machine, in turn: one has a namespace of the cluster for its team, the other none. Prints
the median and the p99 of each, and what each came to beside its budget. Writes to the cluster are counted by a proxy.
Needs root, a cluster of `dev/cluster` (CLUSTER=name, default airside) and the programs of `make bench-objects`
(AIRSIDE_BIN). docs/performance.md says how to read the numbers.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import builds
from client import PATIENCE, Server
from cluster import CountingProxy, Kube, cluster
from common import AIRSIDE, p99, version

NAMESPACE, GROUP = "bench-objects", "ci.airside.dev"
API = f"/apis/{GROUP}/v1alpha1/namespaces/{NAMESPACE}"
THINGS = f"things.{NAMESPACE}.airside.dev"
CLOCK, WARM_UP = time.perf_counter, 2
builds.CONFIG["image_resource"] = {"type": "host", "source": {}}


def show(what, numbers, unit, budget=""):
    print(f"  {what:<58}{''.join(f'{number:10.2f}' for number in numbers):<20} {unit:<4}{budget}", flush=True)


def timed(what, seconds, budget=""):
    milliseconds = [each * 1000 for each in seconds]
    show(what, [statistics.median(milliseconds), p99(milliseconds)], "ms", budget)
    return statistics.median(milliseconds)


def written(verb, path):
    """The kind that a write is about, or that it only asks for a judgement."""
    if "dryRun=" in path:
        return "dry run"
    return path.partition(f"/namespaces/{NAMESPACE}/")[2].partition("?")[0].partition("/")[0] or "other"


def config(script):
    return {"jobs": [{"name": "one", "plan": [builds.task("one", script)]}]}


def administrator(kubeconfig, folder):
    """A way in for people: the objects here are none that Airside's own account may apply."""
    kubectl = lambda *arguments: cluster("kubectl", *arguments)  # noqa: E731
    kubectl("-n", NAMESPACE, "create", "serviceaccount", "people")
    kubectl("create", "clusterrolebinding", NAMESPACE, "--clusterrole=cluster-admin",
            f"--serviceaccount={NAMESPACE}:people")
    token = kubectl("-n", NAMESPACE, "create", "token", "people", "--duration=4h")
    with open(kubeconfig, encoding="utf-8") as file:
        text = file.read()
    before, path = text.split("token: ", 1)[1].split("}", 1)[0], os.path.join(folder, "people.conf")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(before, token))
    return Kube(path, NAMESPACE)


def install(folder, kubeconfig):
    """The definitions, and the rights of the server; prints the path of its control file."""
    control = os.path.join(folder, "control.yml")
    with open(control, "w", encoding="utf-8") as file:
        json.dump({"clusters": [{"name": "bench", "kubeconfig": kubeconfig, "qps": 1000,
                                 "teams": [{"team": "main", "namespace": NAMESPACE}]}]}, file)
    printed = subprocess.run([AIRSIDE, "k8s", "control-objects", "--control", control, "--account-namespace", NAMESPACE],
                             check=True, capture_output=True, text=True).stdout
    manifest = os.path.join(folder, "control-objects.yml")
    with open(manifest, "w", encoding="utf-8") as file:
        file.write(printed)
    cluster("kubectl", "apply", "--server-side", "-f", manifest)
    cluster("kubectl", "wait", "--for=condition=Established", "--timeout=60s", f"crd/pipelines.{GROUP}")
    return control


def until(what, holds):
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise SystemExit(f"bench: it never came to this: {what}")
        time.sleep(0.002)


def apply_pipeline(kube, name, script):
    body = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "Pipeline", "metadata": {"name": name},
            "spec": {"config": config(script), "paused": False}}
    path = f"{API}/pipelines/{name}?fieldManager=bench&force=true"
    return kube.ask("PATCH", path, body, "application/apply-patch+yaml")


def applies(bench, kube, count):
    """From the answer to an apply to the pipeline being set, and to its object saying so."""
    is_set, is_ready = [], []
    for number in range(count + WARM_UP):
        script = f"echo {number}"
        generation = apply_pipeline(kube, "applied", script)["metadata"]["generation"]
        began = CLOCK()
        until("the pipeline is set", lambda: script in current(bench, "applied"))
        is_set.append(CLOCK() - began)
        until("its object says so", lambda: kube.ask("GET", f"{API}/pipelines/applied").get("status", {})
              .get("observedGeneration") == generation)
        is_ready.append(CLOCK() - began)
    timed("kubectl apply's answer → pipeline set", is_set[WARM_UP:], "median ≤ 150, p99 ≤ 1000")
    timed("kubectl apply's answer → Ready", is_ready[WARM_UP:], "median ≤ 250")


def current(bench, name):
    """The text of a pipeline's configuration, or nothing while there is none."""
    listed = json.load(bench.api.team("GET", "pipelines"))
    if not any(each["name"] == name for each in listed):
        return ""
    return bench.api.team("GET", f"pipelines/{name}/config").read().decode()


def judging(judged, plain, proxy, count):
    """The two servers take turns with a change of the same pipeline."""
    taken = [[], []]
    before = proxy.writes["dry run"]
    for number in range(count + WARM_UP):
        for bench, seconds in zip((judged, plain), taken):
            body = json.dumps(config(f"echo {number}")).encode()
            version_now = {}
            if number:
                answer = bench.api.team("GET", "pipelines/set/config")
                version_now = {"X-Concourse-Config-Version": answer.headers["X-Concourse-Config-Version"]}
            began = CLOCK()
            bench.api.save_config("set", body, version_now)
            seconds.append(CLOCK() - began)
    with_judge = timed("set-pipeline, judged", taken[0][WARM_UP:])
    without = timed("set-pipeline, without a cluster", taken[1][WARM_UP:])
    show("  judging on top of it", [with_judge - without], "ms", "≤ 15")
    show("  requests for each", [(proxy.writes["dry run"] - before) / (count + WARM_UP)], "", "1")


def mirrored(judged, plain, proxy, count):
    """Builds with the mirror on and without, in turn, and what the mirror writes."""
    for bench in (judged, plain):
        bench.set("trivial", builds.task("one", "true"))
    for _ in range(WARM_UP):
        judged.build("trivial")
        plain.build("trivial")
    settle(proxy)
    before = dict(proxy.writes)
    rounds = [(judged.build("trivial"), plain.build("trivial")) for _ in range(count)]
    settle(proxy)
    shown = timed("a trivial build, shown as an object", [each[0] for each in rounds])
    alone = timed("a trivial build, without a cluster", [each[1] for each in rounds])
    show("  of that", [shown / alone], "×", "≤ 1.03")
    for kind, budget in (("pipelinebuilds", "≤ 3 (≤ 4 if it takes longer)"), ("pipelinejobs", "≤ 1 (≤ 2)")):
        show(f"  writes of {kind} for a build", [(proxy.writes[kind] - before.get(kind, 0)) / count], "", budget)


def settle(proxy):
    """Waits until the mirror has nothing left to write."""
    before = None
    while before != sum(proxy.writes.values()):
        before = sum(proxy.writes.values())
        time.sleep(2)


def definition():
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": THINGS}, "spec": {
        "group": THINGS.partition(".")[2], "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
        "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                      "schema": {"openAPIV3Schema": schema}}]}}


def puts(bench, kube, count):
    """From the answer that a condition is true to the end of the build whose put waits for it."""
    kube.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    cluster("kubectl", "wait", "--for=condition=Established", "--timeout=60s", f"crd/{THINGS}")
    group = THINGS.partition(".")[2]
    path = f"/apis/{group}/v1/namespaces/{NAMESPACE}/things/thing"
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "thing", "namespace": NAMESPACE}}
    source = {"kind": f"Thing.{group}/v1", "namespace": NAMESPACE, "name": "thing", "kubeconfig": kube.text}
    make = builds.task("make", f"cat >made/thing.json <<'EOF'\n{json.dumps({**thing, 'spec': {'n': 'N'}})}\nEOF", outputs=["made"])
    bench.api.set_pipeline("put", json.dumps({
        "resources": [{"name": "thing", "type": "kubernetes", "check_every": "never", "source": source}],
        "jobs": [{"name": "one", "plan": [make, {"put": "thing", "no_get": True, "params": {
            "manifests": ["made/thing.json"], "until": [{"condition": "Ready"}], "follow": False, "timeout": "1m"}}]}]}).encode())
    taken = []
    for _ in range(count + WARM_UP):
        cluster("kubectl", "-n", NAMESPACE, "delete", THINGS, "--all", "--wait")
        build, began, said = bench.api.trigger("put", "one"), None, []
        for event, data in bench.api.events(build["id"]):
            if event == "log":
                said.append(data["payload"])
                if began is None and "created things" in "".join(said):
                    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
                    kube.ask("PATCH", f"{path}/status", ready, "application/merge-patch+json")
                    began = CLOCK()
            elif event == "finish-put":
                taken.append(CLOCK() - began)
            elif event == "status" and data["status"] in ("failed", "errored"):
                raise SystemExit(f"bench: the put {data['status']}: {''.join(said)}")
    timed("a condition is true → the put ends", taken[WARM_UP:], "median ≤ 100")


def tidy_up():
    for what in (f"delete crd {THINGS} --ignore-not-found", f"delete clusterrolebinding {NAMESPACE} --ignore-not-found",
                 f"delete namespace {NAMESPACE} --ignore-not-found"):
        cluster("kubectl", *what.split(), check=False)


def main(count=30):
    print(f"{version('make bench-objects')}; {count} of each: median, p99")
    tidy_up()
    with tempfile.TemporaryDirectory(prefix="airside-bench-") as folder:
        kubeconfig = os.path.join(folder, "kubeconfig")
        cluster("minimal-kubeconfig", NAMESPACE, kubeconfig)
        try:
            people = administrator(kubeconfig, folder)
            counted = os.path.join(folder, "counted.conf")
            with CountingProxy(Kube(kubeconfig, NAMESPACE), counted, written) as proxy:
                control = install(folder, counted)
                run(folder, people, proxy, control, count)
        finally:
            tidy_up()


def run(folder, people, proxy, control, count):
    servers = []
    try:
        for name, options in (("judged", ["--control", control]), ("plain", [])):
            os.makedirs(os.path.join(folder, name))
            servers.append(Server(AIRSIDE, os.path.join(folder, name), "--local-network", "machine", *options))
        judged, plain = (builds.Bench(os.path.join(folder, name), server) for name, server in zip(("judged", "plain"), servers))
        applies(judged, people, count)
        judging(judged, plain, proxy, count)
        mirrored(judged, plain, proxy, count)
        puts(plain, people, count)
    finally:
        for server in servers:
            server.stop()


if __name__ == "__main__":
    if len(sys.argv) > 2 or not all(argument.isdecimal() for argument in sys.argv[1:]):
        print(__doc__.strip())
        sys.exit(2)
    main(*map(int, sys.argv[1:]))

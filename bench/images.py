#!/usr/bin/env python3
"""What images on nodes cost and save, beside pods that pull for themselves, on the same cluster in the same run.

  images.py [COUNT [MEGABYTES [LINE]]]      default: 20 pods of each kind, an image of 1024 MB for three nodes, once from a
                                            registry without bound and once from one behind a line of 100 MB a second

Prints medians and p99s, and goals that are ratios beside what they came to. Needs root, a cluster of `dev/cluster` with
three nodes (CLUSTER=name, default airside), and the programs and images of `make bench-images` (AIRSIDE_BIN). docs/performance.md says how to read the numbers.
"""
import http.client
import json
import os
import ssl
import statistics
import subprocess
import sys
import tempfile
import time

from cluster import FirstByte, Kube, cluster
from common import AIRSIDE, p99, version
from upstream import MB, Upstream

SPACE, SYSTEM, WARM_UP, PATIENCE = "bench-images", "airside-images", 2, 600
CLOCK = time.perf_counter
ROOTFS = os.environ.get("AIRSIDE_ROOTFS") or os.path.expanduser("~/.cache/airside/rootfs.tar")


def show(what, numbers, unit, goal=""):
    print(f"  {what:<56}{''.join(f'{number:9.2f}' for number in numbers):<18} {unit:<8}{goal}", flush=True)


def kubectl(*arguments, given=None):
    done = subprocess.run([os.path.join(os.path.dirname(__file__), "../dev/cluster"), "kubectl", *arguments], input=given,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench: kubectl {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def apply(*objects):
    kubectl("apply", "-f", "-", given="\n---\n".join(map(json.dumps, objects)))


def image_set(name, *images, **more):
    return {"apiVersion": "images.airside.dev/v1alpha1", "kind": "ImageSet", "metadata": {"name": name, "namespace": SPACE},
            "spec": {"images": [{"image": image} for image in images], **more}}


def wait_ready(name):
    kubectl("-n", SPACE, "wait", f"imageset/{name}", "--for=condition=Ready", f"--timeout={PATIENCE}s")


def installed(registry):
    """Everything of it runs, with a mirror of this registry, and the small program as agent."""
    given = subprocess.run([AIRSIDE, "images", "install", "--image", "airside.local/airside:dev",
                            "--node-image", "airside.local/node:dev", "--plain-registry", registry,
                            "--mirror-registry", f"{registry}=http://{registry}",
                            "--high-mark=100", "--low-mark=99"],  # nodes share this machine's disk
                           capture_output=True, text=True, check=True).stdout
    kubectl("apply", "--server-side", "-f", "-", given=given)
    for kind in ("deployment", "daemonset"):
        for name in kubectl("-n", SYSTEM, "get", kind, "-o", "name").split():
            kubectl("-n", SYSTEM, "rollout", "status", name, "--timeout=180s")


def start_pod(kube, image):
    """Seconds until the first byte from inside of a pod."""
    with FirstByte(cluster("host-ip")) as listener:
        return listener.wait(lambda script: kube.bare_pod(image, script))


def starts(kube, upstream, others, count):
    """Small images that no node has, that we brought, and that a pod brought before."""
    total = range(count + WARM_UP)
    absent, plain = ([others.add(f"{kind}/{number}", 20) for number in total] for kind in ("absent", "plain"))
    ours = [upstream.add(f"ours/{number}", 20) for number in total]
    apply(image_set("starts", *ours))
    wait_ready("starts")
    for node in kubectl("get", "nodes", "-o", "name").split():
        pulled_by_pods(plain, node.removeprefix("node/"))
    # In turn, so that what else this machine does meets all of them.
    taken = {"absent": [], "present by us": [], "present by an earlier pull": []}
    for names in zip(absent, ours, plain):
        for what, name in zip(taken, names):
            taken[what].append(start_pod(kube, name))
    for what in taken:
        taken[what] = taken[what][WARM_UP:]
        show(f"pod start, image {what}", [statistics.median(taken[what]), p99(taken[what])], "s")
    ratio = statistics.median(taken["present by us"]) / statistics.median(taken["present by an earlier pull"])
    show("  ours of the earlier pull's", [ratio], "×", "1")


def pulled_by_pods(names, node):
    """As if somebody had used them on this node before."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pull-{node}", "namespace": SPACE}, "spec": {
        "nodeName": node, "restartPolicy": "Never", "automountServiceAccountToken": False,
        "containers": [{"name": f"c{number}", "image": name, "command": ["true"]} for number, name in enumerate(names)]}}
    apply(pod)
    kubectl("-n", SPACE, "wait", f"pod/pull-{node}", "--for=jsonpath={.status.phase}=Succeeded", f"--timeout={PATIENCE}s")
    kubectl("-n", SPACE, "delete", "pod", f"pull-{node}")


def to_three(upstream, others, megabytes, line):
    """One big image to every node: by a set, and by a pod on each; from a registry with such a line, in MB a second."""
    nodes = [name.removeprefix("node/") for name in kubectl("get", "nodes", "-o", "name").split()]
    name = f"big-{line or 'free'}"
    big, plain = upstream.add(f"{name}/ours", megabytes, 4), others.add(f"{name}/plain", megabytes, 4)
    upstream.rate = others.rate = line * MB if line else None
    began = CLOCK()
    apply(image_set(name, big))
    wait_ready(name)
    ours = CLOCK() - began
    began = CLOCK()
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{name}-{node}", "namespace": SPACE}, "spec": {
        "nodeName": node, "restartPolicy": "Never", "automountServiceAccountToken": False,
        "containers": [{"name": "one", "image": plain, "command": ["true"]}]}} for node in nodes]
    apply(*pods)
    for node in nodes:
        kubectl("-n", SPACE, "wait", f"pod/{name}-{node}", "--for=jsonpath={.status.phase}=Succeeded", f"--timeout={PATIENCE}s")
    by_pods = CLOCK() - began
    upstream.rate = others.rate = None
    size = megabytes * MB + upstream.base["size"]
    show(f"{megabytes} MB to {len(nodes)} nodes, {f'line of {line} MB/s' if line else 'no slow line'}: by a set", [ours], "s")
    show("  by pods that pull", [by_pods], "s")
    show("  read from upstream by the set, of the image's size", [upstream.sent[f"{name}/ours"] / size], "×", "1.0–1.1")
    show("  read from upstream by pods, of the image's size", [others.sent[f"{name}/plain"] / size], "×")
    kubectl("-n", SPACE, "delete", "imageset", name, "--timeout=120s")
    kubectl("-n", SPACE, "delete", "pods", *(f"{name}-{node}" for node in nodes))


def writes(upstream, count=10):
    """What one image more costs on each node, by the API server's audit. Heartbeats come only where nothing is written for long."""
    nodes = len(kubectl("get", "nodes", "-o", "name").split())
    names = [upstream.add(f"writes/{number}") for number in range(count + 1)]

    def bring(number):
        apply(image_set("writes", *names[:number + 1]))
        wait_ready("writes")

    bring(0)  # with the first of its life an agent also tells that its operator answers
    before = written()
    for number in range(1, count + 1):
        bring(number)
    labels, told = (now - then for now, then in zip(written(), before))
    show("API writes by agents for an image and node", [(labels + told) / count / nodes], "", "≤ 2")
    show("  of which labels; what is told of the node", [labels / count / nodes, told / count / nodes], "")


def written():
    """Changes that agents made: of nodes' labels, and of NodeImages."""
    labels = told = 0
    for line in cluster("audit").splitlines()[:-1]:  # the last may be half written
        entry = json.loads(line)
        if entry["user"]["username"].endswith(":airside-node") and entry["responseStatus"]["code"] < 300:
            is_told = entry["objectRef"]["resource"] == "nodeimages"
            labels, told = labels + (not is_told), told + is_told
    return labels, told


def admission(image, count=1000):
    """From a request to its answer, over one connection to a replica, as the API server asks."""
    address = kubectl("-n", SYSTEM, "get", "pod", "-l", "app.kubernetes.io/name=airside-images-admission", "-o",
                      "jsonpath={.items[0].status.podIP}")
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection(address, 8443, context=context)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": SPACE}, "spec": {
        "containers": [{"name": "one", "image": image}]}}
    review = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "1", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": SPACE, "operation": "CREATE", "userInfo": {}, "object": pod}})
    taken = []
    for _ in range(count):
        began = CLOCK()
        connection.request("POST", "/v1/review", review, {"Content-Type": "application/json"})
        answer = json.loads(connection.getresponse().read())
        taken.append((CLOCK() - began) * 1000)
    if not answer["response"].get("patch"):
        raise SystemExit(f"bench: admission changed nothing: {answer}")
    show("admission of a pod", [statistics.median(taken), p99(taken)], "ms", "p99 < 5")


def agent():
    """The memory of an idle one, and the size of its program."""
    resident = []
    for entry in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                command = file.read().split(b"\0")
            if command[0].endswith(b"airside-node") or command[1:2] == [b"node"]:
                with open(f"/proc/{entry}/status", encoding="utf-8") as file:
                    resident.append(next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024)
        except (FileNotFoundError, ProcessLookupError, StopIteration):
            continue
    show("memory of an agent", [max(resident)], "MB", "< 20")
    program = os.path.join(os.path.dirname(AIRSIDE), "airside-node")
    show("size of its program", [os.path.getsize(program) / MB], "MB", "< 12")


def main(count=20, megabytes=1024, line=100):
    nodes = len(cluster("kubectl", "get", "nodes", "-o", "name").split())
    print(f"{version('make bench-images')}, {nodes} nodes; {count} of each: median, p99")
    with tempfile.TemporaryDirectory(prefix="airside-bench-") as folder:
        kubeconfig = os.path.join(folder, "kubeconfig")
        cluster("minimal-kubeconfig", SPACE, kubeconfig)
        host = cluster("host-ip")
        with Upstream(os.path.join(folder, "ours"), host, ROOTFS) as upstream, \
                Upstream(os.path.join(folder, "others"), host, ROOTFS) as others:
            cluster("plain-registry", others.address)
            installed(upstream.address)
            starts(Kube(kubeconfig, SPACE), upstream, others, count)
            admission(f"{upstream.address}/ours/0:new")
            to_three(upstream, others, megabytes, None)
            to_three(upstream, others, megabytes, line)
            writes(upstream)
            agent()
            kubectl("-n", SPACE, "delete", "imagesets", "--all", "--timeout=120s")


if __name__ == "__main__":
    if len(sys.argv) > 4 or not all(argument.isdecimal() for argument in sys.argv[1:]):
        print(__doc__.strip())
        sys.exit(2)
    main(*map(int, sys.argv[1:]))

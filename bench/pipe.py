"""A folder from one node of dev/cluster to another by the usual pipe, without any pod."""
import os
import shutil
import subprocess
import time

from cluster import cluster

PORT, MB = 7531, 1 << 20


def in_node(number, script):
    """Starts a shell on the network of a node."""
    name = f"{os.environ.get('CLUSTER', 'airside')}-n{number}"
    # An input that stays open: busybox's nc would tell the other side that all is over.
    return subprocess.Popen(["ip", "netns", "exec", name, "bash", "-euo", "pipefail", "-c", script], stdin=subprocess.PIPE)


def by_hand(folder, megabytes):
    """Seconds that `tar | zstd -1 | nc` takes for so many files of a megabyte, half of which can be compressed."""
    source, to = os.path.join(folder, "source"), os.path.join(folder, "to")
    if not os.path.exists(source):
        os.makedirs(source)
        for number in range(megabytes):
            with open(os.path.join(source, str(number)), "wb") as file:
                file.write(os.urandom(MB // 2) + bytes(MB // 2))
    os.makedirs(to)
    address = cluster("kubectl", "get", "nodes", "-o", "jsonpath={.items[1].status.addresses[?(@.type=='InternalIP')].address}")
    taking = in_node(2, f"busybox nc -l -p {PORT} | zstd -qd | tar -xC {to}")
    while in_node(2, f"ss -ltnH 'sport = {PORT}' | grep -q .").wait() != 0:
        if taking.poll() is not None:
            raise SystemExit("bench: nobody takes what the pipe by hand gives")
    began = time.perf_counter()
    giving = in_node(1, f"tar -cC {source} . | zstd -q1 | busybox nc {address} {PORT}")
    if giving.wait() != 0 or taking.wait() != 0:
        raise SystemExit("bench: the pipe by hand did not work")
    took = time.perf_counter() - began
    shutil.rmtree(to)
    return took

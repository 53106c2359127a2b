#!/usr/bin/env python3
"""What builds cost on this machine: a trivial one, its log, what it hands on, many at once.

  builds.py [COUNT]       default: 20 of the short ones, 5 of the long ones

Prints the fastest, the median and the slowest of each, beside the goal and what Concourse 8.3 took on two cores.
Needs root, the programs of `make bench-builds` (AIRSIDE_BIN), and fly (AIRSIDE_FLY).
docs/performance.md says how to read the numbers.
"""
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

from common import AIRSIDE, FLY, Fly, cpu, cpu_of_steps, need, peak, summary
from client import CACHE, Server

HERE = os.path.dirname(os.path.abspath(__file__))
ROOTFS = os.path.join(CACHE, "rootfs.tar")
CLOCK, WARM_UP, MB = time.perf_counter, 2, 1 << 20
LOG, LARGE, FETCHED, FILES, PARALLEL = 20 * MB, 500 * MB, 100 * MB, 20_000, 200
LINE = "0123456789" * 9 + "012345678"
CONFIG = {}


def show(what, numbers, unit, goal="", concourse=""):
    print(f"  {what:<46}{''.join(f'{number:9.1f}' for number in numbers)} {unit:<5} {goal:<10}{concourse}", flush=True)


def times(count, once):
    """Milliseconds of each call but the first few."""
    return [once() * 1000 for _ in range(count + WARM_UP)][WARM_UP:]


def task(name, script, inputs=(), outputs=()):
    return {"task": name, "config": {
        "platform": "linux", **CONFIG, "inputs": [{"name": each} for each in inputs],
        "outputs": [{"name": each} for each in outputs], "run": {"path": "sh", "args": ["-ec", script]}}}


class Bench:
    def __init__(self, folder, server):
        self.folder, self.server, self.api = folder, server, server.api()
        self.fly = Fly(folder, server, self.api) if FLY else None

    def set(self, name, *plan):
        self.api.set_pipeline(name, json.dumps({"jobs": [{"name": "one", "plan": list(plan)}]}).encode())

    def build(self, name):
        """Seconds from the trigger to the build's last event. The container before it is gone by then."""
        self.api.wait_until_clean()
        began = CLOCK()
        build = self.api.trigger(name, "one")
        status, said = None, []
        for event, data in self.api.events(build["id"]):
            if event == "status":
                status, ended = data["status"], CLOCK()
            elif event in ("log", "error"):
                said.append(data.get("payload") or data.get("message"))
        if status != "succeeded":
            raise SystemExit(f"bench: {name} {status}: {''.join(said)[-2000:]}")
        return ended - began

    def execute(self, config, *options, cwd=None):
        self.api.wait_until_clean()
        began = CLOCK()
        self.fly.run("execute", "-c", config, *options, cwd=cwd)
        return CLOCK() - began

    def task_file(self, name, config):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config["config"], file)
        return path


def trivial(bench, count):
    bench.set("trivial", task("one", "true"))
    for _ in range(WARM_UP):
        bench.build("trivial")
    before = cpu(bench.server) + cpu_of_steps()
    taken = [bench.build("trivial") * 1000 for _ in range(count)]
    spent = (cpu(bench.server) + cpu_of_steps() - before) / count
    show("a job with one trivial task", summary(taken), "ms", "< 80", "1500 after its start")
    show("  processor time of one, all processes", [spent * 1000], "ms", "< 100", "1200")
    config = bench.task_file("trivial.yml", task("one", "true"))
    empty = os.path.join(bench.folder, "empty")
    os.makedirs(empty)
    show("fly execute of it", summary(times(count, lambda: bench.execute(config, cwd=empty))), "ms", "< 250", "1000")


def set_log(bench):
    # Into a file first: what busybox says to a terminal it says line by line, which would be what is measured.
    bench.set("logs", task("one", f"yes {LINE} | head -c {LOG} > /tmp/said; cat /tmp/said"))


def follow_log(bench):
    """Seconds from the first bytes of a log to its last, as a follower sees it from the beginning on; and to the end
    of the stream, which comes once the build is over."""
    bench.api.wait_until_clean()
    build = bench.api.trigger("logs", "one")
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(bench.api.url).netloc)
    connection.request("GET", f"/api/v1/builds/{build['id']}/events", None,
                       {"Authorization": f"Bearer {bench.api.token}"})
    answer, read, began, said = connection.getresponse(), 0, None, None
    while chunk := answer.read1(MB):
        read += len(chunk)
        if began is None and read > 20_000:
            began = CLOCK()
        if LINE[:50].encode() in chunk:
            said = CLOCK()
        if b"event: end" in chunk[-200:]:
            break
    ended = CLOCK()
    connection.close()
    assert read > LOG, f"only {read} bytes came"
    return said - began, ended - began


def logs(bench, count):
    set_log(bench)
    for what, taken in zip(("to a follower", "and the end of its build"), zip(*(follow_log(bench) for _ in range(count)))):
        rates = [LOG / MB / seconds for seconds in taken]
        show(f"a log of {LOG // MB} MB {what}", [min(rates), statistics.median(rates), max(rates)], "MB/s", "> 60", "4.5")


def watch(bench, build):
    """Seconds in which fly shows a log, from its first bytes to its last."""
    with bench.fly.start("watch", "-b", str(build)) as fly:
        read, began, said = 0, None, None
        while chunk := fly.stdout.read1(MB):
            read += len(chunk)
            if began is None and read > 20_000:
                began = CLOCK()
            if LINE[:50].encode() in chunk:
                said = CLOCK()
    assert read > LOG, f"only {read} bytes came"
    return said - began


def watching(bench, count):
    """The log in the real fly, as it grows and read again: what fly itself takes is the same in both."""
    live, again = [], []
    for _ in range(count):
        bench.api.wait_until_clean()
        build = bench.api.trigger("logs", "one")["id"]
        live.append(LOG / MB / watch(bench, build))
        again.append(LOG / MB / watch(bench, build))
    for what, rates, goal in ((f"fly watch of a log of {LOG // MB} MB, live", live, f"> {statistics.median(again) * 0.8:.0f}"),
                              ("  the same log read again", again, "")):
        show(what, [min(rates), statistics.median(rates), max(rates)], "MB/s", goal)


def handing_on(bench, count):
    """What it takes longer if the next task gets what the one before made than if it is left where it was made."""
    kinds = {f"{LARGE // MB} MB": f"dd if=/dev/zero of=$to/large bs=1M count={LARGE // MB} 2>/dev/null",
             f"{FILES} files": f"cd $to; seq {FILES} | xargs touch"}
    for number, (kind, script) in enumerate(kinds.items()):
        names = f"left-{number}", f"handed-on-{number}"
        for name, to in zip(names, ("/tmp", "out")):
            bench.set(name, task("make", f"to={to}; {script}", outputs=["out"]),
                      task("take", "test -d out", inputs=["out"]))
        left, handed = ([bench.build(name) * 1000 for _ in range(count + 1)][1:] for name in names)
        extra = statistics.median(handed) - statistics.median(left)
        show(f"{kind} to the next task: longer by", [extra], "ms", "< 100", "500" if "MB" in kind else "")


def giving(bench, count):
    """fly execute of many files: alone, and while trees of as many files are removed that builds have just left."""
    many = os.path.join(bench.folder, "many")
    for number in range(FILES):
        folder = os.path.join(many, str(number // 500))
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, str(number)), "wb") as file:
            file.write(bytes(1000))
    config = bench.task_file("give.yml", task("one", "test -d many", inputs=["many"]))
    script = f"cd out; for number in $(seq {FILES}); do echo some > $number; done"
    bench.set("leave", task("one", script, outputs=["out"]))

    def once():
        began = CLOCK()
        bench.fly.run("execute", "-c", config, "-i", f"many={many}")
        return (CLOCK() - began) * 1000

    once()
    alone, beside = [], []
    for _ in range(count):
        alone.append(once())
        for _ in range(2):
            bench.build("leave")
            # What never reached the disk is removed in no time.
            os.sync()
        beside.append(once())
    show(f"fly execute of {FILES} files", summary(alone), "ms")
    show("  beside the removal of others", summary(beside), "ms", f"< {statistics.median(alone) * 1.3:.0f}")


def fetching(bench, count):
    # Not busybox's `head -c`, which copies byte by byte and would be a third of what is measured.
    make = f"dd if=/dev/urandom of=out/large bs=1M count={FETCHED // MB} 2>/dev/null"
    config = bench.task_file("fetch.yml", task("one", make, outputs=["out"]))
    empty, to = os.path.join(bench.folder, "here"), os.path.join(bench.folder, "fetched")
    os.makedirs(empty)
    taken = times(count, lambda: bench.execute(config, "-o", f"out={to}", cwd=empty))
    assert os.path.getsize(os.path.join(to, "large")) == FETCHED
    show(f"fly execute that fetches {FETCHED // MB} MB", summary(taken), "ms", "< 1000", "7000")


def parallel(bench):
    bench.set("parallel", {"in_parallel": [task(f"task-{number}", "true") for number in range(PARALLEL)]})
    show(f"{PARALLEL} tasks at once", [bench.build("parallel")], "s")


def use_image(folder):
    """Has tasks run in the small root file system."""
    layout = os.path.join(folder, "image")
    subprocess.run([os.path.join(os.path.dirname(HERE), "dev", "image"), "layout", ROOTFS, layout], check=True)
    CONFIG["image_resource"] = {"type": "oci-layout", "source": {"path": layout}}


def main(count=20):
    few = max(count // 4, 2)
    print(f"{need('make bench-builds')}; {count} of the short ones, {few} of the long ones")
    print(f"  {'':<46}{'fastest':>9}{'median':>9}{'slowest':>9}       {'goal':<10}Concourse")
    with tempfile.TemporaryDirectory(prefix="airside-bench-") as folder:
        use_image(folder)
        server = Server(AIRSIDE, folder)
        try:
            bench = Bench(folder, server)
            trivial(bench, count)
            logs(bench, few)
            watching(bench, few)
            handing_on(bench, few)
            fetching(bench, few)
            giving(bench, few)
            parallel(bench)
            show("memory of the server, at most", [peak(server)], "MB", "< 150")
            bench.api.wait_until_clean()
        finally:
            server.stop()


if __name__ == "__main__":
    if len(sys.argv) > 2 or not all(argument.isdecimal() for argument in sys.argv[1:]):
        print(__doc__.strip())
        sys.exit(2)
    main(*map(int, sys.argv[1:]))

#!/usr/bin/env python3
"""Two builds of Airside beside each other: is the second one a step back?

  compare.py --a FILE --b FILE [--pairs N] [--only NAME,...]

FILE is an `airside` program with its airside-shim beside it; `--a` is the older one. Each measure is taken with the two
in turn, in N pairs (default 30, or PAIRS), and its line has the ratio of the medians, b by a, with its 95 % interval
(bootstrap over pairs). It is no step back if the interval begins at 1.00 or less and its middle is at most 1.03. A
measure that looks like a step back is taken anew once, in N fresh pairs, and is judged on all 2N: the number of pairs is
fixed beforehand, and a measure that fails is not repeated until it passes. Exits with 1 if a step back is left, and with
2 if it cannot measure.

`make bench-compare BASE=COMMIT` builds both programs first. Needs root. docs/performance.md says how to read it.
"""
import argparse
import contextlib
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import builds
from client import Server
from common import cpu_of_process, cpu_of_steps
from control import Connection, pipeline

CLOCK, WARM_UP, RESAMPLES = time.perf_counter, 2, 2000
MOST_LOWER, MOST_MIDDLE = 1.00, 1.03
JOBS, BATCH, PATIENCE = 500, 5, 30
TRIVIAL = "trivial"


class Side:
    """One of the two programs, with a server of its own."""

    def __init__(self, airside, folder):
        self.airside, self.folder = os.path.abspath(airside), folder
        self.shim = os.path.join(os.path.dirname(self.airside), "airside-shim")
        os.makedirs(folder)
        self.server = Server(self.airside, folder)
        self.bench = builds.Bench(folder, self.server)
        self.connection = Connection(self.bench.api)
        self.configs = [pipeline(JOBS), pipeline(JOBS, range(JOBS))]
        one = builds.task("one", "true")
        self.bench.set(TRIVIAL, one)
        builds.set_log(self.bench)
        self.file = os.path.join(folder, "trivial.yml")
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump({"jobs": [{"name": "one", "plan": [one]}]}, file)

    def trivial(self):
        return self.bench.build(TRIVIAL)

    def processor(self):
        """Processor time of a trivial build. Of several: what children used is told in hundredths of a second."""
        before = cpu_of_process(self.server.process.pid) + cpu_of_steps()
        for _ in range(BATCH):
            self.bench.build(TRIVIAL)
        return (cpu_of_process(self.server.process.pid) + cpu_of_steps() - before) / BATCH

    def log(self):
        return builds.follow_log(self.bench)[0]

    def set_pipeline(self):
        """The request alone, of a pipeline of which every job changes, there and back."""
        return sum(self.connection.put_config("large", config) for config in self.configs)

    def run(self):
        began = CLOCK()
        done = subprocess.run([self.airside, "run", self.file], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode:
            raise SystemExit(f"bench: {self.airside} run: {done.stderr.decode()[-2000:]}")
        return CLOCK() - began

    def shim_start(self):
        """From the start of the shim until its hub, which is us, has its first bytes."""
        path = os.path.join(self.folder, "hub")
        with socket.socket(socket.AF_UNIX) as hub:
            hub.bind(path)
            hub.listen()
            hub.settimeout(PATIENCE)
            env = {"AIRSIDE_HUB": f"unix:{path}", "AIRSIDE_HUB_PIN": "0" * 64, "AIRSIDE_HANDLE": "bench",
                   "AIRSIDE_TOKEN": "bench", "AIRSIDE_STATE": self.folder}
            began = CLOCK()
            shim = subprocess.Popen([self.shim], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)
            try:
                dialled, _ = hub.accept()
                with dialled:
                    dialled.settimeout(PATIENCE)
                    if dialled.recv(1):
                        return CLOCK() - began
            except TimeoutError:
                pass
            finally:
                shim.kill()
                shim.wait()
                os.unlink(path)
        raise SystemExit(f"bench: {self.shim} does not dial its hub")

    def stop(self):
        self.bench.api.wait_until_clean()
        self.server.stop()


MEASURES = {
    "trivial": ("a trivial build, trigger to end", Side.trivial),
    "processor": ("  its processor time, all processes", Side.processor),
    "log": (f"a log of {builds.LOG // builds.MB} MB to a follower", Side.log),
    "set-pipeline": (f"two PUTs of a pipeline of {JOBS} jobs", Side.set_pipeline),
    "run": ("airside run of a trivial job", Side.run),
    "shim": ("start of the shim, to its first bytes", Side.shim_start),
}


def ratio(pairs):
    """The median of all b by the median of all a."""
    return statistics.median(b for _, b in pairs) / statistics.median(a for a, _ in pairs)


def interval(pairs, chance):
    """Where 95 of 100 ratios lie if the pairs are drawn again."""
    drawn = sorted(ratio(chance.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    return drawn[int(RESAMPLES * 0.025)], drawn[int(RESAMPLES * 0.975)]


def is_step_back(middle, lower):
    return lower > MOST_LOWER or middle > MOST_MIDDLE


def take(sides, once, count, first):
    """Pairs of seconds; each side is the first of every other pair."""
    for number in range(first, first + count):
        order = (0, 1) if number % 2 else (1, 0)
        taken = {}
        for at in order:
            # What one side has still to remove would be in the other's time.
            for side in sides:
                side.bench.api.wait_until_clean()
            taken[at] = once(sides[at])
        yield taken[0], taken[1]


def judged(pairs, chance):
    """The ratio with its interval, and whether it is a step back."""
    middle, (lower, upper) = ratio(pairs), interval(pairs, chance)
    return middle, lower, upper, is_step_back(middle, lower)


def pairs_of(taken, count, chance):
    """As many pairs as are asked for, or twice as many if those look like a step back. `taken` gives pairs: how many, and
    the number of the first."""
    pairs = list(taken(count, 0))
    *_, back = judged(pairs, chance)
    return pairs + list(taken(count, count)) if back else pairs


def measure(sides, name, count, chance):
    """Prints a line. True if it is a step back, by all pairs together."""
    what, once = MEASURES[name]
    list(take(sides, once, WARM_UP, 0))
    pairs = pairs_of(lambda more, first: take(sides, once, more, first), count, chance)
    middle, lower, upper, back = judged(pairs, chance)
    medians = [statistics.median(side) * 1000 for side in zip(*pairs)]
    verdict = "STEP BACK" if back else "no step back"
    print(f"  {what:<40}{medians[0]:9.1f}{medians[1]:9.1f} ms {middle:7.3f}  {lower:.3f}–{upper:.3f} {len(pairs):5}  {verdict}",
          flush=True)
    return back


def parse(arguments):
    lines = __doc__.strip().split("\n\n")
    parser = argparse.ArgumentParser(description=lines[0], epilog="\n\n".join(lines[2:]),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--a", required=True, metavar="FILE", help="the older program")
    parser.add_argument("--b", required=True, metavar="FILE", help="the newer program")
    parser.add_argument("--pairs", type=int, default=int(os.environ.get("PAIRS") or 30), metavar="N",
                        help="pairs of each measure, at least 2; default: PAIRS, or 30")
    parser.add_argument("--only", default=",".join(MEASURES), metavar="NAME,...",
                        help=f"measures to take, of {', '.join(MEASURES)}; default: all")
    asked = parser.parse_args(arguments)
    asked.only = asked.only.split(",")
    if unknown := set(asked.only) - set(MEASURES):
        parser.error(f"there is no measure {', '.join(sorted(unknown))}")
    if asked.pairs < 2:
        parser.error("fewer than 2 pairs have no interval")
    for path in (asked.a, asked.b, builds.ROOTFS):
        if not os.path.exists(path):
            parser.error(f"{path} is missing; `make bench-compare` makes it")
    return asked


def main(arguments):
    asked = parse(arguments)
    # An end from outside stops the servers, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {asked.pairs} pairs; medians, then the ratio with its interval")
    print(f"  a: {asked.a}\n  b: {asked.b}\n  {'':<40}{'a':>9}{'b':>9}{'b/a':>11}  {'95 %':<11}{'pairs':>6}")
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="airside-bench-"))
        builds.use_image(folder)
        sides = []
        for name in ("a", "b"):
            sides.append(Side(getattr(asked, name), os.path.join(folder, name)))
            stack.callback(sides[-1].stop)
        chance = random.Random(1)
        back = [name for name in asked.only if measure(sides, name, asked.pairs, chance)]
    print(f"step back: {', '.join(back)}" if back else "no step back")
    return 1 if back else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            sys.exit(2)
        raise

"""What the programs here share: fly, statistics, and what a server uses of the machine."""
import contextlib
import glob
import math
import os
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "dev"))
from client import TARGET  # noqa: E402

AIRSIDE = os.environ.get("AIRSIDE_BIN") or os.path.join(TARGET, "bench", "airside")
FLY = os.environ.get("AIRSIDE_FLY", "")


class Fly:
    """fly with a home of its own, logged in."""

    def __init__(self, folder, server, api):
        self.home = os.path.join(folder, "home")
        os.makedirs(self.home)
        self.run("login", "-c", api.url, "-u", "dev", "-p", server.password)

    def run(self, *arguments, cwd=None):
        subprocess.run([FLY, "-t", "bench", *arguments], check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, cwd=cwd, env={**os.environ, "HOME": self.home})

    def start(self, *arguments):
        """A process whose output is read through a pipe."""
        return subprocess.Popen([FLY, "-t", "bench", *arguments], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, env={**os.environ, "HOME": self.home})


def p99(taken):
    """Of few measurements, the slowest."""
    return sorted(taken)[math.ceil(len(taken) * 0.99) - 1]


def summary(taken):
    return [min(taken), statistics.median(taken), p99(taken)]


def cpu(server):
    """Seconds of processor time that the server and its children have used."""
    with open(f"/proc/{server.process.pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def cpu_of_process(pid):
    """Seconds that the process has used, to the nanosecond, and its children that are gone, to a hundredth."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    # Linux numbers the processor clock of a process like this (see clock_getcpuclockid).
    own = time.clock_gettime(~pid << 3 | 2)
    return own + sum(int(field) for field in fields[13:15]) / os.sysconf("SC_CLK_TCK")


def cpu_of_steps():
    """Seconds of processor time that local containers have used, those that are gone included."""
    nanoseconds = 0
    for usage in glob.glob("/sys/fs/cgroup/cpuacct/airside/cpuacct.usage"):
        with open(usage, encoding="ascii") as file:
            nanoseconds += int(file.read())
    for stat in glob.glob("/sys/fs/cgroup/airside/cpu.stat"):
        with open(stat, encoding="ascii") as file:
            nanoseconds += next(int(line.split()[1]) for line in file if line.startswith("usage_usec")) * 1000
    return nanoseconds / 1e9


def family(root):
    """The process and all that it started, whoever is their parent now."""
    group = os.getpgid(root)
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdecimal()]
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            if os.getpgid(pid) == group:
                yield pid


def pss(pids):
    total = 0
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            total += next(int(text.split()[1]) for text in file if text.startswith("Pss:"))
    return total / 1024


def peak(server):
    """The most memory that the server's own process ever had, in MB."""
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
        return next(int(text.split()[1]) for text in file if text.startswith("VmHWM:")) / 1024


def version(how, *needed):
    """Which program is measured, and where."""
    for path in (AIRSIDE, *needed):
        if not os.path.exists(path):
            raise SystemExit(f"bench: {path or 'AIRSIDE_FLY'} is missing; run `{how}`")
    said = subprocess.run([AIRSIDE, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    return f"{said}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def need(how):
    return version(how, FLY)

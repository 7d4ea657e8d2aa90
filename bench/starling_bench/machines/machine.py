"""What a reader must know of the machine that a run was made on, and of what was run there."""

import contextlib
import os
import platform
import re
import subprocess
from pathlib import Path


def commit() -> str:
    """That of this tree, with "-dirty" where it differs from it; "unknown" where none is known."""
    here = str(Path(__file__).parent)
    command = ["git", "--no-optional-locks", "-C", here, "describe", "--always", "--dirty"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run(command, capture_output=True, text=True, timeout=10)
        return said.stdout.strip() or "unknown"
    return "unknown"


def usable_cpus(root: Path = Path("/")) -> float:
    """How many of its CPUs this process may have: a container's control group, or an affinity, may
    leave less than there are."""
    may: float = len(os.sched_getaffinity(0))
    with contextlib.suppress(OSError, ValueError):
        group = (root / "proc/self/cgroup").read_text().partition("::")[2].split("\n")[0]
        top = root / "sys/fs/cgroup"
        here = top / group.lstrip("/")
        # In a container the path may be the host's, of which only the container's own is there.
        for one in [d for d in (here, *here.parents) if d.is_relative_to(top)]:
            with contextlib.suppress(OSError, ValueError):
                quota, period = (one / "cpu.max").read_text().split()
                may = min(may, int(quota) / int(period))
    return may


# Where a kernel that can change its preemption model says which is in force, and how it was begun.
_PREEMPT, _BEGUN = "/sys/kernel/debug/sched/preempt", "/proc/cmdline"


def preemption(build: str, choice: str, begun: str) -> str:
    """The model in force, by what a kernel says of its build, of its choice ("none (full)"; root
    may see it) and of how it was begun; each may be "", not known."""
    if not build:
        return "not known"
    if "PREEMPT_DYNAMIC" not in build.split():
        built = [word for word in build.split() if word.startswith("PREEMPT")]
        return built[0] if built else "none or voluntary"
    said = re.findall(r"\((\w+)\)", choice) or re.findall(r"(?:^|\s)preempt=(\w+)", begun)
    return f"{said[-1] if said else 'not known'} (PREEMPT_DYNAMIC)"


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def facts() -> dict:
    """Of this one, by name."""
    info = {
        "host": platform.node(),
        "kernel": platform.release(),
        "kernel_build": platform.version(),
        "preemption": preemption(platform.version(), _text(_PREEMPT), _text(_BEGUN)),
        "cpus": os.cpu_count(),
        "cpus_usable": usable_cpus(),
        "python": platform.python_version(),
        "container": Path("/.dockerenv").exists(),
    }
    for key, path in {
        "clock_source": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        "governor": "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "rmem_max": "/proc/sys/net/core/rmem_max",
    }.items():
        info[key] = _text(path) or "unknown"
    cpu = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    info["cpu"] = cpu[0] if cpu else platform.machine()
    return info

"""The results store: a directory per run, written as results arrive.

run.json      machine, versions, sequences, state of every execution
results.csv   one row per execution, test, pair and sample
summary.json, summary.csv   one row per execution, test and pair
report.html   the report
<sequence>/<execution>/     log and round trips of each federate
"""

import csv
import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from . import stats
from .errors import BenchError
from .tsf import Sequence


def machine() -> dict:
    """What a reader must know of the machine."""
    info = {
        "host": platform.node(),
        "kernel": platform.release(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "container": Path("/.dockerenv").exists(),
    }
    for key, path in {
        "clock_source": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        "governor": "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "rmem_max": "/proc/sys/net/core/rmem_max",
    }.items():
        try:
            info[key] = Path(path).read_text().strip()
        except OSError:
            info[key] = "unknown"
    cpu = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    info["cpu"] = cpu[0] if cpu else platform.machine()
    return info


class Store:
    """One run's directory."""

    def __init__(self, directory: Path, tsf: Path) -> None:
        self.directory = directory
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._csv = (directory / "results.csv").open("w", newline="")
        except OSError as e:
            raise cannot_write(directory, e) from None
        self._writer: csv.DictWriter | None = None
        self.rows: list[dict] = []
        self.run = {
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "tsf": tsf.name,
            "tsf_text": tsf.read_text(encoding="utf-8"),
            "machine": machine(),
            "executions": [],
        }
        self.tolerances: dict[tuple, float] = {}

    def execution_directory(self, sequence: Sequence, execution: str) -> Path:
        """Where the federates of an execution write, made empty of earlier results."""
        directory = self.directory / sequence.name / execution
        try:
            directory.mkdir(parents=True, exist_ok=True)
            for old in [*directory.glob("rtt_*.csv"), *directory.glob("*.log")]:
                old.unlink()
        except OSError as e:
            raise cannot_write(directory, e) from None
        return directory

    def add(self, sequence: str, execution: str, event: dict) -> dict:
        """Keeps one sample, at once also on disk."""
        row = {"sequence": sequence, "execution": execution}
        row |= {k: v for k, v in event.items() if k != "event"}
        try:
            if self._writer is None:
                self._writer = csv.DictWriter(self._csv, list(row))
                self._writer.writeheader()
            self._writer.writerow(row)
            self._csv.flush()
        except OSError as e:
            raise cannot_write(self.directory / "results.csv", e) from None
        except ValueError as e:
            raise BenchError("STL-RUN-007", f"the master sent a strange sample: {e}") from None
        self.rows.append(row)
        return row

    def summaries(self) -> list[dict]:
        """One summary per execution, test and pair, in order of arrival."""
        groups: dict[tuple, list[dict]] = {}
        for row in self.rows:
            key = (row["sequence"], row["execution"], row["test"], row["pair"])
            groups.setdefault(key, []).append(row)
        return [
            stats.summarize(rows, self.round_trips(*key), self.tolerances.get(key[:3], 0.005))
            for key, rows in groups.items()
        ]

    def round_trips(self, sequence: str, execution: str, test: int, pair: int) -> list[np.ndarray]:
        """Round trips in nanoseconds, one array per sample that was completed."""
        path = self.directory / sequence / execution / f"rtt_test{test}_pair{pair}.csv"
        if not path.exists():
            return []
        completed = {
            r["sample"]
            for r in self.rows
            if (r["sequence"], r["execution"], r["test"], r["pair"])
            == (sequence, execution, test, pair)
        }
        # A killed federate may leave half a line.
        data = np.genfromtxt(path, delimiter=",", skip_header=1, invalid_raise=False,
                             filling_values=-1, ndmin=2)  # fmt: skip
        if data.size == 0:
            return []
        return [data[data[:, 0] == s, 1] for s in sorted(completed)]

    def save(self) -> list[dict]:
        """Writes run.json and the summaries; returns these."""
        try:
            return self._save()
        except OSError as e:
            raise cannot_write(self.directory, e) from None

    def _save(self) -> list[dict]:
        summaries = self.summaries()
        self.run["ended"] = datetime.now(UTC).isoformat(timespec="seconds")
        (self.directory / "run.json").write_text(json.dumps(self.run, indent=1) + "\n")
        (self.directory / "summary.json").write_text(json.dumps(summaries, indent=1) + "\n")
        with (self.directory / "summary.csv").open("w", newline="") as out:
            flat = [_flat(s) for s in summaries]
            fields = list(dict.fromkeys(key for row in flat for key in row))
            writer = csv.DictWriter(out, fields)
            writer.writeheader()
            writer.writerows(flat)
        return summaries


def cannot_write(path: Path, error: OSError) -> BenchError:
    return BenchError(
        "STL-OUT-001",
        f"can't write results: {error.strerror}",
        str(path),
        "make room there, or give another --out",
    )


def _flat(value: dict, prefix: str = "") -> dict:
    out = {}
    for key, inner in value.items():
        if isinstance(inner, dict):
            out |= _flat(inner, f"{prefix}{key}.")
        else:
            out[f"{prefix}{key}"] = inner
    return out

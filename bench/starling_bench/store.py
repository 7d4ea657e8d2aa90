"""The results store: a directory per run, written as results arrive, never written twice.

run.json      machine, versions, options, state of every execution and its tests
results.csv   one row per execution, test, pair and sample; what stands here is done
summary.json, summary.csv   one row per execution, test and pair
report.html   the report
<sequence>/<execution>/     log and raw round trips of each federate
"""

import csv
import io
import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from . import stats
from .errors import USAGE, BenchError, cannot


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


COLUMNS = (
    "sequence", "execution", "test", "kind", "transport", "loop", "types", "instances", "buffers",
    "bytes", "updates", "pair", "sender", "receiver", "sample", "sent", "received", "lost", "late",
    "send_s", "receive_s", "rate_hz", "mb_per_s", "rtt_mean_ms", "rtt_sd_ms", "rtt_min_ms",
    "rtt_p50_ms", "rtt_p90_ms", "rtt_p99_ms", "rtt_p999_ms", "rtt_max_ms", "doubled", "others_cpu",
)  # fmt: skip
_TEXTS = {"sequence", "execution", "kind", "transport", "sender", "receiver"}
_FIGURES = {c for c in COLUMNS if c.endswith(("_s", "_hz", "_ms", "_cpu"))}


class Store:
    """One run's directory."""

    def __init__(self, directory: Path, run: dict, rows: list[dict]) -> None:
        self.directory, self.run, self.rows = directory, run, rows
        self._csv = None

    @classmethod
    def create(cls, directory: Path, run: dict) -> "Store":
        """A new run; a directory that holds anything is refused, results are never overwritten."""
        try:
            directory.mkdir(parents=True, exist_ok=True)
            if any(directory.iterdir()):
                raise BenchError(
                    "STL-OUT-002",
                    "there are results already" if (directory / "run.json").exists()
                    else "the directory is not empty",
                    str(directory),
                    "give another --out, or --resume to go on with that run",
                    USAGE,
                )  # fmt: skip
        except OSError as e:
            raise cannot("write results", e, directory) from None
        started = datetime.now(UTC).isoformat(timespec="seconds")
        store = cls(
            directory, {"started": started, **run, "machine": machine(), "executions": []}, []
        )
        store._open()
        store.save_run()
        return store

    @classmethod
    def load(cls, directory: Path) -> "Store":
        """A run that was begun, to be read."""
        try:
            run = json.loads((directory / "run.json").read_text(encoding="utf-8"))
            path = directory / "results.csv"
            # A killed manager may leave half a line.
            text = path.read_text(encoding="utf-8").rpartition("\n")[0] if path.exists() else ""
        except (OSError, ValueError) as e:
            raise BenchError(
                "STL-OUT-003",
                f"there is no run: {getattr(e, 'strerror', None) or e}",
                str(directory),
                "give the directory that a run was told with --out",
                USAGE,
            ) from None
        rows = [_typed(row) for row in csv.DictReader(text.splitlines())]
        return cls(directory, run, [row for row in rows if row is not None])

    def resume(self) -> None:
        """Goes on with a run that was read: what a test had not finished is dropped."""
        whole = {
            (e["sequence"], e["execution"], number)
            for e in self.run["executions"]
            for number in self.done(e["sequence"], e["execution"])
        }
        self.rows = [r for r in self.rows if (r["sequence"], r["execution"], r["test"]) in whole]
        self._open()

    def _open(self) -> None:
        path = self.directory / "results.csv"
        temporary = path.with_suffix(".tmp")
        try:
            self._csv = temporary.open("w", newline="", encoding="utf-8")
            self._writer = csv.DictWriter(self._csv, COLUMNS)
            self._writer.writeheader()
            self._writer.writerows(self.rows)
            self._csv.flush()
            temporary.replace(path)
        except OSError as e:
            raise cannot("write results", e, path) from None

    def close(self) -> None:
        if self._csv:
            self._csv.close()

    # ---- executions

    def record(self, sequence: str, execution: str) -> dict | None:
        return next(
            (
                e
                for e in self.run["executions"]
                if (e["sequence"], e["execution"]) == (sequence, execution)
            ),
            None,
        )

    def begin(self, sequence: str, execution: str, **more: object) -> dict:
        """The record of an execution, made or taken up again."""
        record = self.record(sequence, execution)
        if record is None:
            record = {"sequence": sequence, "execution": execution, "rti": "", "problems": {}}
            self.run["executions"].append(record)
        record |= {"state": "running", "message": "", **more}
        self.save_run()
        return record

    def done(self, sequence: str, execution: str) -> set[int]:
        """Numbers of the tests all of whose samples are there for every pair, or that ended early
        for a reason that was told."""
        record = self.record(sequence, execution)
        if record is None:
            return set()
        have: dict[int, int] = {}
        for r in self.rows:
            if (r["sequence"], r["execution"]) == (sequence, execution):
                have[r["test"]] = have.get(r["test"], 0) + 1
        found = {int(number) for number in record["problems"]}
        for number, test in record["tests"].items():
            if have.get(int(number), 0) >= test["samples"] * record["pairs"]:
                found.add(int(number))
        return found

    def execution_directory(self, sequence: str, execution: str) -> Path:
        """Where the federates of an execution write."""
        directory = self.directory / sequence / execution
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise cannot("write results", e, directory) from None
        return directory

    # ---- samples

    def add(self, sequence: str, execution: str, event: dict) -> dict:
        """Keeps one sample, at once also on disk."""
        trips = np.empty(0)
        if event.get("kind") in ("RTOL", "RTIL"):
            raw = self._raw(sequence, execution, event["test"], event["pair"])
            trips = raw.get(event["sample"], trips)
            if len(trips) != event["received"]:
                raise BenchError(
                    "STL-RUN-009",
                    f"sample {event['sample']} of test {event['test']} has {event['received']} "
                    f"round trips, but {len(trips)} are saved",
                    str(self._raw_path(sequence, execution, event["test"], event["pair"])),
                    "read the federates' logs there",
                )
        row = {"sequence": sequence, "execution": execution, **event, **stats.row_figures(trips)}
        row.pop("event", None)
        if missing := [c for c in COLUMNS if c not in row]:
            raise BenchError("STL-RUN-007", f"the master sent a sample without {missing[0]}")
        if row["sent"] != row["received"] + row["lost"]:
            raise BenchError(
                "STL-RUN-007",
                f"sample {row['sample']} of test {row['test']}: {row['sent']} sent is not "
                f"{row['received']} received + {row['lost']} lost",
                do="the RTI delivered what nobody sent, or bmfed is wrong: read the logs",
            )
        row = {c: row[c] for c in COLUMNS}
        try:
            self._writer.writerow(row)
            self._csv.flush()
        except OSError as e:
            raise cannot("write results", e, self.directory / "results.csv") from None
        self.rows.append(row)
        return row

    def summaries(self) -> list[dict]:
        """One summary per execution, test and pair, in order of arrival."""
        groups: dict[tuple, list[dict]] = {}
        for row in self.rows:
            key = (row["sequence"], row["execution"], row["test"], row["pair"])
            groups.setdefault(key, []).append(row)
        found = []
        for (sequence, execution, test, pair), rows in groups.items():
            record = self.record(sequence, execution) or {"rti": "", "tests": {}}
            settings = record["tests"].get(str(test), {})
            trips = self.round_trips(sequence, execution, test, pair)
            tolerance = settings.get("mode_tolerance_ms", 0.005)
            found.append(
                stats.summarize(rows, trips, tolerance)
                | {"rti": record["rti"], "setting": settings}
            )
        return found

    def round_trips(self, sequence: str, execution: str, test: int, pair: int) -> list[np.ndarray]:
        """Round trips in nanoseconds, one array per sample that was completed."""
        raw = self._raw(sequence, execution, test, pair)
        completed = sorted(
            r["sample"]
            for r in self.rows
            if (r["sequence"], r["execution"], r["test"], r["pair"])
            == (sequence, execution, test, pair)
        )
        return [raw[s] for s in completed if s in raw]

    def _raw_path(self, sequence: str, execution: str, test: int, pair: int) -> Path:
        return self.directory / sequence / execution / f"rtt_test{test}_pair{pair}.raw"

    def _raw(self, sequence: str, execution: str, test: int, pair: int) -> dict[int, np.ndarray]:
        path = self._raw_path(sequence, execution, test, pair)
        try:
            words = np.fromfile(path, dtype="<u4")
        except FileNotFoundError:
            return {}
        except OSError as e:
            raise cannot("read round trips", e, path) from None
        found, at = {}, 0
        while at + 2 <= len(words):  # a killed federate may leave half a sample
            sample, count = int(words[at]), int(words[at + 1])
            if at + 2 + count <= len(words):
                found[sample] = words[at + 2 : at + 2 + count].view("<f4")
            at += 2 + count
        return found

    # ---- files

    def write(self, name: str, text: str) -> None:
        """A file of the run: the old one stays until the new one is whole."""
        path = self.directory / name
        temporary = path.with_name(path.name + ".tmp")
        try:
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(path)
        except OSError as e:
            raise cannot("write results", e, path) from None

    def save_run(self) -> None:
        self.write("run.json", json.dumps(self.run, indent=1) + "\n")

    def save(self) -> list[dict]:
        """Writes run.json and the summaries; returns these."""
        summaries = self.summaries()
        self.run["ended"] = datetime.now(UTC).isoformat(timespec="seconds")
        self.save_run()
        self.write("summary.json", json.dumps(summaries, indent=1) + "\n")
        flat = [_flat(s) for s in summaries]
        out = io.StringIO(newline="")
        writer = csv.DictWriter(out, list(dict.fromkeys(key for row in flat for key in row)))
        writer.writeheader()
        writer.writerows(flat)
        self.write("summary.csv", out.getvalue())
        return summaries


def _typed(row: dict) -> dict | None:
    """A row of results.csv with numbers for numbers; None for one that is not whole."""
    try:
        return {
            c: row[c]
            if c in _TEXTS
            else ((float(row[c]) if row[c] else None) if c in _FIGURES else int(row[c]))
            for c in COLUMNS
        }
    except (KeyError, TypeError, ValueError):
        return None


def _flat(value: dict, prefix: str = "") -> dict:
    out = {}
    for key, inner in value.items():
        if isinstance(inner, dict):
            out |= _flat(inner, f"{prefix}{key}.")
        else:
            out[f"{prefix}{key}"] = inner
    return out

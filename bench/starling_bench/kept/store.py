"""The results store: a directory per run, written as results arrive, never written twice.

run.json      machine, versions, options, state of every execution and its tests
results.csv   one row per execution, test, pair and sample; what stands here is done
summary.json, summary.csv   one row per execution, test and pair
report.html   the report
<sequence>/<execution>/     log of each federate, raw round trips (raw.py)
"""

import contextlib
import csv
import io
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from ..errors import USAGE, BenchError, cannot
from ..machines import identity, idle, machine
from ..outside import fresh_file, read_json, read_text, write_json
from ..study import NO_REPORT, Study
from . import mastered, raw, recorded, results, summarized
from .damage import DAMAGED

# What a run's directory has beside a folder for each sequence, and the table of its rows.
OWN = frozenset(
    {"run.json", "summary.json", "summary.csv", "report.html", "figures", identity.CLAIM}
)
_LONG_S = 0.5  # what is renewed in less time is so after each test
# Raw values of a sample, or of a test, that a host lost when it went down.
_NOT_WHOLE = ("STL-RUN-009", "STL-SMP-001", DAMAGED)


class Store:
    """One run's directory."""

    def __init__(self, directory: Path, study: Study, run: dict, rows: list[dict]) -> None:
        self.directory, self.study, self.run, self.rows = directory, study, run, rows
        self.reports = True  # a report is wanted, too, where summaries are renewed
        self._csv = None
        self._claim: identity.Claim | None = None
        self._known: dict[tuple, tuple[int, dict]] = {}  # summaries, and of how many rows
        self._made: dict[str, tuple[int, dict]] = {}  # of all rows, and how many these were
        self._records: dict[tuple[str, str], dict] = {}  # of executions
        self._told: set[tuple] = set()  # samples that were added
        self._tails: dict[int, tuple] = {}  # of each pair what is being written
        self._no_rows = 0  # lines of the table that are none, or are there twice
        self._lacking = ""  # how many of its tests are there, where these are not all
        self._left_out: dict[tuple, list[int]] = {}  # samples of tests, and why
        self._renew_s = -math.inf  # before that time summaries are not renewed

    @classmethod
    def create(cls, directory: Path, study: Study, run: dict) -> "Store":
        """A new run; a directory that holds anything is refused, results are never overwritten."""
        with contextlib.ExitStack() as undo:
            try:
                directory.mkdir(parents=True, exist_ok=True)
                must_be_empty(directory)
                claim = identity.Claim(directory)
                undo.callback(claim.end)
                must_be_empty(directory)  # what another has written until now
            except OSError as e:
                raise cannot("write results", e, directory) from None
            started = datetime.now(UTC).isoformat(timespec="seconds")
            run = {"study": study.name, "commit": machine.commit(), "started": started, **run}
            run["machine"] = machine.facts()
            store = cls(directory, study, run | {"executions": []}, [])
            store._claim = claim
            undo.callback(store.close)
            store._open()
            store.save_run()
            undo.pop_all()
            return store

    @classmethod
    def load(cls, directory: Path, study: Study, claim: bool = False) -> "Store":
        """A run that was begun, to be read; with `claim` to be written, too."""
        with contextlib.ExitStack() as undo:
            claimed = None
            try:
                if claim and (directory / "run.json").is_file():
                    claimed = identity.Claim(directory)
                    undo.callback(claimed.end)
                run = read_json(read_text(directory / "run.json"))
            except ValueError as e:
                raise recorded.refused(str(e), directory / "run.json") from None
            except OSError as e:
                raise BenchError(
                    "STL-OUT-003",
                    f"there is no run: {e.strerror or e}",
                    str(directory),
                    "give the directory that a run was told with --out",
                    USAGE,
                ) from None
            recorded.check(run, directory / "run.json", study.program)
            if (of := run.get("study", study.name)) != study.name:
                raise BenchError(
                    "STL-OUT-005", f"this is a run of the study '{of}'", str(directory),
                    f"starling-bench {of} can read it", USAGE,
                )  # fmt: skip
            if study.spec:
                recorded.tests(run, directory / "run.json", study.spec.single, study.before)
            table = directory / study.table
            lost = not table.exists()
            rows = mastered.rows(directory, study, run) if lost else results.read(table, study, run)
            store = cls(directory, study, run, [row for row in rows if row is not None])
            store._no_rows = rows.count(None)
            store._claim = claimed
            if lost and rows:
                store.note([f"There was no {study.table}: {mastered.LACKS}"])
                with contextlib.suppress(BenchError):  # it is told where figures are made
                    store.recompute()
                if claimed:
                    store._open()
                    store._csv.close()
                    store._csv = None  # the run does not go on
            undo.pop_all()
            return store

    @staticmethod
    def require_table(directory: Path, study: Study) -> None:
        """BenchError for a run of which figures are kept, but not the rows that they are made of,
        nor what masters wrote down of them: whatever is made of it would be empty."""
        there = (directory / study.table).exists() or mastered.there(directory)
        if (directory / "run.json").is_file() and not there:
            raise BenchError(
                "STL-OUT-010", f"there is no {study.table} to make a report of: figures alone are "
                "kept here", str(directory), "read report.html there, or give the run's own "
                "directory", USAGE,
            )  # fmt: skip

    def resume(self) -> None:
        """Goes on with a run that was read: what a test had not finished is dropped."""
        whole = {
            (e["sequence"], e["execution"], number)
            for e in self.run["executions"]
            for number in self.done(e["sequence"], e["execution"])
        }
        self.rows = [r for r in self.rows if (r["sequence"], r["execution"], r["test"]) in whole]
        self._made.clear()
        self._no_rows = 0  # they are measured anew
        self._open()

    def _open(self) -> None:
        path = self.directory / self.study.table
        temporary = path.with_suffix(".tmp")
        try:
            self._csv = fresh_file(temporary, newline="")
            self._writer = csv.DictWriter(self._csv, self.study.columns.names)
            self._writer.writeheader()
            self._writer.writerows(self.rows)
            self._csv.flush()
            temporary.replace(path)
        except OSError as e:
            raise cannot("write results", e, path) from None

    def close(self) -> None:
        """Nothing is written any more, but by others."""
        try:
            if self._csv:
                self._csv.close()
        finally:
            if self._claim:
                self._claim.end()

    # ---- executions

    def warnings(self) -> list[str]:
        """Of other programs that ran during samples, and of samples that are in no figure."""
        left_out = [
            f"Of {where}: sample {', '.join(map(str, numbers))} is in no figure: {why}."
            for (where, why), numbers in self._left_out.items()
        ]
        if self._no_rows:
            left_out.append(
                f"{self._no_rows} lines of {self.study.table} are torn or not whole, or are there "
                "twice: they are in no figure."
            )
        if self._lacking:
            left_out.append(f"{self._lacking}; `{self.study.manager} resume` goes on with it.")
        return idle.note([row["others_cpu"] for row in self.rows]) + left_out + self._builds()

    def expect(self, tests: int) -> None:
        """A run that nobody conducts has so many tests: notes which are not there."""
        there = sum(len(self.done(e["sequence"], e["execution"])) for e in self.run["executions"])
        self._lacking = f"{there:,} of {tests:,} tests are there" if there < tests else ""

    def lacks(self) -> str:
        """What its figures lack of what was to be measured, in words; "": nothing."""
        samples = sum(map(len, self._left_out.values()))
        left_out = f"{samples:,} samples are in no figure, as their raw values are not whole"
        return "; ".join(filter(None, [self._lacking, left_out if samples else ""]))

    def fitness(self) -> idle.Fitness:
        """Whether the machine was fit to measure on, by what others did there."""
        by_test: dict[tuple, list[float | None]] = {}
        for row in self.samples():
            test = row["sequence"], row["execution"], row["test"]
            by_test.setdefault(test, []).append(row["others_cpu"])
        return idle.fitness(by_test.values())

    def _builds(self) -> list[str]:
        """Sequences whose executions loaded several libraries of one name, as after a build between
        two of them."""
        seen: dict[tuple[str, str], set[str]] = {}
        versions: dict[str, dict[str, None]] = {}
        for e in self.run["executions"]:
            for name, checksum in e.get("libraries", {}).items():
                seen.setdefault((name, e["sequence"]), set()).add(checksum)
            versions.setdefault(e["sequence"], {}).update({e["rti"]: None} if e["rti"] else {})
        several: dict[str, list[str]] = {}
        for (name, sequence), checksums in seen.items():
            if len(checksums) > 1:
                several.setdefault(name, []).append(sequence)
        return [
            f"{name} was not the same in all executions of {', '.join(sequences)}: they are of "
            "several builds (see Libraries)."
            for name, sequences in several.items()
        ] + [
            f"Executions of {sequence} had several RTIs: {', then '.join(named)}."
            for sequence, named in versions.items()
            if len(named) > 1
        ]

    def note(self, notes: list[str]) -> None:
        """Adds what a reader must know; each once."""
        self.run["notes"] = list(dict.fromkeys([*self.run["notes"], *notes]))

    def record(self, sequence: str, execution: str) -> dict | None:
        """What run.json says of an execution; None: it has not begun."""
        if len(self._records) != len(self.run["executions"]):
            for e in self.run["executions"]:
                self._records.setdefault((e["sequence"], e["execution"]), e)
        return self._records.get((sequence, execution))

    def begin(self, sequence: str, execution: str, **more: object) -> dict:
        """The record of an execution, made or taken up again."""
        record = self.record(sequence, execution)
        if record is None:
            record = {"sequence": sequence, "execution": execution, "rti": "", "problems": {}}
            self.run["executions"].append(record)
        record |= {"state": "running", "message": "", **more}
        record |= recorded.sealed(record)
        self.save_run()
        return record

    def done(self, sequence: str, execution: str) -> set[int]:
        """Numbers of the tests all of whose samples are there for every pair, or that ended early
        for a reason that was told."""
        record = self.record(sequence, execution)
        if record is None:
            return set()
        have = self._of_rows(self._there).get((sequence, execution), {})
        found = {int(number) for number in record["problems"]}
        for number, test in record["tests"].items():
            if len(have.get(int(number), ())) >= _wanted(record, test):
                found.add(int(number))
        return found

    def _of_rows(self, make: Callable[[], dict]) -> dict:
        """What `make` finds in all rows, found again where there are more."""
        count, found = self._made.get(make.__name__, (-1, {}))
        if count != len(self.rows):
            found = make()
            self._made[make.__name__] = len(self.rows), found
        return found

    def _there(self) -> dict[tuple[str, str], dict[int, set[tuple[int, int]]]]:
        """By execution pair and sample of each test's rows; one that is there twice counts once."""
        found: dict[tuple[str, str], dict[int, set[tuple[int, int]]]] = {}
        for r in self.rows:
            of = found.setdefault((r["sequence"], r["execution"]), {})
            of.setdefault(r["test"], set()).add((r["pair"], r["sample"]))
        return found

    def came(self, sequence: str, execution: str, test: int) -> tuple[int, int]:
        """How many samples of a test are there, of how many."""
        record = self.record(sequence, execution)
        there = self._of_rows(self._there).get((sequence, execution), {}).get(test, ())
        return len(there), _wanted(record, record["tests"][str(test)])

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
        """Keeps one sample, at once also on disk; BenchError if it can't be one, or is there."""
        row = self.study.row(self, sequence, execution, event)
        title = f"sample {row['sample']!r:.20} of test {row['test']!r:.20}"
        if why := results.fault(row, self.study):
            raise BenchError("STL-RUN-007", f"the master sent a strange {title}: {why}")
        record = self.record(sequence, execution)
        test = record["tests"].get(str(row["test"]))
        pairs = (test.get("pairs") or record["pairs"]) if test else 0
        if not (test and 1 <= row["sample"] <= test["samples"] and 1 <= row["pair"] <= pairs):
            what = f"the master sent {title}, pair {row['pair']}, which it was not asked for"
            raise BenchError("STL-RUN-007", what)
        key = (sequence, execution, row["test"], row["pair"], row["sample"])
        if key in self._told:
            what = f"the master sent {title}, pair {row['pair']}, twice"
            raise BenchError("STL-RUN-007", what)
        try:
            results.check(row, {(sequence, execution): record}, self.study)
        except ValueError as e:
            what, do = f"the master sent a strange {title}: {e}", "read the logs of its federates"
            raise BenchError("STL-RUN-007", what, do=do) from None
        kept = self.keep(row)
        self._told.add(key)
        return kept

    def attend(self, cpu_s: float) -> None:
        """Notes what a sample took of this process's CPU time."""
        so_far = self.run.setdefault("manager", {"samples": 0, "cpu_s": 0.0, "most_s": 0.0})
        so_far["samples"] += 1
        so_far["cpu_s"] += cpu_s
        so_far["most_s"] = max(so_far["most_s"], cpu_s)

    def keep(self, found: dict) -> dict:
        """Keeps a row, at once also on disk."""
        row = {c: found[c] for c in self.study.columns.names}
        path = self.directory / self.study.table
        try:
            if os.fstat(self._csv.fileno()).st_nlink == 0:
                raise BenchError(
                    "STL-OUT-009", "the table of results was removed while the run wrote it",
                    str(path), "leave it there; `resume` measures anew what it held",
                )  # fmt: skip
            self._writer.writerow(row)
            self._csv.flush()
        except OSError as e:
            raise cannot("write results", e, path) from None
        self.rows.append(row)
        return row

    def _pools(self) -> dict[tuple[str, str], str]:
        """The name in summaries of each sequence's executions that are rounds of one."""
        if not self.study.pools_rounds:
            return {}
        return {
            (e["sequence"], e["execution"]): e["round_of"]
            for e in self.run["executions"]
            if e.get("round_of")
        }

    def samples(self) -> list[dict]:
        """The rows as they count in summaries: those of rounds under the name of what they are
        rounds of, with their own as `round`."""
        pools = self._pools()
        return [
            row | {"execution": pools[at], "round": row["execution"]}
            if (at := (row["sequence"], row["execution"])) in pools
            else row
            for row in self.rows
        ]

    def with_settings(self) -> list[dict]:
        """The rows, each with the fields of its test as it was written."""
        tests = {
            (e["sequence"], e["execution"], int(number)): test
            for e in self.run["executions"]
            for number, test in e["tests"].items()
        }
        at = ("sequence", "execution", "test")
        return [r | {"setting": tests.get(tuple(r[key] for key in at), {})} for r in self.rows]

    def summaries(self) -> list[dict]:
        """One summary per execution (its rounds are one), test and pair, in order of arrival."""
        groups: dict[tuple, list[dict]] = {}
        for row in self.samples():
            key = (row["sequence"], row["execution"], row["test"], row["pair"])
            groups.setdefault(key, []).append(row)
        found = []
        for (sequence, execution, test, pair), rows in groups.items():
            names = dict.fromkeys(row.get("round", execution) for row in rows)
            records = [self.record(sequence, name) or {"rti": "", "tests": {}} for name in names]
            record = records[0]
            setting = record["tests"].get(str(test), {})
            count, summary = self._known.get((sequence, execution, test, pair), (0, {}))
            if count != len(rows):
                summary = self.study.summarize(self, rows, setting)
                self._known[sequence, execution, test, pair] = len(rows), summary
            more = {
                key: record.get(key, "")
                for key in ("rti", "adapter", "cpus", "bundling", "hosts", "sequence_of")
            }
            more["pairs"] = setting.get("pairs") or record.get("pairs", 1)
            more["setting"] = setting
            more["busy"] = sum(map(idle.busy, rows))
            more["unjudged"] = self._of_rows(self._perhaps)[sequence, execution, test, pair]
            more |= summarized.way(records, str(test), summary)
            over = all(record.get("state") != "running" for record in records)
            found.append(summary | more | self.study.afterwards(self, summary, over))
        return found

    def round_trips(self, of: dict) -> list[np.ndarray]:
        """Round trips of a test and pair, as its summary or one of its `samples` names it, in
        nanoseconds: an array per sample that was completed."""
        key = (of["sequence"], of["execution"], of["test"], of["pair"])
        trips = []
        for execution, completed in self._of_rows(self._completed).get(key, {}).items():
            at = (key[0], execution, *key[2:])
            try:
                found = self.raw(*at)
                path = self.raw_path(*at)
                trips += [raw.check(found[s], s, path) for s in sorted(completed) if s in found]
            except BenchError as e:
                if e.code not in _NOT_WHOLE:
                    raise
                self._leave_out(at, e, *sorted(completed))
        return trips

    def _leave_out(self, at: tuple, why: BenchError, *samples: int) -> None:
        where = f"{at[0]}/{at[1]}, test {at[2]}, pair {at[3]}"
        text = why.what
        if why.code == DAMAGED:
            text += f" ({Path(why.where).name}); `{self.study.manager} resume` measures it anew"
        known = self._left_out.setdefault((where, text), [])
        known += [sample for sample in samples if sample not in known]

    def _tests(self) -> Iterator[tuple[str, str, int, int]]:
        """Of each row its test and pair, as summaries name them."""
        pools = self._pools()
        for r in self.rows:
            pool = pools.get((r["sequence"], r["execution"]), r["execution"])
            yield r["sequence"], pool, r["test"], r["pair"]

    def _completed(self) -> dict[tuple, dict[str, list[int]]]:
        """The samples of each test and pair, by execution."""
        found: dict[tuple, dict[str, list[int]]] = {}
        for key, row in zip(self._tests(), self.rows, strict=True):
            found.setdefault(key, {}).setdefault(row["execution"], []).append(row["sample"])
        return found

    def _perhaps(self) -> Counter:
        """How many samples of each test and pair were over too soon to tell what others did, while
        the last or the next that can tell was disturbed."""
        found: Counter = Counter()
        around = idle.around([row.get("others_cpu") for row in self.rows])
        for key, perhaps in zip(self._tests(), around, strict=True):
            found[key] += perhaps
        return found

    def raw_path(self, sequence: str, execution: str, test: int, pair: int) -> Path:
        """Where the federates save them."""
        return raw.path_of(self.directory / sequence / execution, test, pair)

    def raw(self, sequence: str, execution: str, test: int, pair: int) -> dict[int, np.ndarray]:
        """Round trips in nanoseconds by sample, also of samples that were not completed."""
        return raw.read(self.raw_path(sequence, execution, test, pair))

    def fresh(self, sequence: str, execution: str, event: dict) -> dict[int, np.ndarray]:
        """The round trips of a sample that was just taken: those of all before it are not read."""
        pair, sample = event["pair"], event["sample"]
        path = self.raw_path(sequence, execution, event["test"], pair)
        known, tail = self._tails.get(pair, (None, None))
        if known != path:
            tail = raw.Tail(path)
            self._tails[pair] = path, tail
        mine = tail.take(sample)
        # It was begun anew, or is packed.
        return raw.read(path) if mine is None else {sample: mine}

    def trips(self, row: dict, found: dict[int, np.ndarray]) -> np.ndarray:
        """Those of one sample, of what was found of its test; BenchError if one is
        missing that was not counted as such."""
        mine = found.get(row["sample"], np.empty(0))
        path = self.raw_path(row["sequence"], row["execution"], row["test"], row["pair"])
        if len(mine) + (row.get("unrecorded") or 0) != row["received"]:
            raise BenchError(
                "STL-RUN-009",
                f"sample {row['sample']} of test {row['test']} has {row['received']} "
                f"round trips, but {len(mine)} are saved",
                str(path), "read the federates' logs there",
            )  # fmt: skip
        return raw.check(mine, row["sample"], path)

    def pack(self) -> None:
        """Round trips that a dead manager left as they were written become tables; where nothing
        can be written they stay."""
        for e in self.run["executions"]:
            with contextlib.suppress(BenchError):
                raw.pack(self.directory / e["sequence"] / e["execution"])

    def recompute(self) -> None:
        """Makes the rows' figures anew from raw values, whatever the table says of them."""
        kept, first, whole = [], None, False
        for row, made in self._made_anew():
            if isinstance(made, BenchError):
                first = first or made
                self._leave_out(_at(row), made, row["sample"])
                continue
            whole = whole or any(value is not None for value in made.values())
            row |= made
            kept.append(row)
        if first and not whole:
            raise first  # nothing is there of any
        self.rows = kept
        self._made.clear()
        self._known.clear()

    def drop_damaged(self) -> list[str]:
        """Rows whose raw values are there, but damaged or not all, are none: their tests are not
        done. What is measured anew, as notes."""
        kept, notes = [], {}
        for row, made in self._made_anew():
            if not isinstance(made, BenchError) or not _to_measure(made):
                kept.append(row)
                continue
            sequence, execution, test, _ = _at(row)
            self.record(sequence, execution)["problems"].pop(str(test), None)
            why = f"{Path(made.where).name} was damaged" if made.code == DAMAGED else made.what
            notes[f"{sequence}/{execution}, test {test} was measured anew: {why}."] = 0
        self.rows = kept
        self._made.clear()
        return list(notes)

    def _made_anew(self) -> Iterator[tuple[dict, dict | BenchError]]:
        """Each row, with its figures as raw values make them, or why they make none."""
        of: tuple = ()
        found: dict[int, dict[int, np.ndarray]] = {}  # by pair, whose rows take turns
        for row in self.rows:
            here = _at(row)
            if here[:3] != of:
                of, found = here[:3], {}
            made: dict | BenchError
            try:
                if here[3] not in found:
                    found[here[3]] = self.raw(*here)
                made = self.study.figures(self, row, found[here[3]])
            except BenchError as e:
                if e.code not in _NOT_WHOLE:
                    raise
                made = e
            yield row, made

    # ---- files

    def write(self, name: str, text: str) -> None:
        """A file of the run: the old one stays until the new one is whole."""
        path = self.directory / name
        temporary = path.with_name(path.name + ".tmp")
        try:
            with fresh_file(temporary) as file:
                file.write(text)
            temporary.replace(path)
        except OSError as e:
            raise cannot("write results", e, path) from None

    def save_run(self) -> None:
        self.write("run.json", write_json(self.run, indent=1) + "\n")

    def renew(self) -> None:
        """Writes what is known while a run goes on; of so many tests that this takes long, so often
        that it takes a tenth of the time."""
        begin = time.monotonic()
        if begin < self._renew_s:
            return
        summaries = self._save()
        if self.reports:
            try:
                self.study.make(self, summaries, over=False)
            except BenchError as e:
                if e.code != NO_REPORT:
                    raise
                self.reports = False  # it is told at the end
        end = time.monotonic()
        first, self._renew_s = self._renew_s == -math.inf, end
        if end - begin > _LONG_S and not first:  # which loads libraries
            self._renew_s = end + 9 * (end - begin)

    def save(self) -> list[dict]:
        """Writes run.json and the summaries; returns these."""
        if self._csv:  # who only renews a report did not end the run
            self.run["ended"] = datetime.now(UTC).isoformat(timespec="seconds")
        return self._save()

    def _save(self) -> list[dict]:
        summaries = self.summaries()
        self.save_run()
        self.write("summary.json", summarized.lines(summaries))
        flat = [summarized.flat(s) for s in summaries]
        out = io.StringIO(newline="")
        writer = csv.DictWriter(out, list(dict.fromkeys(key for row in flat for key in row)))
        writer.writeheader()
        writer.writerows(flat)
        self.write("summary.csv", out.getvalue())
        return summaries


def _at(row: dict) -> tuple[str, str, int, int]:
    return row["sequence"], row["execution"], row["test"], row["pair"]


def _to_measure(why: BenchError) -> bool:
    """Not what somebody removed."""
    return why.code == DAMAGED or (why.code in _NOT_WHOLE and Path(why.where).is_file())


def _wanted(record: dict, test: dict) -> int:
    """How many samples a test has, of all its pairs."""
    return test["samples"] * (test.get("pairs") or record["pairs"])


def must_be_empty(directory: Path) -> None:
    """BenchError if a directory holds anything: results are never overwritten."""
    if not any(path.name != identity.CLAIM for path in directory.iterdir()):
        return
    begun = (directory / "run.json").exists()
    raise BenchError(
        "STL-OUT-002", "there are results already" if begun else "the directory is not empty",
        str(directory), "give another --out, or --resume to go on with that run", USAGE,
    )  # fmt: skip

"""Follows a federation execution that was started: what its master says, how its processes fare, on
this host and on others.
"""

import asyncio
import contextlib
import dataclasses
import hashlib
import math
import os
import time
from collections.abc import Callable
from pathlib import Path

from ..errors import FAILED, UNREACHABLE, BenchError
from ..kept.store import Store
from ..machines import idle, network, ssh
from ..machines.hosts import FOREGROUND, GRACE_S, SERVER, SERVICES, Launcher, Running
from ..machines.rti import Prepared, check_loaded, check_told, is_an_adapters, is_an_rtis
from ..machines.rti_status import UNASKED, RtiStatus
from ..outside import line_of, open_file
from ..tsf.sequences import Execution, Sequence
from .pipe import ControlPipe

Progress = Callable[[dict], None]
# What starting and ending processes may take beyond the time-outs of the TSF.
SLACK_S = 20.0
_READ = "read the logs of its federates, then `resume` the run"
_TEXT_MAX = 1000
# Until the first test begins, a master waits for others at most so often: to join, to be there, to
# have learnt of the tests, to begin.
_STAGES = 4


def _why(e: Exception) -> str:
    return getattr(e, "what", "") or getattr(e, "strerror", "") or str(e) or type(e).__name__


# Of libraries that a federate has loaded.
_LIBRARIES_MAX, _LIBRARY_BYTES_MAX = 1000, 1 << 30


def named(libraries: object) -> list[str]:
    """Files of libraries as a federate names them; ValueError if they are no list of names."""
    if not isinstance(libraries, list) or len(libraries) > _LIBRARIES_MAX:
        raise ValueError(f"libraries are no list of at most {_LIBRARIES_MAX}")
    return [line_of(name) for name in libraries]


def checksums(libraries: list[str]) -> dict[str, str]:
    """SHA-256 of files, by their names; of those on another host, which were copied there, none."""
    found = {}
    for path in map(Path, libraries):
        with contextlib.suppress(OSError), open_file(path) as file:
            # What the system makes as it is read has no size, and may have no end.
            if 0 < os.fstat(file.fileno()).st_size <= _LIBRARY_BYTES_MAX:
                found[path.resolve().name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


class Master:
    """What the master said, and when."""

    def __init__(
        self, store: Store, sequence: Sequence, execution: Execution, progress: Progress,
        record: dict, cpus: frozenset[int] = frozenset(),
    ) -> None:  # fmt: skip
        self._store, self._sequence, self._execution = store, sequence, execution
        self._progress, self._record = progress, record
        self._cpus = idle.Watch(cpus=cpus)
        self.at = "before the first test"
        self.conducts = False
        self.heard_s = time.monotonic()
        self._first_s = math.inf  # when it was first heard
        self.problem: BenchError | None = None
        self.has_problem = asyncio.Event()
        self.away = False  # it runs on another host
        self.test = 0
        # What is done between samples; asked for with what the RTI has counted, that is noted.
        self.between: Callable[[bool], None] = lambda counts: None
        # What the RTI's own processes hold in memory; 0: nothing is known.
        self.memory_kb: Callable[[], int] = lambda: 0
        self._replaced: list[dict[str, int]] = []  # by federate, the last two times
        self._held: list[dict] = []
        self._went_on_s: float | None = None  # this process's CPU time when a sample began
        self._taken = 0  # samples of this test
        self._shared: tuple[tuple, float | None] = ((), None)  # others' share, of which sample
        self._said: BenchError | None = None  # what it called an error
        # What can't be of a sample of a test with this setting, in words.
        self.strange: Callable[[dict, dict], str] = lambda setting, sample: ""
        # Of federates on this host, and the RTI's install tree here and where each federate is.
        self.loaded: Callable[[], list[str]] = list
        self.root: Path | None = None
        self.roots: dict[str, Path | None] = {}
        self.files: list[str] = []  # of this host, which federates were started with

    def hear(self, event: dict) -> None:
        """Keeps an event of the message pipe; a problem with that is kept for `check`."""
        self.heard_s = time.monotonic()
        self._first_s = min(self._first_s, self.heard_s)
        if event["event"] == "sample" and self._went_on_s is not None:
            self._store.attend(time.process_time() - self._went_on_s)
            self._went_on_s = None
        try:
            if event["event"] == "joined":
                self._joined(event)
            elif event["event"] == "libraries":
                self._told(line_of(event["federate"]), named(event["libraries"]))
            elif event["event"] == "test":
                self.conducts = True
                self.test, self._taken = self._number(event), 0
                self._look_at_memory(first=True)
                self.goes_on()
                self.at = f"during test {self.test} of {len(self._record.get('tests', ()))}"
                self._cpus.others()
            elif event["event"] == "broken":
                self.fails(BenchError("STL-RUN-007", line_of(event["message"]), self.at, _READ))
            elif event["event"] == "error":
                what = f"the master said: {line_of(event['message'])}"
                self._said = self._said or BenchError("STL-RUN-007", what, self.at, _READ)
            elif event["event"] == "sample" and self.problem:
                return  # it came while that is told: nothing of it is kept
            elif event["event"] == "sample" and self.away:
                self._held.append(event)
                return
            elif event["event"] == "sample":
                event = self._keep(event | {"others_cpu": self._share(event)})
            elif event["event"] == "problem":
                self._record["problems"][str(self._number(event))] = line_of(event["message"])
                self._store.save_run()
            elif event["event"] == "between":
                self._look_at_memory()
                self.between(event.get("counts") is True)
            self._progress(event)
        except BenchError as e:
            self.fails(e)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as e:
            what = f"the master sent a strange line: {e!r} in {str(event)[:200]!r}"
            self.fails(BenchError("STL-RUN-007", what, self.at, _READ))

    def _look_at_memory(self, first: bool = False) -> None:
        """Before a test, and after each of its samples: the first and the last are kept."""
        if kb := self.memory_kb():
            of = self._record.setdefault("rti_kb", {})
            test = str(self.test)
            of[test] = [kb if first else of.get(test, [kb])[0], kb]

    def _joined(self, event: dict) -> None:
        clock = event.get("clock", {})
        if not isinstance(clock, dict) or not all(
            isinstance(v, int | float) for v in clock.values()
        ):
            raise ValueError("its clock is no table of numbers")
        was, rti = self._record.get("rti", ""), line_of(event.get("rti", ""))[:_TEXT_MAX]
        self._record["rti"], self._record["clock"] = rti, clock
        told = named(event.get("libraries", []))
        # Of programs that say nothing of themselves there is what the system knows.
        loaded = self.loaded()
        libraries = told or [p for p in loaded if is_an_rtis(p) or is_an_adapters(p)]
        before = self._record.get("libraries", {})
        now = self._record["libraries"] = checksums([*libraries, *self.files])
        # A file's name may have its version, so that a new one is another.
        other = sorted(
            name for name in before | now if before and before.get(name) != now.get(name)
        )
        where = self.execution
        if other:
            what = f"{where}: {', '.join(other)} changed between its tests, as it was resumed"
            self.note(f"{what}: they are of two builds.")
        if was not in ("", rti):
            what = f"{where}: until it was resumed its RTI was {was}; tables call all its tests"
            self.note(f"{what} {rti}'s.")
        self._told(self._sequence.master, told)
        if self.root:
            check_loaded(filter(is_an_rtis, loaded), self.root, self._place())

    def _place(self) -> str:
        return self._sequence.rti.place("root") or f"sequence '{self._sequence.name}'"

    def _told(self, federate: str, libraries: list[str]) -> None:
        """What a federate has loaded, wherever it runs."""
        if federate not in self.roots:
            raise ValueError("there is no such federate")
        check_told(libraries, self.roots[federate], federate, self._place())

    def _number(self, event: dict) -> int:
        """The test that an event is of; ValueError if there is none of that number."""
        number = event["test"]
        if type(number) is not int or str(number) not in self._record["tests"]:
            raise ValueError("there is no such test")
        return number

    def _keep(self, event: dict) -> dict:
        title = f"sample {event.get('sample')!r:.20} of test {event.get('test')!r:.20}"
        if why := self.strange(self._record["tests"].get(str(event.get("test")), {}), event):
            raise BenchError("STL-RUN-007", f"the master sent a strange {title}: {why}", do=_READ)
        if len(self._replaced) == 2:
            before, after = (found.get(event.get("receiver")) for found in self._replaced)
            known = before is not None and after is not None
            event = event | {"replaced": after - before if known else None}
        row = self._store.add(self._sequence.name, self._execution.name, event)
        self._taken += 1
        return row | {"event": "sample"}

    def _share(self, event: dict) -> float | None:
        """Others' share of the CPUs during a sample: the same for all its pairs."""
        sample = (event.get("test"), event.get("sample"))
        if self._shared[0] != sample:
            self._shared = sample, self._cpus.others()
        return self._shared[1]

    def counted(self, replaced: dict[str, int]) -> None:
        """What the RTI has counted; between the last two times lies a sample."""
        self._replaced = [*self._replaced[-1:], replaced]

    def goes_on(self) -> None:
        """The next sample is about to begin."""
        self._went_on_s = time.process_time()

    def renew(self) -> None:
        """Once a test is done, what is known so far is there to be read."""
        test = self._record["tests"].get(str(self.test), {})
        pairs = test.get("pairs") or self._record["pairs"]
        if self._taken == test.get("samples", 0) * pairs:
            self._store.renew()

    def release(self) -> None:
        """Keeps the samples whose values have come home."""
        held, self._held = self._held, []
        for event in held:
            # What others do there meanwhile is not asked for.
            self._progress(self._keep(event | {"others_cpu": None}))

    @property
    def execution(self) -> str:
        """Which it conducts."""
        return f"{self._sequence.name}/{self._execution.name}"

    def note(self, text: str) -> None:
        """Something that a reader must know."""
        self._store.note([text])

    def fails(self, error: BenchError) -> None:
        """Nothing can go on because of this."""
        self.problem = self.problem or error
        self.has_problem.set()

    def lost(self, error: BenchError) -> None:
        """A connection was lost."""
        self.fails(BenchError(error.code, f"{error.what} {self.at}", error.where, error.do))

    def check(self) -> None:
        if self.problem:
            raise self.problem

    def has_done_all(self) -> None:
        """Once it has ended well; BenchError if it said something else, or not everything."""
        self.check()
        if self._said:
            raise self._said
        sequence, execution = self._sequence.name, self._execution.name
        if missing := set(map(int, self._record["tests"])) - self._store.done(sequence, execution):
            first = min(missing)
            came, of = self._store.came(sequence, execution, first)
            others = f", and of {len(missing) - 1} more tests not all" if len(missing) > 1 else ""
            raise BenchError(
                "STL-RUN-015",
                f"the master ended as if all were done, but of test {first} "
                f"{came} of {of} samples came{others}",
                f"{sequence}/{execution}", _READ,
            )  # fmt: skip

    def patience_s(self) -> float:
        """How long the master may be silent. It and the other federates bound their own waits
        more tightly, so that who fails says why; this is for those who can't."""
        own_s = 3 * self._sequence.data_timeout_s
        return (own_s if self.conducts else self._sequence.join_timeout_s) + SLACK_S

    def until_s(self) -> float:
        """Until then it is not silent for too long, also if it begins to conduct, and has not lived
        for too long without that."""
        began_s = 3 * self._sequence.data_timeout_s + SLACK_S
        return min(self.heard_s + min(self.patience_s(), began_s), self.begins_by_s())

    def begin_s(self) -> float:
        """How long it may say that it lives before it begins a test."""
        return _STAGES * self._sequence.join_timeout_s + SLACK_S

    def begins_by_s(self) -> float:
        """Until then it has begun one, or it never will."""
        return math.inf if self.conducts else self._first_s + self.begin_s()


class There:
    """What is between this manager and the federates of one execution: its control pipe, the hosts
    that ssh reaches (none where all run on this machine), and what is done between samples."""

    def __init__(
        self, sites: dict[str, network.Place], parts: ssh.Parts, directory: Path,
        master: "Master", pipe: ControlPipe,
    ) -> None:  # fmt: skip
        self._sites = [place.site for place in sites.values() if place.site]
        self._parts, self._directory = parts, directory
        self.master, self.control = master, pipe
        master.away, master.between = bool(self._sites), self._between
        for site in self._sites:
            site.keeper.on_loss = master.lost
        self._going: set[asyncio.Task] = set()
        self._rti: RtiStatus | None = None
        self._ways: dict[str, list[dict]] = {}

    def words(self, words: list[str], site: ssh.Site | None) -> list[str]:
        """Words of a command, with the paths that they have there."""
        return [site.there(w, self._parts) for w in words] if site else words

    def moved(self, prepared: Prepared, site: ssh.Site | None) -> Prepared:
        """An RTI as it is there, where this machine's environment does not count."""
        if not site:
            return prepared
        own = {k: v for k, v in prepared.env.items() if os.environ.get(k) != v}
        return dataclasses.replace(
            prepared,
            env=dict(zip(own, self.words(list(own.values()), site), strict=True)),
            status=self.words(prepared.status, site),
            server=self.words(prepared.server, site),
            local_settings=self.words([prepared.local_settings], site)[0],
        )

    async def pipe(self, site: ssh.Site | None) -> str:
        """The control pipe's address there."""
        return await site.pipe(self.control.path) if site else self.control.address

    async def bring_home(self) -> None:
        """Everything that was written there."""
        for site in self._sites:
            await site.bring_home(self._directory)

    def asks(self, rti: RtiStatus, record: dict) -> None:
        """Between samples, once in each test, the RTI is asked by what ways data go; `record` keeps
        them."""
        self._rti, self._ways = rti, record["ways"]
        self.master.memory_kb = rti.memory_kb

    async def _ask(self, counts: bool) -> None:
        test = str(self.master.test)
        if not self._rti or not self._rti.there or (test in self._ways and not counts):
            return
        try:
            ways = await self._rti.ways()
        except UNASKED as e:
            ways = []
            self.master.note(f"by what ways data went could not be asked: {_why(e)}")
        if ways or test not in self._ways:
            self._ways[test] = ways
        if not counts:
            return
        try:
            self.master.counted(await self._rti.replaced())
        except UNASKED as e:
            what = f"how many of the values the RTI has replaced could not be asked: {_why(e)}"
            raise BenchError("STL-RUN-007", what, self.master.at, _READ) from None

    async def bring_rest(self) -> None:
        """What of it can be had soon: something has failed, and that is told."""
        with contextlib.suppress(BenchError, TimeoutError):
            await asyncio.wait_for(self.bring_home(), GRACE_S)

    def _between(self, counts: bool) -> None:
        """Between two samples: the master waits until it is told."""

        async def fetch() -> None:
            try:
                await self.bring_home()
                self.master.release()
                await self._ask(counts)
                self.master.renew()
            except BenchError as e:
                self.master.fails(e)
            except Exception as e:  # nobody else would hear of it
                what = f"what came home of a sample can't be kept: {e!r}"
                self.master.fails(BenchError("STL-RUN-007", what))
            finally:
                self.control.say(event="on")
                self.master.goes_on()

        task = asyncio.ensure_future(fetch())
        self._going.add(task)
        task.add_done_callback(self._going.discard)


async def end(launcher: Launcher, there: There, hurry: bool) -> list[str]:
    """Ends all; who had to be ended."""
    ended = await launcher.end_all(hurry=hurry)
    if launcher.left:
        there.master.note(
            f"{there.master.execution}: {', '.join(launcher.left)} could not be ended: what that "
            "uses of the CPUs from then on disturbs as other programs do."
        )
    await there.bring_rest()
    return ended


async def follow(sequence: Sequence, launcher: Launcher, there: There) -> None:
    """Until every federate has ended well; BenchError as soon as one has not."""
    master = there.master
    federates = [r for r in launcher.running if r.name not in SERVICES]
    problem = asyncio.ensure_future(master.has_problem.wait())
    ends = {asyncio.ensure_future(r.process.wait()) for r in launcher.running}
    left: set[str] = set()
    try:
        while True:
            going = {problem, *(e for e in ends if not e.done())}
            # At the earliest when the master may have been silent for too long.
            left_s = max(master.until_s() - time.monotonic(), 0)
            await asyncio.wait(going, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            master.check()
            for r in federates:
                if r.returncode == 0 and r.name not in left:
                    left.add(r.name)
                    there.control.say(event="left", federate=r.name)
            for r in launcher.running:
                if r.returncode is not None and (r.name in SERVICES or r.returncode != 0):
                    if death := await _death(r, launcher, there):
                        raise death
                    return
            if all(r.returncode == 0 for r in federates):
                return
            if time.monotonic() >= master.heard_s + master.patience_s():
                raise await _silence(sequence, launcher, master)
            if time.monotonic() >= master.begins_by_s():
                raise _idles(sequence, launcher, master)
    finally:
        for waiting in (problem, *ends):
            waiting.cancel()


async def _death(first: Running, launcher: Launcher, there: There) -> BenchError | None:
    """The message for a federate that ended badly, or what serves them; none if that ended well,
    and they with it: an RTI's server may end when the last of them has left."""
    # A federate that fails makes others fail. Whoever was killed or stopped, or said why first, is
    # named: processes that are about to end get the chance to do so.
    others = {
        asyncio.ensure_future(r.process.wait()) for r in launcher.running if r.name not in SERVICES
    }
    patience = 0.5 if (first.returncode or 0) < 0 else GRACE_S
    await asyncio.wait(others, timeout=patience)
    for waiting in others:
        waiting.cancel()
    there.master.check()  # a lost connection is no death
    every = [first, *(r for r in launcher.running if r.name not in SERVICES)]
    if all(r.returncode == 0 for r in every):
        return None
    await there.bring_rest()
    at = there.master.at
    dead = [r for r in launcher.running if r.returncode not in (None, 0)]
    culprit = next((r for r in dead if (r.returncode or 0) < 0), first)
    what = f"{culprit.title} {culprit.fate()} {at}"
    do = ""
    # Who was killed could not say why.
    if (culprit.returncode or 0) > 0:
        if stopped := await launcher.stopped():
            what = f"{stopped} {at}; {what}"
        words, do = culprit.last_words()
        if words:
            what += f": {words}"
    if culprit.returncode == 0 and culprit.name == SERVER:
        do = FOREGROUND
    code = UNREACHABLE if culprit.returncode == UNREACHABLE else FAILED
    return BenchError("STL-RUN-003", what, str(culprit.log), do or "read that log", code)


async def _silence(sequence: Sequence, launcher: Launcher, master: Master) -> BenchError:
    """The message when nothing happens any more and nobody said why."""
    alive = [r for r in launcher.running if r.returncode is None and r.name not in SERVICES]
    named = next((r for r in alive if r.name == sequence.master), alive[0])
    silent = f"nothing was heard of {named.title} for {master.patience_s():.0f} s"
    stopped = await launcher.stopped()
    what = f"{stopped} {master.at}; {silent}" if stopped else f"{silent} {master.at}"
    return BenchError("STL-RUN-006", what, str(named.log), "read that log", FAILED)


def _idles(sequence: Sequence, launcher: Launcher, master: Master) -> BenchError:
    """The message when the master says that it lives, and nothing else."""
    named = next(r for r in launcher.running if r.name == sequence.master)
    what = f"{named.title} lives, but has begun no test for {master.begin_s():.0f} s"
    do = "read that log: for what does it wait? Where joining takes long, raise join_timeout_s"
    return BenchError("STL-RUN-006", what, str(named.log), do)


async def until_ready(server: Running, rti: Prepared, timeout_s: float, there: There) -> None:
    """Until the server's log holds its sign and its port is its own; that is never assumed, as
    another RTI may hold the port and answer there."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    port = rti.server_port

    async def lacking() -> str:
        """What of that is not so yet."""
        await there.bring_home()
        if rti.server_ready and not server.has_said(rti.server_ready.encode()):
            return f"its log does not say {rti.server_ready!r}"
        if port is not None and not await server.listens(port):
            return f"it does not listen at port {port}"
        return ""

    while lacks := await lacking():
        if server.returncode is not None or loop.time() > deadline:
            words, do = server.last_words()
            if server.returncode is not None:
                what = server.fate() + (f": {words}" if words else "")
            else:
                what = f"did not get ready within {timeout_s:g} s (join_timeout_s): {lacks}"
                what += f"; it said last: {words}" if words else "; it has said nothing"
            # What it says itself of its end is in its log.
            in_use = f"is port {port} in use by another process?" if port else ""
            do = do or {None: in_use, 0: FOREGROUND}.get(server.returncode) or "read that log"
            raise BenchError("STL-RTI-004", f"the RTI's server {what}", str(server.log), do)
        await asyncio.sleep(0.05)

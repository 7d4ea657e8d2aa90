"""Conducts one federation execution: starts the federates, follows the master, cleans up."""

import asyncio
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

from . import idle
from .adapters import Adapter, Prepared
from .errors import FAILED, UNREACHABLE, USAGE, BenchError, cannot
from .identity import Run
from .launcher import GRACE_S, Launcher, Running, listens, require_local
from .pipe import ControlPipe
from .store import Store
from .tsf import CLASSES_PER_TRANSPORT, Execution, Federate, Sequence, Test

Progress = Callable[[dict], None]
SERVER = "rti-server"
# What starting and ending processes may take beyond the time-outs of the TSF.
SLACK_S = 20.0


_CONTROL = (
    *(f"masterFederate.{name}" for name in ("testDirective", "testDescription", "endFedex")),
    *(f"subordinateFederate.{name}" for name in ("testState", "testResults")),
)


def _classes(element: ElementTree.Element, above: str) -> Iterator[str]:
    """Full names of the classes of a FOM module, without the root's."""
    for child in element:
        kind = child.tag.rpartition("}")[2]
        if kind not in ("objectClass", "interactionClass"):
            yield from _classes(child, above)
            continue
        name = next((c.text or "" for c in child if c.tag.rpartition("}")[2] == "name"), "")
        path = "" if name in ("HLAobjectRoot", "HLAinteractionRoot") else f"{above}{name.strip()}"
        if path:
            yield path
        yield from _classes(child, f"{path}." if path else "")


def _needed(sequence: Sequence) -> list[str]:
    """The classes of the FOM that a sequence's tests use."""
    needed = dict.fromkeys(_CONTROL)
    for spec in (spec for e in sequence.execution for spec in e.test):
        lists = spec.lists()
        last = len(sequence.pair) * max(lists["types"])
        for kind in lists["kind"]:
            tree = "Obj" if kind in ("OWOT", "RTOL") else "Int"
            for transport in lists["transport"]:
                first = 0 if transport == "reliable" else CLASSES_PER_TRANSPORT
                for number in range(first + 1, first + last + 1):
                    needed[f"send{tree}.S{number}"] = None
                    if kind.startswith("RT"):
                        needed[f"return{tree}.R{number}"] = None
    return list(needed)


class Conductor:
    """What stays the same during a run of bmmanager."""

    def __init__(self, base: Path, bmfed: str | None, root: Path | None, run: Run) -> None:
        self.run = run
        self.base = base  # relative paths of the TSF start here
        self.bmfed = bmfed
        self.root = root

    def fom(self, sequence: Sequence) -> Path:
        """The FOM's path; BenchError if there is none."""
        path = self.base / sequence.fom
        title = f"the FOM of sequence '{sequence.name}'"
        if not path.is_file():
            raise BenchError(
                "STL-FOM-001", f"{title} is missing", str(path), "correct the field 'fom'", USAGE
            )
        try:
            root = ElementTree.parse(path).getroot()
        except OSError as e:
            raise BenchError(
                "STL-FOM-001", f"{title} can't be read: {e.strerror}", str(path), exit_code=USAGE
            ) from None
        except ElementTree.ParseError as e:
            raise BenchError(
                "STL-FOM-002",
                f"{title} is not XML: {expat.ErrorString(e.code)}",
                f"{path}:{e.position[0]}",
                "correct the file, or the field 'fom'",
                USAGE,
            ) from None
        classes = set(_classes(root, ""))
        if missing := [c for c in _needed(sequence) if c not in classes]:
            raise BenchError(
                "STL-FOM-003",
                f"{title} lacks the class {missing[0]}"
                + (f" and {len(missing) - 1} more" if len(missing) > 1 else ""),
                str(path),
                "take bench/foms/rtibm.xml",
                USAGE,
            )
        return path.resolve()

    def command(self, sequence: Sequence, federate: Federate) -> list[str]:
        """The program and first arguments of a federate."""
        command = list(federate.command or sequence.command)
        if self.bmfed and not federate.command:
            command[0] = self.bmfed
        elif "/" in command[0]:
            command[0] = str((self.base / command[0]).resolve())
        found = shutil.which(command[0])
        if not found:
            raise BenchError(
                "STL-RUN-002",
                f"there is no program '{command[0]}'",
                f"federate '{federate.name}'",
                "build it or give --bmfed PATH",
                USAGE,
            )
        return [str(Path(found).resolve()), *command[1:]]

    def rti_root(self, sequence: Sequence) -> Path | None:
        """The install tree of the RTI."""
        if self.root:
            return self.root.resolve()
        return (self.base / sequence.rti.root).resolve() if sequence.rti.root else None

    def check(self, sequence: Sequence) -> None:
        """Finds the faults that need no federate to show."""
        self.fom(sequence)
        for federate in sequence.federate:
            self.command(sequence, federate)
            require_local(federate.name, federate.host)
        if sequence.directory and not (self.base / sequence.directory).is_dir():
            raise BenchError(
                "STL-RUN-008",
                f"the directory of sequence '{sequence.name}' is missing",
                str(self.base / sequence.directory),
                "make it, or correct the field 'directory'",
                USAGE,
            )

    async def execute(
        self, store: Store, sequence: Sequence, execution: Execution, adapter: Adapter,
        progress: Progress,
    ) -> None:  # fmt: skip
        """Runs what is not done of one execution; raises BenchError when it fails. No process
        stays behind."""
        tests = dict(enumerate(execution.tests(), 1))
        record = store.begin(
            sequence.name, execution.name, adapter=adapter.name, pairs=len(sequence.pair),
            tests={str(n): t.model_dump() for n, t in tests.items()},
        )  # fmt: skip
        for number in store.done(sequence.name, execution.name):
            del tests[number]
        if not tests:
            record["state"] = "done"
            return
        launcher = Launcher()
        master = _Master(store, sequence, execution, progress, record)
        failed = True
        try:
            prepared = adapter.prepare(sequence, self.rti_root(sequence), self.run)
            directory = self.run.directory("pipe-")
            async with ControlPipe(master.hear, directory) as pipe:
                try:
                    await self._run(
                        store, sequence, execution, tests, prepared, launcher, pipe, master
                    )
                    failed = False
                finally:
                    ending = asyncio.ensure_future(launcher.end_all(hurry=failed))
                    ended = await asyncio.shield(ending)
                    if ended:
                        record["ended_by_manager"] = ended
            master.check()
            record["state"] = "done"
        except BenchError as e:
            record["state"], record["message"] = "failed", e.what
            raise
        except OSError as e:
            problem = cannot("go on", e)
            record["state"], record["message"] = "failed", problem.what
            raise problem from None
        except asyncio.CancelledError:
            record["state"], record["message"] = "interrupted", "interrupted by the user"
            raise

    async def _run(
        self, store: Store, sequence: Sequence, execution: Execution, tests: dict[int, Test],
        prepared: Prepared, launcher: Launcher, pipe: ControlPipe, master: "_Master",
    ) -> None:  # fmt: skip
        directory = store.execution_directory(sequence.name, execution.name).resolve()
        work = (self.base / sequence.directory).resolve() if sequence.directory else directory
        common = [
            "--fom", str(self.fom(sequence)),
            "--federation", execution.federation or f"rtibm-{sequence.name}-{execution.name}",
            "--join-timeout", str(sequence.join_timeout_s),
            "--data-timeout", str(sequence.data_timeout_s),
            "--loss-timeout", str(sequence.loss_timeout_s),
            "--out", str(directory),
        ]  # fmt: skip
        if prepared.local_settings:
            common += ["--local-settings", prepared.local_settings]
        conducting = ["--master", "--manager", pipe.address]
        for pair in sequence.pair:
            conducting += ["--pair", f"{pair.sender}:{pair.receiver}"]
        for number, test in tests.items():
            conducting += ["--test", test.argument(number)]

        if prepared.server:
            server = await launcher.start(
                SERVER,
                sequence.rtiexec_host,
                prepared.server,
                directory / "rti-server.log",
                prepared.env,
                work,
            )
            await _until_ready(server, prepared, sequence.join_timeout_s)
        # The master comes last.
        federates = sorted(sequence.federate, key=lambda f: f.name == sequence.master)
        for federate in federates:
            command = [*self.command(sequence, federate), "--name", federate.name, *common]
            if federate.name == sequence.master:
                command += conducting
            await launcher.start(
                federate.name,
                federate.host,
                command,
                directory / f"{federate.name}.log",
                prepared.env,
                work,
            )
        await _follow(sequence, launcher, master, pipe)


class _Master:
    """What the master said, and when."""

    def __init__(
        self, store: Store, sequence: Sequence, execution: Execution, progress: Progress,
        record: dict,
    ) -> None:  # fmt: skip
        self._store, self._sequence, self._execution = store, sequence, execution
        self._progress, self._record = progress, record
        self._cpus = idle.Watch()
        self.at = "before the first test"
        self.conducts = False
        self.heard_s = time.monotonic()
        self.problem: BenchError | None = None
        self.has_problem = asyncio.Event()

    def hear(self, event: dict) -> None:
        """Keeps an event of the message pipe; a problem with that is kept for `check`."""
        self.heard_s = time.monotonic()
        try:
            if event["event"] == "joined":
                self._record["rti"] = event.get("rti", "")
            elif event["event"] == "test":
                self.conducts = True
                self.at = f"during test {event.get('test')} of {len(self._record.get('tests', ()))}"
                self._cpus.others()
            elif event["event"] == "sample":
                event = event | {"others_cpu": self._cpus.others()}
                row = self._store.add(self._sequence.name, self._execution.name, event)
                event = row | {"event": "sample"}
            elif event["event"] == "problem":
                self._record["problems"][str(event["test"])] = str(event["message"])
                self._store.save_run()
            self._progress(event)
        except BenchError as e:
            self.problem = self.problem or e
            self.has_problem.set()
        except (KeyError, TypeError, ValueError) as e:
            self.problem = self.problem or BenchError(
                "STL-RUN-007", f"the master sent a strange line: {e!r} in {str(event)[:200]}"
            )
            self.has_problem.set()

    def check(self) -> None:
        if self.problem:
            raise self.problem

    def patience_s(self) -> float:
        """How long the master may be silent. It and the other federates bound their own waits
        more tightly, so that who fails says why; this is for those who can't."""
        if self.conducts:
            return 3 * self._sequence.data_timeout_s + SLACK_S
        return self._sequence.join_timeout_s + SLACK_S


async def _follow(
    sequence: Sequence, launcher: Launcher, master: _Master, pipe: ControlPipe
) -> None:
    """Until every federate has ended well; BenchError as soon as one has not."""
    federates = [r for r in launcher.running if r.name != SERVER]
    problem = asyncio.ensure_future(master.has_problem.wait())
    ends = {asyncio.ensure_future(r.process.wait()) for r in launcher.running}
    left: set[str] = set()
    try:
        while True:
            going = {problem, *(e for e in ends if not e.done())}
            # Once a second it is seen whether the master is still heard.
            await asyncio.wait(going, timeout=1, return_when=asyncio.FIRST_COMPLETED)
            master.check()
            for r in federates:
                if r.returncode == 0 and r.name not in left:
                    left.add(r.name)
                    pipe.say(event="left", federate=r.name)
            for r in launcher.running:
                if r.returncode is not None and (r.name == SERVER or r.returncode != 0):
                    raise await _death(r, launcher, master.at)
            if all(r.returncode == 0 for r in federates):
                return
            if time.monotonic() >= master.heard_s + master.patience_s():
                raise _silence(sequence, launcher, master)
    finally:
        for waiting in (problem, *ends):
            waiting.cancel()


async def _death(first: Running, launcher: Launcher, at: str) -> BenchError:
    """The message for a federate that ended badly."""
    # A federate that fails makes others fail. Whoever was killed or stopped, or said why first, is
    # named: processes that are about to end get the chance to do so.
    others = {asyncio.ensure_future(r.process.wait()) for r in launcher.running if r.name != SERVER}
    patience = 0.5 if (first.returncode or 0) < 0 else GRACE_S
    await asyncio.wait(others, timeout=patience)
    for waiting in others:
        waiting.cancel()
    dead = [r for r in launcher.running if r.returncode not in (None, 0)]
    culprit = next((r for r in dead if (r.returncode or 0) < 0), first)
    what = f"{culprit.title} {culprit.fate()} {at}"
    do = ""
    # Who was killed could not say why.
    if (culprit.returncode or 0) > 0:
        if stopped := launcher.stopped():
            what = f"{stopped} {at}; {what}"
        words, do = culprit.last_words()
        if words:
            what += f": {words}"
    code = UNREACHABLE if culprit.returncode == UNREACHABLE else FAILED
    return BenchError("STL-RUN-003", what, str(culprit.log), do or "read that log", code)


def _silence(sequence: Sequence, launcher: Launcher, master: _Master) -> BenchError:
    """The message when nothing happens any more and nobody said why."""
    alive = [r for r in launcher.running if r.returncode is None and r.name != SERVER]
    named = next((r for r in alive if r.name == sequence.master), alive[0])
    silent = f"nothing was heard of {named.title} for {master.patience_s():.0f} s"
    stopped = launcher.stopped()
    what = f"{stopped} {master.at}; {silent}" if stopped else f"{silent} {master.at}"
    return BenchError("STL-RUN-006", what, str(named.log), "read that log", FAILED)


async def _until_ready(server: Running, rti: Prepared, timeout_s: float) -> None:
    """Until the server's log holds its sign and its port is its own; that is never assumed, as
    another RTI may hold the port and answer there."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s

    def ready() -> bool:
        if rti.server_ready and rti.server_ready not in server.log.read_text(errors="replace"):
            return False
        return rti.server_port is None or listens(server.process.pid, rti.server_port)

    while not ready():
        if server.returncode is not None or loop.time() > deadline:
            fate = server.fate() if server.returncode is not None else "did not get ready in time"
            words, do = server.last_words()
            raise BenchError(
                "STL-RTI-004",
                f"the RTI's server {fate}" + (f": {words}" if words else ""),
                str(server.log),
                do or "is its port in use by another process?",
            )
        await asyncio.sleep(0.05)

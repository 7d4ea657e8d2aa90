"""Conducts one federation execution: starts the federates, follows the master, cleans up."""

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from . import idle, network
from .errors import FAILED, UNREACHABLE, USAGE, BenchError, cannot
from .hosts import GRACE_S, SERVER, SERVICES, Launcher, Running, listens
from .identity import Run
from .pipe import ControlPipe
from .plan import Execution, Sequence
from .rti import Adapter, Prepared, adapter_for
from .store import Store
from .study import Study
from .topology import Federate

Progress = Callable[[dict], None]
# What starting and ending processes may take beyond the time-outs of the TSF.
SLACK_S = 20.0


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


class Conductor:
    """What stays the same during a run of a study."""

    def __init__(
        self, study: Study, base: Path, program: str | None, root: Path | None, run: Run,
        hosts: list[network.Host] = (),
    ) -> None:  # fmt: skip
        self.study = study
        self.run = run
        self.base = base  # relative paths of the TSF start here
        self.program = program
        self.root = root
        self.hosts = {host.name: host for host in hosts}

    def _used(self, sequence: Sequence) -> list[network.Host]:
        """The hosts of a sequence but this one."""
        names = dict.fromkeys([*(f.host for f in sequence.federate), self._server_host(sequence)])
        return [self.hosts[name] for name in names if name in self.hosts]

    def _server_host(self, sequence: Sequence) -> str:
        """The host of the RTI's server: the one that is named, or the master's."""
        if sequence.rtiexec_host in self.hosts:
            return sequence.rtiexec_host
        return next(f.host for f in sequence.federate if f.name == sequence.master)

    def _cpus_of(self, sequence: Sequence, host: str, own: list[int] | None) -> list[int] | None:
        """The CPUs that a process may use: its own, else those of its host or of the sequence."""
        there = self.hosts[host].cpus if host in self.hosts else None
        return own or there or sequence.cpus

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
        if missing := [c for c in self.study.classes(sequence) if c not in classes]:
            raise BenchError(
                "STL-FOM-003",
                f"{title} lacks the class {missing[0]}"
                + (f" and {len(missing) - 1} more" if len(missing) > 1 else ""),
                str(path),
                f"take {self.study.fom}",
                USAGE,
            )
        return path.resolve()

    def command(self, sequence: Sequence, federate: Federate) -> list[str]:
        """The program and first arguments of a federate."""
        command = list(federate.command or sequence.command or [self.study.program])
        if self.program and not federate.command:
            command[0] = self.program
        elif "/" in command[0]:
            command[0] = str((self.base / command[0]).resolve())
        found = shutil.which(command[0])
        if not found:
            raise BenchError(
                "STL-RUN-002",
                f"there is no program '{command[0]}'",
                f"federate '{federate.name}'",
                f"build it or give --{self.study.program} PATH",
                USAGE,
            )
        return [str(Path(found).resolve()), *command[1:]]

    def rti_root(self, sequence: Sequence) -> Path | None:
        """The install tree of the RTI."""
        if self.root:
            return self.root.resolve()
        return (self.base / sequence.rti.root).resolve() if sequence.rti.root else None

    def check(self, sequence: Sequence) -> None:
        """Finds the faults that need no federate to show; changes nothing."""
        for error in self.faults(sequence):
            raise error

    def faults(self, sequence: Sequence) -> Iterator[BenchError]:
        """All of them, one of each kind."""
        for look in (self.fom, self._check_federates, self._check_directory, self._check_rti):
            try:
                look(sequence)
            except BenchError as e:
                yield e

    def _check_federates(self, sequence: Sequence) -> None:
        for federate in sequence.federate:
            self.command(sequence, federate)
            cpus = self._cpus_of(sequence, federate.host, federate.cpus)
            self._cpus(cpus, f"federate '{federate.name}'")
        network.check(self._used(sequence), Path(self.command(sequence, sequence.federate[0])[0]))

    def _check_rti(self, sequence: Sequence) -> None:
        adapter = adapter_for(sequence.rti, f"sequence '{sequence.name}'")
        try:
            program = self.command(sequence, sequence.federate[0])[0]
        except BenchError:
            return  # that fault is told of the federates
        rti, root = sequence.rti, self.rti_root(sequence)
        if self.root:
            rti = rti.model_copy()
            rti.placed({**sequence.rti.places, "root": f"--rti-root {self.root}"})
        adapter.check(rti, root, self.run, sequence.bundling, program)

    def _check_directory(self, sequence: Sequence) -> None:
        if sequence.directory and not (self.base / sequence.directory).is_dir():
            raise BenchError(
                "STL-RUN-008",
                f"the directory of sequence '{sequence.name}' is missing",
                str(self.base / sequence.directory),
                "make it, or correct the field 'directory'",
                USAGE,
            )

    @staticmethod
    def _cpus(cpus: list[int] | None, where: str) -> None:
        here = os.sched_getaffinity(0)
        if missing := sorted(set(cpus or ()) - here):
            raise BenchError(
                "STL-RUN-011", f"this host has no CPU {missing[0]} to use", where,
                f"take from {', '.join(map(str, sorted(here)))}", USAGE,
            )  # fmt: skip

    def _placement(self, sequence: Sequence) -> str:
        """Which CPUs the processes of a sequence use, in words; "": all may use all."""
        own = [self._cpus_of(sequence, f.host, f.cpus) for f in sequence.federate]
        if not any(own):
            return ""
        if all(cpus == own[0] for cpus in own):
            return "CPU " + "+".join(map(str, own[0]))
        each = ("+".join(map(str, cpus)) if cpus else "any" for cpus in own)
        return "CPU " + " | ".join(each)

    async def execute(
        self, store: Store, sequence: Sequence, execution: Execution, adapter: Adapter,
        progress: Progress,
    ) -> None:  # fmt: skip
        """Runs what is not done of one execution; raises BenchError when it fails. No process
        stays behind."""
        tests = dict(enumerate(execution.tests(), 1))
        record = store.begin(
            sequence.name, execution.name, adapter=adapter.name, pairs=len(sequence.pair),
            cpus=self._placement(sequence), bundling=sequence.bundling,
            hosts=network.describe([f.host for f in sequence.federate], self.hosts),
            tests={str(n): t.model_dump() for n, t in tests.items()},
        )  # fmt: skip
        for number in store.done(sequence.name, execution.name):
            del tests[number]
        if not tests:
            record["state"] = "done"
            return
        launcher = Launcher(self.study.program)
        master = _Master(store, sequence, execution, progress, record)
        failed = True
        try:
            program = self.command(sequence, sequence.federate[0])[0]
            logs = store.execution_directory(sequence.name, execution.name).resolve()
            directory = self.run.directory("pipe-")
            async with (
                network.network(
                    self._used(sequence), self.run, launcher, Path(program), logs / "link.log"
                ) as places,
                ControlPipe(master.hear, directory) as pipe,
            ):
                try:
                    server = places.get(self._server_host(sequence), network.HERE)
                    prepared = adapter.prepare(
                        sequence.rti, self.rti_root(sequence), self.run, sequence.bundling,
                        sequence.rtiexec_host, program, server.address,
                    )  # fmt: skip
                    await self._run(
                        logs, sequence, execution, tests, prepared, launcher, pipe, master, places
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
        self, directory: Path, sequence: Sequence, execution: Execution, tests: dict[int, Any],
        prepared: Prepared, launcher: Launcher, pipe: ControlPipe, master: "_Master",
        places: dict[str, network.Place],
    ) -> None:  # fmt: skip
        work = (self.base / sequence.directory).resolve() if sequence.directory else directory
        title = f"{sequence.name}-{execution.name}"
        common = [
            "--fom", str(self.fom(sequence)),
            "--federation", execution.federation or f"{self.study.name}-{title}",
            "--join-timeout", str(sequence.join_timeout_s),
            "--data-timeout", str(sequence.data_timeout_s),
            "--loss-timeout", str(sequence.loss_timeout_s),
            "--out", str(directory), "--adapter", prepared.endpoint,
            *self.study.arguments(list(tests.values())),
        ]  # fmt: skip
        if prepared.local_settings:
            common += ["--local-settings", prepared.local_settings]
        conducting = ["--master", "--manager", pipe.address]
        for pair in sequence.pair:
            classes = [",".join(map(str, pair.classes))] if pair.classes else []
            conducting += ["--pair", ":".join([pair.sender, pair.receiver, *classes])]
        for number, test in tests.items():
            conducting += ["--test", test.argument(number)]

        if prepared.server:
            host = self._server_host(sequence)
            server = await launcher.start(
                SERVER,
                prepared.server,
                directory / "rti-server.log",
                prepared.env,
                work,
                cpus=self._cpus_of(sequence, host, None),
                space=places.get(host, network.HERE).space,
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
                command,
                directory / f"{federate.name}.log",
                prepared.env,
                work,
                cpus=self._cpus_of(sequence, federate.host, federate.cpus),
                space=places.get(federate.host, network.HERE).space,
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
    federates = [r for r in launcher.running if r.name not in SERVICES]
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
                if r.returncode is not None and (r.name in SERVICES or r.returncode != 0):
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
    others = {
        asyncio.ensure_future(r.process.wait()) for r in launcher.running if r.name not in SERVICES
    }
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
    alive = [r for r in launcher.running if r.returncode is None and r.name not in SERVICES]
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

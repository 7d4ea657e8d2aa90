"""Conducts one federation execution: starts the federates, follows the master, cleans up."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

from .adapters import Adapter, Prepared
from .errors import FAILED, UNREACHABLE, USAGE, BenchError
from .launcher import Launcher, Running, require_local
from .pipe import MessagePipe
from .store import Store
from .tsf import Execution, Federate, Sequence

Progress = Callable[[dict], None]


class Conductor:
    """What stays the same during a run of bmmanager."""

    def __init__(self, base: Path, bmfed: str | None, root: Path | None) -> None:
        self.base = base  # relative paths of the TSF start here
        self.bmfed = bmfed
        self.root = root

    def fom(self, sequence: Sequence) -> Path:
        """The FOM's path; BenchError if there is none."""
        path = self.base / sequence.fom
        if not path.is_file():
            raise BenchError(
                "STL-FOM-001",
                f"the FOM of sequence '{sequence.name}' is missing",
                str(path),
                "correct the field 'fom'",
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

    async def execute(
        self, store: Store, sequence: Sequence, execution: Execution, adapter: Adapter,
        progress: Progress,
    ) -> None:  # fmt: skip
        """Runs one execution; raises BenchError when it fails. No process stays behind."""
        record = {
            "sequence": sequence.name, "execution": execution.name, "state": "failed",
            "message": "", "rti": "", "adapter": adapter.name,
        }  # fmt: skip
        store.run["executions"].append(record)
        for number, test in enumerate(execution.tests(), 1):
            key = (sequence.name, execution.name, number)
            store.tolerances[key] = test.mode_tolerance_ms
        prepared = adapter.prepare(sequence, self.rti_root(sequence))
        launcher = Launcher()
        try:
            async with MessagePipe() as pipe:
                try:
                    await self._run(store, sequence, execution, prepared, launcher, pipe,
                                    progress, record)  # fmt: skip
                    record["state"] = "done"
                finally:
                    ended = await asyncio.shield(launcher.end_all())
                    if ended:
                        record["ended_by_manager"] = ended
                    # What the master still said before it ended is kept.
                    for event in pipe.drain():
                        if event["event"] == "sample":
                            progress(store.add(sequence.name, execution.name, event)
                                     | {"event": "sample"})  # fmt: skip
        except BenchError as e:
            record["message"] = e.what
            raise
        except asyncio.CancelledError:
            record["state"], record["message"] = "interrupted", "interrupted by the user"
            raise
        finally:
            prepared.clean()

    async def _run(
        self, store: Store, sequence: Sequence, execution: Execution, prepared: Prepared,
        launcher: Launcher, pipe: MessagePipe, progress: Progress, record: dict,
    ) -> None:  # fmt: skip
        directory = store.execution_directory(sequence, execution.name).resolve()
        work = (self.base / sequence.directory).resolve() if sequence.directory else directory
        common = [
            "--fom", str(self.fom(sequence)),
            "--federation", f"rtibm-{sequence.name}-{execution.name}",
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
        for test in execution.tests():
            conducting += ["--test", test.argument()]

        if prepared.server:
            server = await launcher.start(
                "rti-server",
                sequence.rtiexec_host,
                prepared.server,
                directory / "rti-server.log",
                prepared.env,
                work,
            )
            await _until_ready(server, prepared.server_ready, sequence.join_timeout_s)
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
        await self._follow(store, sequence, execution, launcher, pipe, progress, record)

    async def _follow(
        self, store: Store, sequence: Sequence, execution: Execution, launcher: Launcher,
        pipe: MessagePipe, progress: Progress, record: dict,
    ) -> None:  # fmt: skip
        """Until every federate has ended well; BenchError as soon as one has not."""
        federates = [r for r in launcher.running if r.name != "rti-server"]
        ends = {asyncio.ensure_future(r.process.wait()): r for r in launcher.running}
        event = asyncio.ensure_future(pipe.next())
        at = "before the first test"
        try:
            while any(r.returncode is None for r in federates):
                waits = {event, *(e for e in ends if not e.done())}
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                while event.done():
                    happened = event.result()
                    event = asyncio.ensure_future(pipe.next())
                    await asyncio.sleep(0)  # lets a waiting event arrive
                    if happened["event"] == "joined":
                        record["rti"] = happened.get("rti", "")
                    elif happened["event"] == "test":
                        at = f"during test {happened.get('test')} of {happened.get('of')}"
                    elif happened["event"] == "sample":
                        row = store.add(sequence.name, execution.name, happened)
                        happened = row | {"event": "sample"}
                    progress(happened)
                for end, running in ends.items():
                    if end.done() and (running.name == "rti-server" or running.returncode != 0):
                        raise await _death(running, launcher, at)
        finally:
            event.cancel()


async def _death(first: Running, launcher: Launcher, at: str) -> BenchError:
    """The message for a federate that ended badly."""
    # A federate that fails makes others fail. Whoever was killed or said why first is named: give
    # processes that are about to end the chance to do so.
    others = [asyncio.ensure_future(r.process.wait()) for r in launcher.running]
    await asyncio.wait(others, timeout=0.5)
    dead = [r for r in launcher.running if r.returncode not in (None, 0)]
    culprit = next((r for r in dead if (r.returncode or 0) < 0), first)
    # Who was killed could not say why.
    words = culprit.last_words() if (culprit.returncode or 0) > 0 else ""
    what = f"federate '{culprit.name}' {culprit.fate()} {at}"
    if words:
        what += f": {words}"
    code = UNREACHABLE if culprit.returncode == UNREACHABLE else FAILED
    return BenchError("STL-RUN-003", what, str(culprit.log), "read that log", code)


async def _until_ready(server: Running, sign: str, timeout_s: float) -> None:
    """Until the server's log holds `sign`; without a sign it counts as ready at once."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    while sign not in server.log.read_text(errors="replace"):
        if server.returncode is not None or loop.time() > deadline:
            fate = server.fate() if server.returncode is not None else "did not get ready in time"
            raise BenchError(
                "STL-RTI-004",
                f"the RTI's server {fate}: {server.last_words()}",
                str(server.log),
                "is its port in use by another process?",
            )
        await asyncio.sleep(0.05)

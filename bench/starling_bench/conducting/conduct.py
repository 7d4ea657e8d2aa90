"""Conducts one federation execution: starts the federates, follows the master, cleans up."""

import asyncio
import contextlib
import difflib
import functools
import itertools
import json
import os
import resource
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from ..captured import callgrind
from ..errors import USAGE, BenchError, cannot
from ..kept import raw
from ..kept.store import Store
from ..machines import network, ssh
from ..machines.hosts import SERVER, Launcher, Running
from ..machines.identity import Run
from ..machines.keeper import LINE_MAX
from ..machines.rti import Adapter, Prepared, adapter_for
from ..machines.rti_status import RtiStatus
from ..machines.topology import Federate
from ..study import Study
from ..tsf import memory
from ..tsf.sequences import Execution, Sequence
from ..values.object_model import no_encoding
from . import asked
from .follow import Master, Progress, There, end, follow, until_ready
from .pipe import ControlPipe

ADDRESS = "BENCH_ADDRESS"  # in a federate's environment: of its host, as a number


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


# What a word of a command takes beside its text, and the one before it; what others take.
_WORD, _OTHER_WORDS = 32, 1 << 16
# The kernel takes no more, whatever a stack may have (execve(2)).
_KERNELS_MAX = 6 << 20


def _words_max() -> int:
    """Bytes that the tests in a command may take on this host."""
    stack = resource.getrlimit(resource.RLIMIT_STACK)[0]
    most = _KERNELS_MAX if stack == resource.RLIM_INFINITY else min(stack // 4, _KERNELS_MAX)
    environment = sum(len(os.fsencode(k + v)) + _WORD for k, v in os.environ.items())
    return most - environment - _OTHER_WORDS


def _keep_earlier(logs: Path) -> None:
    """A master's own table of an earlier try stays, under a number: it begins a new one."""
    table = logs / "results.csv"
    number = itertools.count(1)
    try:
        if table.is_file():
            table.rename(next(p for n in number if not (p := logs / f"results.{n}.csv").exists()))
    except OSError as e:
        raise cannot("write results", e, table) from None


class Conductor:
    """What stays the same during a run of a study."""

    def __init__(
        self, study: Study, base: Path, program: str | None, root: Path | None, run: Run,
        hosts: list[network.Host] = (), quiet: list[str] = (),
    ) -> None:  # fmt: skip
        self.study = study
        self.run = run
        self.base = base  # relative paths of the TSF start here
        self.program = program
        self.root = root
        self.hosts = {host.name: host for host in hosts}
        self.quiet = quiet  # services that don't run meanwhile
        self._looked_at: set[str] = set()  # what has no faults, or had them told

    def _used(self, sequence: Sequence, kind: str) -> list[network.Host]:
        """The hosts of a sequence that are of this kind."""
        names = dict.fromkeys([*(f.host for f in sequence.federate), self._server_host(sequence)])
        used = [self.hosts[name] for name in names if name in self.hosts]
        return [host for host in used if host.kind == kind]

    def here(self, sequence: Sequence) -> bool:
        """Its processes run on this machine."""
        return not self._used(sequence, "ssh")

    def _is_here(self, host: str) -> bool:
        """All hosts but those that ssh reaches are this one."""
        return host not in self.hosts or self.hosts[host].kind != "ssh"

    def _server_host(self, sequence: Sequence) -> str:
        """The host of the RTI's server: the one that is named, or the master's."""
        if sequence.rtiexec_host in self.hosts:
            return sequence.rtiexec_host
        return next(f.host for f in sequence.federate if f.name == sequence.master)

    def _cpus_of(self, sequence: Sequence, host: str, own: list[int] | None) -> list[int] | None:
        """The CPUs that a process may use: its own, else those of its host or of the sequence."""
        there = self.hosts[host].cpus if host in self.hosts else None
        return own or there or sequence.cpus

    def cpus(self, sequence: Sequence) -> frozenset[int]:
        """Those of this host that its federates may use."""
        own = [self._cpus_of(sequence, f.host, f.cpus) for f in sequence.federate]
        usable = os.sched_getaffinity(0)
        return frozenset(n for of in own for n in (usable if of is None else of))

    def fom(self, sequence: Sequence) -> Path:
        """The FOM's path; BenchError if there is none."""
        path = self.base / sequence.fom
        title = f"the FOM of sequence '{sequence.name}'"
        if not path.is_file():
            there = [other.name for other in path.parent.glob("*.xml")]
            near = difflib.get_close_matches(path.name, there, n=1)
            do = f"did you mean '{near[0]}'?" if near else "correct the field 'fom'"
            where = sequence.place("fom")
            raise BenchError("STL-FOM-001", f"{title} is missing: {path}", where, do, USAGE)
        try:
            root = ElementTree.parse(path).getroot()
        except OSError as e:
            raise BenchError(
                "STL-FOM-001", f"{title} can't be read: {e.strerror}", str(path), exit_code=USAGE
            ) from None
        except (LookupError, ValueError) as e:
            raise no_encoding(e, path) from None
        except ElementTree.ParseError as e:
            raise BenchError(
                "STL-FOM-002",
                f"{title} is not XML: {expat.ErrorString(e.code)}",
                f"{path}:{e.position[0]}",
                "correct the file, or the field 'fom'",
                USAGE,
            ) from None
        try:
            classes = set(_classes(root, ""))
        except RecursionError:
            what, do = f"{title} has classes nested without end", "correct the file"
            raise BenchError("STL-FOM-002", what, str(path), do, USAGE) from None
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
        own = federate.command or ([sequence.rti.program] if sequence.rti.program else [])
        command = list(own or sequence.command or [self.study.program])
        if self.program and not own:
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
        counting = callgrind.command(federate.count, f"federate '{federate.name}'")
        return [*counting, str(Path(found).resolve()), *command[1:]]

    def beside(self, sequence: Sequence) -> str:
        """The program beside which the platform's own are: the federates', not what one of them
        is run by."""
        usual = [f for f in sequence.federate if not f.command]
        usual = [f.model_copy(update={"count": []}) for f in usual or sequence.federate]
        return self.command(sequence, usual[0])[0]

    def rti_root(self, sequence: Sequence) -> Path | None:
        """The install tree of the RTI: its own, else the one that was given for all others."""
        if sequence.rti.root:
            return (self.base / sequence.rti.root).resolve()
        return self.root.resolve() if self.root else None

    def check(self, sequence: Sequence) -> None:
        """Finds the faults that need no federate to show; changes nothing."""
        for error in self.faults(sequence):
            raise error

    def faults(self, sequence: Sequence) -> Iterator[BenchError]:
        """All of them, one of each kind. What rounds of a sequence have alike is looked at once."""
        alike = sequence.model_dump_json(exclude={"execution"})
        looks = [] if alike in self._looked_at else [
            self.fom, self._check_federates, self._check_directory, self._check_rti,
        ]  # fmt: skip
        self._looked_at.add(alike)
        for look in (*looks, self._check_memory, self._check_length):
            try:
                look(sequence)
            except BenchError as e:
                yield e

    def _check_federates(self, sequence: Sequence) -> None:
        for federate in sequence.federate:
            self.command(sequence, federate)
            if self._is_here(federate.host):
                cpus = self._cpus_of(sequence, federate.host, federate.cpus)
                self._cpus(cpus, f"federate '{federate.name}'")
        program = Path(self.beside(sequence))
        network.check(self._used(sequence, "namespace"), program)
        ssh.check(self._used(sequence, "ssh"))

    def _check_rti(self, sequence: Sequence) -> None:
        adapter = adapter_for(sequence.rti, f"sequence '{sequence.name}'")
        try:
            program = self.beside(sequence)
        except BenchError:
            return  # that fault is told of the federates
        rti, root = sequence.rti, self.rti_root(sequence)
        if self.root and not rti.root:
            rti = rti.model_copy()
            rti.placed({**sequence.rti.places, "root": f"--rti-root {self.root}"})
        adapter.check(rti, root, self.run, sequence.bundling, program, self.here(sequence))
        joined = self._used(sequence, "namespace")
        if self.here(sequence) and not joined and sequence.rtiexec_host == "localhost":
            adapter.has_room(rti, self.run)

    def _check_directory(self, sequence: Sequence) -> None:
        if sequence.directory and not self.here(sequence):
            raise BenchError(
                "STL-RUN-012", f"sequence '{sequence.name}' has a directory, and hosts that ssh "
                "reaches: there, federates run where they write", sequence.directory,
                "remove the field 'directory'", USAGE,
            )  # fmt: skip
        if sequence.directory and not (self.base / sequence.directory).is_dir():
            raise BenchError(
                "STL-RUN-008",
                f"the directory of sequence '{sequence.name}' is missing",
                str(self.base / sequence.directory),
                "make it, or correct the field 'directory'",
                USAGE,
            )

    def _check_memory(self, sequence: Sequence) -> None:
        """Of the federates that run here, and of this manager; other hosts are asked when they are
        reached."""
        federates = [f.name for f in sequence.federate if self._is_here(f.host)]
        tests = [spec for e in sequence.execution for spec in e.test]
        has = memory.of_this_host()
        memory.check(self.study, sequence, tests, federates, "this host", has, " free", True)

    def _check_length(self, sequence: Sequence) -> None:
        """A federation execution's tests are words of its master's command."""
        host = next(f.host for f in sequence.federate if f.name == sequence.master)
        here = self._is_here(host)
        most = _words_max() if here else LINE_MAX - _OTHER_WORDS
        for execution in sequence.execution:
            at = f"{sequence.name}/{execution.round_of or execution.name}"
            if at in self._looked_at:
                continue
            self._looked_at.add(at)
            left = most
            tests = itertools.chain.from_iterable(spec.expand() for spec in execution.test)
            for number, test in enumerate(tests, 1):
                word = test.argument(number)
                left -= _WORD + len(word if here else json.dumps(word))
                if left < 0:
                    raise BenchError(
                        "STL-RUN-016", f"{at} has more tests than its master's command can name: "
                        f"in {most:,} bytes there is room for {number - 1:,}", execution.test[0].at,
                        "divide them among several [[sequence.execution]]", USAGE,
                    )  # fmt: skip

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
            captured=[h.name for h in self._used(sequence, "namespace") if h.capture],
            tests={str(n): t.model_dump() for n, t in tests.items()},
            round_of=execution.round_of, sequence_of=sequence.sequence_of,
        )  # fmt: skip
        for number in store.done(sequence.name, execution.name):
            del tests[number]
        if not tests:
            # A manager that died behind the last sample left them as they were written.
            raw.pack(store.execution_directory(sequence.name, execution.name))
            record["state"] = "done"
            return
        if way := adapter.way():
            record["way"] = {"by": way[0], "reliable": way[1]}
        # What is taken anew is asked for anew.
        ways = record.get("ways", {})
        record["ways"] = {
            number: found for number, found in ways.items() if int(number) not in tests
        }
        logs = store.execution_directory(sequence.name, execution.name).resolve()
        _keep_earlier(logs)
        master = Master(store, sequence, execution, progress, record, self.cpus(sequence))
        master.strange = functools.partial(asked.fault, self.study, sequence.pair)
        launcher = Launcher(self.study.program)
        begun = _Begun(sequence, execution, tests, adapter, record, logs, launcher, master)
        try:
            await self._conduct(begun, store)
            master.check()
            raw.pack(logs)
            master.has_done_all()
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

    async def _conduct(self, begun: "_Begun", store: Store) -> None:
        """Until all federates have ended, or one has failed; then all that was started is ended."""
        sequence, launcher = begun.sequence, begun.launcher
        program = Path(self.beside(sequence))
        directory = self.run.directory("pipe-")
        parts = ssh.Parts(program, self.rti_root(sequence), self.fom(sequence))
        async with (
            network.network(
                self._used(sequence, "namespace"), self.run, launcher, program,
                begun.logs / "link.log", lambda text: store.note([text]),
            ) as spaces,
            ssh.places(self._used(sequence, "ssh"), self.run, parts, self.quiet) as sites,
            ControlPipe(begun.master.hear, directory) as pipe,
        ):  # fmt: skip
            there = There(sites, parts, begun.logs, begun.master, pipe)
            failed = True
            try:
                if sites:
                    await self._look(begun, store, sites)
                await self._start(begun, there, {**spaces, **sites})
                await follow(sequence, launcher, there)
                failed = False
            finally:
                ending = asyncio.ensure_future(end(launcher, there, failed))
                if ended := await asyncio.shield(ending):
                    begun.record["ended_by_manager"] = ended
                if failed:
                    with contextlib.suppress(BenchError):  # why it failed is what is told
                        raw.pack(begun.logs)

    async def _look(self, begun: "_Begun", store: Store, sites: dict[str, network.Place]) -> None:
        """What there is to know of hosts that ssh reaches; BenchError if one has too little
        memory."""
        found = begun.record["found"] = await ssh.look(sites)
        for name, facts in found.items():
            federates = [f.name for f in begun.sequence.federate if f.host == name]
            memory.check(
                self.study, begun.sequence, begun.execution.test, federates, f"host '{name}'",
                int(facts["memory_bytes"]),
            )  # fmt: skip
        store.note(ssh.doubts(found))

    async def _start(self, begun: "_Begun", there: There, places: dict[str, network.Place]) -> None:
        """Starts the RTI's server, if there is one, and all federates, the master last."""
        sequence, adapter, master = begun.sequence, begun.adapter, begun.master
        beside, root, fom = self.beside(sequence), self.rti_root(sequence), self.fom(sequence)
        host = self._server_host(sequence)
        at = places.get(host, network.HERE)

        @functools.cache
        def prepare(site: ssh.Site | None) -> Prepared:
            run = site.run(self.run) if site else self.run
            prepared = adapter.prepare(
                sequence.rti, root, run, sequence.bundling, sequence.rtiexec_host, beside,
                at.address or "",
            )  # fmt: skip
            return there.moved(prepared, site)

        prepared = prepare(at.site)
        if prepared.server:
            server = await self._launch(
                begun, places, SERVER, host, None, prepared.server, prepared
            )
            await until_ready(server, prepared, sequence.join_timeout_s, there)
        master.root, master.loaded = root, begun.launcher.loaded
        master.files = [beside, str(fom)]
        # Where an RTI's server serves others, too, no two runs have one; nor is one taken up that
        # a run has left there.
        federation = begun.execution.federation or "-".join(
            [self.study.name, sequence.name, begun.execution.name, self.run.id[-8:]]
        )
        common = [
            "--fom", str(fom),
            "--federation", federation,
            "--join-timeout", str(sequence.join_timeout_s),
            "--data-timeout", str(sequence.data_timeout_s),
            "--loss-timeout", str(sequence.loss_timeout_s),
            *self.study.arguments(list(begun.tests.values())),
        ]  # fmt: skip
        for federate in sorted(sequence.federate, key=lambda f: f.name == sequence.master):
            place = places.get(federate.host, network.HERE)
            prepared = prepare(place.site)
            command = [*self.command(sequence, federate), "--name", federate.name, *common]
            command = network.addressed(there.words(command, place.site), places)
            command += ["--adapter", prepared.endpoint]
            command += ["--out", place.site.out if place.site else str(begun.logs)]
            if prepared.local_settings:
                command += ["--local-settings", prepared.local_settings]
            master.roots[federate.name] = root and Path(there.words([str(root)], place.site)[0])
            if federate.name == sequence.master:
                command += [*_conducting(begun), "--manager", await there.pipe(place.site)]
                # Between samples, and only then, results are brought home, the RTI is asked and
                # summaries are renewed: within one the manager does nothing but wait.
                command.append("--paced")
                there.asks(RtiStatus(adapter, prepared, place, federation), begun.record)
            await self._launch(
                begun, places, federate.name, federate.host, federate.cpus, command, prepared
            )

    async def _launch(
        self, begun: "_Begun", places: dict[str, network.Place], name: str, host: str,
        cpus: list[int] | None, command: list[str], prepared: Prepared,
    ) -> Running:  # fmt: skip
        """Starts a process on the host that it belongs to."""
        place, log = places.get(host, network.HERE), begun.logs / f"{name}.log"
        env = prepared.env | {ADDRESS: place.reached} if place.reached else prepared.env
        cpus = self._cpus_of(begun.sequence, host, cpus)
        if site := place.site:
            return await begun.launcher.start_away(
                site.keeper, name, command, log, env, site.out, cpus
            )
        own = begun.sequence.directory
        work = (self.base / own).resolve() if own else begun.logs
        return await begun.launcher.start(
            name, command, log, env, work, cpus=cpus, space=place.space
        )


@dataclass
class _Begun:
    """One federation execution that is conducted."""

    sequence: Sequence
    execution: Execution
    tests: dict[int, Any]  # that are not done, by number
    adapter: Adapter
    record: dict  # of it in run.json
    logs: Path  # the directory where its federates write
    launcher: Launcher
    master: Master


def _conducting(begun: _Begun) -> list[str]:
    """What only the master is told: who talks with whom, and the tests."""
    words = ["--master"]
    for pair in begun.sequence.pair:
        classes = [",".join(map(str, pair.classes))] if pair.classes else []
        words += ["--pair", ":".join([pair.sender, pair.receiver, *classes])]
    for number, test in begun.tests.items():
        words += ["--test", test.argument(number)]
    return words

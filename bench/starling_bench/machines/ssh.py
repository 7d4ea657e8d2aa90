"""Hosts that ssh reaches: what federates need is copied there, they are started, watched and ended
there by bench-keep, and what they write is brought home between samples.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import re
import shlex
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import asyncssh

from ..errors import UNREACHABLE, BenchError, cannot
from ..outside import read_json, read_text
from . import identity
from .keeper import PROGRAM, Keeper, busy
from .network import Host, Place

_CONNECT_S = 15.0
_COPY_S = 600.0
_FETCH_S = 60.0  # until a piece of what is brought home has come
_PIECE = 8 << 20
_CLOSE_S = 5.0
_STORE = ".cache/starling-bench"  # below the user's home there
_DISK_MIN = 256 << 20  # bytes that a host must have free
_CLOCK_OFF_S = 1.0
_NAME = re.compile(r"[A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class Away:
    """A run as an adapter sees it where its processes are on another host."""

    id: str
    base: Path

    def directory(self, name: str) -> Path:
        """A directory for files of `name`."""
        return self.base


class Site:
    """A host while a federation execution runs there."""

    def __init__(
        self, host: Host, connection: asyncssh.SSHClientConnection, sftp: asyncssh.SFTPClient,
        keeper: Keeper, store: PurePosixPath,
    ) -> None:  # fmt: skip
        self.host, self.keeper = host, keeper
        self._connection, self._sftp, self._store = connection, sftp, store
        self._brought: dict[str, int] = {}

    @property
    def number(self) -> str:
        """Its address, as the connection has it."""
        return self._connection.get_extra_info("peername")[0]

    @property
    def out(self) -> str:
        """Where processes write there."""
        return f"{self.keeper.directory}/out"

    def run(self, run: identity.Run) -> Away:
        """The run, for an adapter."""
        return Away(run.id, Path(self.keeper.directory))

    def there(self, text: str, parts: "Parts") -> str:
        """A text with this machine's paths, for that host."""
        names = dict(parts.folders())
        any_of = "|".join(re.escape(local) for local in names)
        return re.sub(
            rf"(?:{any_of})(?![\w.-])", lambda found: f"{self._store}/{names[found[0]]}", text
        )

    async def pipe(self, path: str) -> str:
        """The control pipe's address there, when it listens at `path` here."""
        there = f"{self.keeper.directory}/pipe"
        await self._connection.forward_remote_path(there, path)
        return f"unix:{there}"

    async def said(self, command: list[str], env: dict[str, str]) -> str:
        """What a command says there; BenchError if it fails."""
        given = [f"{name}={value}" for name, value in env.items()]
        return await _said(self._connection, self.host, shlex.join(["env", *given, *command]))

    async def bring_home(self, directory: Path) -> None:
        """What has been written there since the last time is appended to the files in `directory`;
        what an earlier try left of a file other than a log is replaced."""
        if self.keeper.lost:
            return
        try:
            async with asyncio.timeout(_FETCH_S) as patience:
                await self._bring_home(directory, patience)
        except (asyncssh.Error, TimeoutError) as e:
            self.keeper.give_up()
            what = str(e) or f"nothing came for {_FETCH_S:.0f} s"
            raise _failed(self.host, f"what it wrote can't be brought home: {what}") from None
        except OSError as e:
            raise cannot("write results", e, directory) from None

    async def _bring_home(self, directory: Path, patience: asyncio.Timeout) -> None:
        clock = asyncio.get_running_loop().time
        for entry in await self._sftp.readdir(self.out):
            name, size = str(entry.filename), entry.attrs.size or 0
            if name[:1] == "." or not _NAME.fullmatch(name) or self._brought.get(name, 0) >= size:
                continue
            # By pieces: of a large sample all takes long, and more memory than there may be.
            async with self._sftp.open(f"{self.out}/{name}", "rb") as source:
                while (known := self._brought.get(name, 0)) < size:
                    if not (data := await source.read(min(size - known, _PIECE), known)):
                        break
                    patience.reschedule(clock() + _FETCH_S)
                    fresh = known == 0 and not name.endswith(".log")
                    with (directory / name).open("wb" if fresh else "ab") as target:
                        target.write(data)
                    self._brought[name] = known + len(data)


@dataclass(frozen=True)
class Parts:
    """What federates need that is here: their program with its adapters, an RTI's install tree."""

    program: Path
    root: Path | None
    fom: Path

    def folders(self) -> Iterator[tuple[str, str]]:
        """Folders here, and their names there; the inner ones first."""
        found = [(str(self.program.parent), "bin"), (str(self.fom.parent), "fom")]
        found += [(str(self.root), "rti")] if self.root else []
        yield from sorted(found, key=lambda one: -len(one[0]))

    def files(self) -> dict[str, Path]:
        """By their names there."""
        beside = [self.program, *self.program.parent.glob("libbench-*.so")]
        beside += [p for p in self.program.parent.glob("bench-*") if p.is_file()]
        found = {f"bin/{p.name}": p for p in beside} | {f"fom/{self.fom.name}": self.fom}
        for part in ("lib", "lib64", "bin") if self.root else ():
            for path in sorted((self.root / part).rglob("*")):
                name = path.relative_to(self.root)
                if path.is_file() and not any(word[0] == "." for word in name.parts):
                    found[f"rti/{name}"] = path
        return found


def _failed(host: Host, what: str, do: str = "", code: str = "STL-SSH-002") -> BenchError:
    return BenchError(code, f"host '{host.name}' ({host.address}): {what}", "", do)


async def _connect(host: Host) -> asyncssh.SSHClientConnection:
    options: dict = {}
    if host.user:
        options["username"] = host.user
    if host.port:
        options["port"] = host.port
    if host.key:
        options["client_keys"] = [host.key]
    if host.known_hosts:
        options["known_hosts"] = host.known_hosts
    try:
        return await asyncssh.connect(
            host.address, connect_timeout=_CONNECT_S, login_timeout=_CONNECT_S, **options
        )
    except (OSError, asyncssh.Error, ValueError, TimeoutError) as e:
        do = "is it up, and does ssh reach it with this key?"
        if isinstance(e, asyncssh.HostKeyNotVerifiable):
            do = f"ssh {host.address} once, or name its 'known_hosts'"
        elif isinstance(e, asyncssh.PermissionDenied | asyncssh.KeyImportError):
            do = "name its 'user' and 'key', or add the key to ssh-agent"
        raise BenchError(
            "STL-SSH-001",
            f"host '{host.name}' can't be reached by ssh: {str(e) or type(e).__name__}",
            f"{host.address}:{host.port or 22}", do, UNREACHABLE,
        ) from None  # fmt: skip


def check(hosts: list[Host]) -> None:
    """BenchError if one of them can't be reached. Not within an event loop."""

    async def reach() -> None:
        for host in hosts:
            (await _connect(host)).abort()

    if hosts:
        asyncio.run(reach())


async def _said(connection: asyncssh.SSHClientConnection, host: Host, command: str) -> str:
    done = await asyncio.wait_for(connection.run(command), _COPY_S)
    if done.exit_status != 0:
        text = str(done.stderr).strip().splitlines()
        raise _failed(host, f"'{command}' fails there: {text[-1] if text else done.exit_status}")
    return str(done.stdout)


async def _deploy(
    connection: asyncssh.SSHClientConnection, sftp: asyncssh.SFTPClient, host: Host, parts: Parts
) -> PurePosixPath:
    """Copies what is not there or is another; where it is. What is there afterwards is what is
    here: checksums are compared."""
    places = [os.uname().nodename, *(local for local, _ in parts.folders())]
    name = hashlib.sha256("\0".join(places).encode()).hexdigest()[:16]
    store = PurePosixPath(str(await sftp.realpath("."))) / (host.directory or _STORE) / name
    files = parts.files()
    # A library's further names are links to a file beside it.
    links = {
        name: os.readlink(path)
        for name, path in files.items()
        if path.is_symlink() and str(PurePosixPath(name).with_name(os.readlink(path))) in files
    }
    wanted = {name: _sum(path) for name, path in files.items() if name not in links}
    go = f"mkdir -p {shlex.quote(str(store))} && cd {shlex.quote(str(store))} && "

    async def others() -> list[str]:
        look = go + "find . -type f -exec sha256sum {} +"
        lines = (await _said(connection, host, look)).splitlines()
        there = {line[66:].removeprefix("./"): line[:64] for line in lines}
        return [name for name, sum in wanted.items() if there.get(name) != sum]

    missing = await others()
    for folder in {(store / name).parent for name in missing}:
        await sftp.makedirs(str(folder), exist_ok=True)
    for name in missing:
        # Whoever runs the former one keeps it.
        fresh = f"{store}/{name}.new"
        await sftp.put(str(files[name]), fresh, follow_symlinks=True)
        await sftp.chmod(fresh, 0o755 if os.access(files[name], os.X_OK) else 0o644)
        await sftp.posix_rename(fresh, f"{store}/{name}")
    if missing and (wrong := await others()):
        raise _failed(host, f"{wrong[0]} is not what was copied there", "is its disk full?")
    for name, target in links.items():
        go += f"ln -sfn {shlex.quote(target)} {shlex.quote(name)} && "
    await _said(connection, host, f"{go} true")
    return store


def _sum(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as e:
        raise cannot("read what is to be copied", e, path) from None


async def _keep(
    connection: asyncssh.SSHClientConnection, host: Host, store: PurePosixPath, name: str,
    former: str = "",
) -> tuple[Keeper, asyncssh.SSHClientProcess]:  # fmt: skip
    """A keeper of this name; the one that is called `former` is ended before."""
    command = f"BENCH_KEPT_FOR={name} exec {shlex.quote(f'{store}/bin/{PROGRAM}')} --run {name}"
    command += f" --end {former}" if former else ""
    process = await connection.create_process(command, encoding=None)
    keeper = Keeper(f"host '{host.name}' ({host.address})", process.stdout, process.stdin)
    await keeper.greeted()
    return keeper, process


async def _leave(keeper: Keeper, process: asyncssh.SSHClientProcess, noted: "_Noted") -> None:
    """Ends a keeper; the note of one that was not heard to end well stays, so that the host is
    cleaned when it can be reached."""
    heard = not keeper.lost
    await keeper.close()
    with contextlib.suppress(asyncssh.Error, OSError, TimeoutError):
        if heard:
            await asyncio.wait_for(process.wait_closed(), _CLOSE_S)
        if process.exit_status == 0:
            noted.over()


@contextlib.asynccontextmanager
async def places(
    hosts: list[Host], run: identity.Run, parts: Parts, quiet: list[str]
) -> AsyncIterator[dict[str, Place]]:
    """The places of these hosts by name, as long as it lasts: connected, with all that federates
    need, and a keeper."""
    async with contextlib.AsyncExitStack() as stack:
        found = {}
        for host in hosts:
            connection = await _connect(host)
            stack.callback(connection.abort)
            try:
                sftp = await connection.start_sftp_client()
                store = await asyncio.wait_for(_deploy(connection, sftp, host, parts), _COPY_S)
                cleaned = await _end_former(connection, run, host)
                noted = _Noted(run, host, store)
                keeper, process = await _keep(connection, host, store, noted.name)
                stack.push_async_callback(_leave, keeper, process, noted)
                keeper.cleaned = cleaned + keeper.cleaned
                site = Site(host, connection, sftp, keeper, store)
                await sftp.mkdir(site.out)
                if quiet:
                    await keeper.quiet(quiet)
            except TimeoutError as e:
                what = f"copying there what federates need takes more than {_COPY_S:.0f} s"
                do = "is the RTI's 'root' its install tree alone? its lib and bin are copied"
                raise _failed(host, str(e) or what, do) from None
            except asyncssh.Error as e:
                do = "does its shell say something by itself (.bashrc), where nobody sits?"
                raise _failed(host, str(e) or type(e).__name__, do) from None
            except OSError as e:
                raise _failed(host, str(e)) from None
            found[host.name] = Place(address=host.address, site=site)
        yield found


async def look(places: dict[str, Place]) -> dict[str, dict]:
    """What there is to know of each host; BenchError if one can't serve."""
    found = {}
    for name, place in places.items():
        if place.site is None:
            continue
        facts = found[name] = await place.site.keeper.found()
        if facts["disk_free_bytes"] < _DISK_MIN:
            free = f"{facts['disk_free_bytes'] / 1e6:,.0f} MB"
            raise _failed(place.site.host, f"only {free} of its disk are free", "make room there")
    return found


def doubts(found: dict[str, dict]) -> list[str]:
    """What of that makes figures doubtful, in words."""
    said = []
    for name, facts in found.items():
        if abs(facts["clock_ahead_s"]) > max(_CLOCK_OFF_S, facts["clock_bound_s"]):
            said.append(f"the clock of host '{name}' is {facts['clock_ahead_s']:+.3g} s off")
        said += [f"{line} on host '{name}', left by who was lost" for line in facts["cleaned"]]
        said += busy(f"on host '{name}'", facts)
    return said


# ---- what lost managers and connections left


class _Noted:
    """A keeper that is written down for whoever cleans up after a dead manager, or after a host
    that was lost."""

    def __init__(self, run: identity.Run, host: Host, store: PurePosixPath) -> None:
        self.name = uuid.uuid4().hex
        self._path = run.temporary / identity.HOSTS
        entry = {"run": self.name, "store": str(store), "host": host.model_dump()}
        _write(self._path, [*_noted(self._path), entry])

    def over(self) -> None:
        """Nothing of it is there any more."""
        _write(self._path, [e for e in _noted(self._path) if e["run"] != self.name])


def _noted(path: Path) -> list[dict]:
    return json.loads(path.read_text()) if path.exists() else []


def _write(path: Path, entries: list[dict]) -> None:
    """Whole or not at all: a manager may die at any moment."""
    if entries:
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(entries))
        fresh.replace(path)
    else:
        path.unlink(missing_ok=True)


async def _end_noted(connection: asyncssh.SSHClientConnection, host: Host, entry: dict) -> list:
    """Ends a keeper that nobody hears any more; what that was, one line each."""
    store, former = PurePosixPath(entry["store"]), entry["run"]
    keeper, _ = await _keep(connection, host, store, f"{former}-clean", former)
    await keeper.close()
    return keeper.cleaned


async def _end_former(
    connection: asyncssh.SSHClientConnection, run: identity.Run, host: Host
) -> list[str]:
    """What an earlier federation execution of this run left there when its connection was lost."""
    path = run.temporary / identity.HOSTS
    told = []
    for entry in [e for e in _noted(path) if e["host"] == host.model_dump()]:
        told += await _end_noted(connection, host, entry)
        _write(path, [e for e in _noted(path) if e != entry])
    return told


def clean() -> list[str]:
    """Ends what was left on hosts; what that was, one line each."""
    told: list[str] = []
    for directory in identity.left():
        path = directory / identity.HOSTS
        if not path.exists():
            continue
        try:
            noted = [(entry, Host(**entry["host"])) for entry in read_json(read_text(path))]
            if not all(isinstance(e[key], str) for e, _ in noted for key in ("store", "run")):
                raise ValueError("a store or a run is no text")
        except (OSError, LookupError, TypeError, ValueError) as e:
            why = (getattr(e, "strerror", None) or str(e)).splitlines()[0]
            told.append(
                f"what hosts a dead manager had can't be read from {path} ({why}): look there by "
                f"hand, then remove {directory}"
            )
            continue
        told += asyncio.run(_clean_all(path, noted))
    return told


async def _clean_all(path: Path, noted: list[tuple[dict, Host]]) -> list[str]:
    told, left = [], []
    for entry, host in noted:
        try:
            connection = await _connect(host)
            try:
                lines = await _end_noted(connection, host, entry)
                told += [f"{line} on host '{host.name}'" for line in lines]
            finally:
                connection.abort()
        except (BenchError, asyncssh.Error, OSError) as e:
            what = e.what if isinstance(e, BenchError) else str(e)
            told.append(f"{what}; it stays noted in {path}")
            left.append(entry)
    _write(path, left)
    return told

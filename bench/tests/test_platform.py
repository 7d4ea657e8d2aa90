"""The platform knows no study."""

import asyncio
import importlib
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import typer
from rich.text import Text

from starling_bench import cli
from starling_bench.conducting.pipe import ControlPipe
from starling_bench.machines import hosts, identity
from starling_bench.machines.rti import Rti, adapter_for
from starling_bench.study import apps

BENCH = Path(__file__).parents[1]
STUDIES = BENCH / "starling_bench" / "studies"


def _programs() -> dict[str, str]:
    """Federates' programs and commands of their own, by study: names of that, too."""
    found = {}
    for name, _ in apps():
        study = importlib.import_module(f"starling_bench.studies.{name}").STUDY
        found |= {word: name for word in (study.program, study.manager) if word and " " not in word}
    return found


PROGRAMS = _programs()
# Of Python and English: these are a study only in quotes, or as a module or folder.
USUAL = {"range"}


def _words(names: list[str]) -> list[str]:
    apart = [rf"(?<=[\"'./]){name}(?=[\"'./])" for name in names if name in USUAL]
    return [name for name in names if name not in USUAL] + apart


def test_a_studys_name_occurs_in_its_folder_only():
    names = [name for name, _ in apps()]
    assert sorted(names) == sorted(
        p.name for p in STUDIES.iterdir() if (p / "__init__.py").exists()
    )
    own = re.compile(r"\b(" + "|".join(_words([*names, *PROGRAMS])) + r")\b", re.IGNORECASE)
    found = []
    for path in [*(BENCH / "starling_bench").rglob("*.py"), *(BENCH / "cpp").rglob("*.[ch]pp")]:
        study = path.relative_to(STUDIES).parts[0] if path.is_relative_to(STUDIES) else ""
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for name in own.findall(line):
                name = name.strip("\"'./").lower()
                if PROGRAMS.get(name, name) != study:
                    found.append(f"{path.relative_to(BENCH)}:{number}: {line.strip()}")
    assert found == []


def test_a_study_is_no_larger_than_it_may_be():
    for study in (path.parent for path in STUDIES.glob("*/__init__.py")):
        lines = sum(len(path.read_text().splitlines()) for path in study.rglob("*.py"))
        assert lines <= 600, study.name


def _helps(command, name: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a command's --help and of those below it."""
    yield name, command.help or ""
    yield from ((f"{name} {p.name}", getattr(p, "help", None) or "") for p in command.params)
    for below, one in getattr(command, "commands", {}).items():
        yield from _helps(one, f"{name} {below}")


def test_no_words_of_a_commands_help_are_taken_for_markup():
    """Where tables of a file are named, as [[rti]]."""
    texts = dict(_helps(typer.main.get_command(cli.app)))
    assert any("[[rti]]" in Text.from_markup(text).plain for text in texts.values())
    for name, text in texts.items():
        assert Text.from_markup(text).plain == text.replace("[\\[", "[["), name


def test_what_was_said_before_the_end_is_heard_though_nobody_listens_any_more(tmp_path):
    async def talk() -> list[dict]:
        heard: list[dict] = []
        async with ControlPipe(heard.append, tmp_path) as pipe:
            master = socket.socket(socket.AF_UNIX)
            master.connect(str(tmp_path / "pipe"))
            master.sendall(b'{"event": "hello"}\n')
            while not heard:
                await asyncio.sleep(0)
            master.sendall(b'{"event": "sample"}\n' * 1000)
            master.close()
            for _ in range(3):
                pipe.say(event="left")
                await asyncio.sleep(0)
        return heard

    assert [e["event"] for e in asyncio.run(talk())] == ["hello"] + 1000 * ["sample"]


def test_runs_at_a_time_without_unix_domain_sockets_have_ports_of_their_own():
    """What federates start by themselves would be at one port of the host, and another run's."""
    rti = Rti(adapter="starling", env={"STARLING_NET_UNIX": "false"})
    run = identity.Run()
    try:
        made = [adapter_for(rti, "").prepare(rti, None, run) for _ in range(2)]
    finally:
        run.end()
    ports = [one.server_port for one in made]
    assert None not in ports and ports[0] != ports[1]
    for one, port in zip(made, ports, strict=True):
        assert one.env["STARLING_CONNECT_ADDRESS"] == f"127.0.0.1:{port}"
        assert one.server[-2:] == ["--listen", f"127.0.0.1:{port}"]


def test_who_is_started_as_the_manager_dies_does_not_begin():
    """Its parent is another one by then, whose death would end it."""
    for manager, code in ((os.getpid(), 3), (os.getpid() + 1, 127)):
        child = os.fork()
        if child == 0:
            hosts._begin(None, None, manager)
            os._exit(3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == code


def _map() -> dict[str, list[str]]:
    """The README's: modules by folder, in its order."""
    page = (BENCH / "README.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"\| folder \| what \| modules \|\n\|.*\n((?:\|.*\n)+)", page)
    rows = [line.split("|")[1:4] for line in lines.splitlines()]
    return {folder.strip(): re.findall(r"`(\w+)`", modules) for folder, _, modules in rows}


def test_every_module_stands_in_the_readmes_map():
    """A newcomer looks there first; what is no longer there would lead nowhere."""
    there: dict[str, list[str]] = {}
    for path in (BENCH / "starling_bench").rglob("*.py"):
        folder = path.parent.relative_to(BENCH / "starling_bench").as_posix().removeprefix(".")
        if folder.split("/")[0] != "studies" and path.stem[:2] != "__":
            there.setdefault(folder, []).append(path.stem)
    assert {f: sorted(m) for f, m in _map().items()} == {f: sorted(m) for f, m in there.items()}


def test_a_folder_uses_only_those_above_it():
    folders = list(_map())
    for number, folder in enumerate(folders[1:], 1):
        for path in (BENCH / "starling_bench" / folder).glob("*.py"):
            used = re.findall(r"^ *from \.\.(\w+)[. ]", path.read_text("utf-8"), re.MULTILINE)
            assert set(used) & set(folders) <= set(folders[:number]), path

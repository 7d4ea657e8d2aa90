"""Services that several runs want to be quiet: the last of them starts each again, once."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from starling_bench.machines import identity

BMFED = os.environ.get("BMFED")
pytestmark = pytest.mark.skipif(not BMFED, reason="BMFED is not set")

# A service runs where its file is there; what is done to it is written down.
SYSTEMCTL = """#!/bin/sh
echo "$1 $3" >> "{0}/calls"
case "$1" in
is-active) [ -e "{0}/services/$3" ] ;;
stop) rm -f "{0}/services/$3" ;;
start) touch "{0}/services/$3" ;;
esac
"""


class Keeper:
    """bench-keep, as a manager talks with it."""

    def __init__(self, env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [Path(BMFED).with_name("bench-keep")], env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self.hello = json.loads(self.process.stdout.readline())

    def quiet(self, *services: str) -> list[str]:
        self.process.stdin.write(json.dumps({"do": "quiet", "services": services}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["quiet"]

    def end(self) -> None:
        self.process.stdin.close()
        assert self.process.wait(60) == 0
        self.process.stdout.close()

    def die(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Host:
    """One with two services that run."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (directory / "services").mkdir()
        (directory / "tmp").mkdir()
        for name in ("noisy", "loud"):
            (directory / "services" / name).touch()
        systemctl = directory / "bin" / "systemctl"
        systemctl.parent.mkdir()
        systemctl.write_text(SYSTEMCTL.format(directory))
        systemctl.chmod(0o755)
        path = f"{systemctl.parent}:{os.environ['PATH']}"
        self.env = {**os.environ, "PATH": path, "TMPDIR": str(directory / "tmp")}

    def keeper(self) -> Keeper:
        return Keeper(self.env)

    def running(self) -> list[str]:
        return sorted(os.listdir(self.directory / "services"))

    def started(self) -> int:
        return (self.directory / "calls").read_text().count("start noisy")


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_the_last_run_that_wants_a_service_quiet_starts_it(host):
    first, other = host.keeper(), host.keeper()
    assert first.quiet("noisy", "absent") == ["noisy"]
    assert other.quiet("noisy", "loud") == ["noisy", "loud"]
    assert host.running() == []
    first.end()
    assert host.running() == []
    other.end()
    assert host.running() == ["loud", "noisy"] and host.started() == 1
    # What nobody stopped stays as it is.
    (host.directory / "services" / "noisy").unlink()
    alone = host.keeper()
    assert alone.quiet("noisy") == []
    alone.end()
    assert host.running() == ["loud"]
    assert os.listdir(host.directory / "tmp") == []


def test_of_runs_that_end_together_one_starts_it(host):
    for n in range(1, 11):
        every = [host.keeper() for _ in range(3)]
        assert all(one.quiet("noisy") == ["noisy"] for one in every)
        for one in every:
            one.process.stdin.close()
        for one in every:
            assert one.process.wait(60) == 0
            one.process.stdout.close()
        assert host.running() == ["loud", "noisy"] and host.started() == n


@pytest.mark.parametrize("by", ["a keeper", "a manager"])
def test_who_cleans_up_leaves_it_to_a_run_that_lives(host, monkeypatch, by):
    dead, other = host.keeper(), host.keeper()
    assert dead.quiet("noisy", "loud") == ["noisy", "loud"] and other.quiet("noisy") == ["noisy"]
    dead.die()
    told = ["left service noisy to another run, which has it stopped", "started service loud",
            f"removed {dead.hello['directory']}"]  # fmt: skip
    if by == "a keeper":
        third = host.keeper()
        assert third.hello["cleaned"] == told
        third.end()
    else:
        monkeypatch.setenv("PATH", host.env["PATH"])
        monkeypatch.setattr(tempfile, "tempdir", host.env["TMPDIR"])
        assert [line for line in identity.clean() if str(host.directory) in line
                or "service" in line] == told  # fmt: skip
    assert host.running() == ["loud"]
    other.end()
    assert host.running() == ["loud", "noisy"] and host.started() == 1
    assert os.listdir(host.directory / "tmp") == []


def test_a_service_that_does_not_start_is_told_and_tried_again(host, monkeypatch):
    """What names it stays until it runs."""
    dead = host.keeper()
    assert dead.quiet("noisy", "loud") == ["noisy", "loud"]
    dead.die()
    monkeypatch.setenv("PATH", host.env["PATH"])
    monkeypatch.setattr(tempfile, "tempdir", host.env["TMPDIR"])
    systemctl = host.directory / "bin" / "systemctl"
    whole = systemctl.read_text()
    systemctl.write_text(whole.replace("start) touch", 'start) [ "$3" != noisy ] && touch'))
    mine = lambda: [line for line in identity.clean() if "service " in line]  # noqa: E731
    assert mine() == [
        "service noisy is stopped and does not start: start it", "started service loud"
    ]  # fmt: skip
    assert host.running() == ["loud"] and Path(dead.hello["directory"]).exists()
    systemctl.write_text(whole)
    assert mine() == ["started service noisy"]
    assert host.running() == ["loud", "noisy"] and os.listdir(host.directory / "tmp") == []

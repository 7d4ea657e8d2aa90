"""What a master says and waits for between samples, with a partner that follows a script."""

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

BMFED = os.environ.get("BMFED")
pytestmark = pytest.mark.skipif(not BMFED, reason="BMFED is not set")


def last_line(said: str) -> dict:
    return json.loads(said.splitlines()[-1])


def program() -> Path:
    return Path(BMFED).with_name("bench-master")


def test_that_all_of_a_sample_was_sent_is_not_said_of_the_next():
    """A returnee that took it for said of the next gave up at the first loss of its partner's."""
    said = last_line(subprocess.check_output([program()], text=True, timeout=60))
    assert (said["answered"], said["over"]) == (2 * 4, [])


def conducted(at: Path) -> tuple[list[dict], dict]:
    """A master that waits for its manager after each sample: what the manager heard, and what came
    of it."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(at))
        listener.listen()
        master = subprocess.Popen([program(), f"unix:{at}"], text=True, stdout=subprocess.PIPE)
        heard = []
        with listener.accept()[0] as pipe, pipe.makefile() as lines:
            pipe.sendall(b'{"event": "left", "federate": "a"}\n')  # it will have, once it is asked
            for line in lines:
                heard.append(json.loads(line))
                if heard[-1]["event"] == "between":
                    pipe.sendall(b'{"event": "on"}\n')
        out, _ = master.communicate(timeout=60)
        assert master.returncode == 0
        return heard, last_line(out)


def test_a_master_does_not_sleep_on_while_it_is_told_to_go_on(tmp_path):
    """It would begin its samples cold."""
    heard, said = conducted(tmp_path / "pipe")
    assert sum(event["event"] == "between" for event in heard) == 2
    assert said["longest"] == 0


def test_the_manager_is_told_which_libraries_each_federate_has_loaded(tmp_path):
    heard, _ = conducted(tmp_path / "pipe")
    told = {event["federate"]: event["libraries"] for event in heard if "libraries" in event}
    assert told == {"c": ["/a/libmaster.so"], "a": ["/a/libpartner.so"]}


def slow(how: str) -> subprocess.CompletedProcess:
    return subprocess.run([program(), how], text=True, capture_output=True, timeout=120)


def test_whose_words_wait_behind_data_is_not_taken_for_dead():
    """An RTI that delivers slowly delivers what was said after the data behind these."""
    found = slow("slow")
    assert found.returncode == 0, found.stderr
    assert last_line(found.stdout)["answered"] == 12


def test_who_dies_while_data_come_is_missed_and_it_is_told_that_only_data_came():
    found = slow("dead")
    assert found.returncode == 1
    assert "federate 'a' was not heard for" in found.stderr
    assert "nothing but data came, and for" in found.stderr

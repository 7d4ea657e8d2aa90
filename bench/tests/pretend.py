#!/usr/bin/env python3
"""Pretends to be bmfed where only process supervision is under test; its name says what it does."""

import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

args = sys.argv[1:]


def option(key: str) -> list[str]:
    return [args[i + 1] for i, a in enumerate(args) if a == key]


name = option("--name")[0]
if "--master" not in args:
    if name == "refuses":
        print("bmfed: FOM not understood", file=sys.stderr)
        sys.exit(1)
    if name == "unreachable":
        sys.exit(3)
    if name == "killed":
        while not list(Path(option("--out")[0]).glob("halfway")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        Path(option("--out")[0], "stubborn.ready").touch()
        while True:
            time.sleep(1)
    if name == "parent":
        child = subprocess.Popen(["sleep", "600"], start_new_session=True)
        Path(option("--out")[0], "orphan").write_text(str(child.pid))
    while not list(Path(option("--out")[0]).glob("done")):
        time.sleep(0.01)
    sys.exit(0)

out = Path(option("--out")[0])
pipe = socket.socket(socket.AF_UNIX)
pipe.connect(option("--manager")[0].removeprefix("unix:"))


def tell(**event: object) -> None:
    pipe.sendall(json.dumps(event).encode() + b"\n")


def wait_for_manager() -> None:
    """Between samples the manager does what it has to."""
    tell(event="between")
    said = b""
    while b'"on"' not in said:
        part = pipe.recv(4096)
        if not part:
            sys.exit(1)
        said += part


if "stubborn" in option("--pair")[0]:
    while not (out / "stubborn.ready").exists():
        time.sleep(0.01)
    print("bmfed: I give up", file=sys.stderr)
    sys.exit(1)

# Its seed is its federation's, without the run's part, so that two are alike but not the same; a
# factor makes one slow.
random.seed(option("--federation")[0].rpartition("-")[0])
unrecorded = int(os.environ.get("PRETEND_UNRECORDED", "0"))
factor = float(os.environ.get("PRETEND_FACTOR", "1"))
# What a master may say at its first sample that is no good, by name.
does = os.environ.get("PRETEND_DOES", "")
CHANGES = {
    "nan": {"rate_hz": float("nan")}, "negative": {"rate_hz": -3}, "text": {"send_s": "x"},
    "markup": {"receiver": "[bold]x[/nope]"}, "line break": {"sender": "a\nb"},
    "other sample": {"sample": 7}, "other bytes": {"bytes": 99999},
}  # fmt: skip
LINES = {
    "error": b'{"event": "error", "message": "no good"}\n', "half": b'{"event": "ali',
    "inf": b'{"event": "sample", "rate_hz": 1e999}\n', "deep": b"[" * 100_000 + b"\n",
    "infinite test": b'{"event": "test", "test": Infinity}\n',
    "rti is a list": b'{"event": "joined", "rti": ["a"]}\n',
    "nul": b'{"event": "joined", "rti": "a", "libraries": ["a\\u0000b", "/etc"]}\n',
    "device": b'{"event": "joined", "rti": "a", "libraries": ["/dev/zero"]}\n',
    "other test": b'{"event": "test", "test": 99}\n',
}  # fmt: skip
while does == "only lives":
    tell(event="alive")
    time.sleep(0.01)
tell(event="joined", federate=name, rti="stand-in 1")
tests = option("--test")
sender, receiver = option("--pair")[0].split(":")
for test in map(json.loads, tests):
    number = test["number"]
    tell(event="test", test=number, of=len(tests), description=test)
    updates, latency = int(test["updates"]), test["kind"].startswith("RT")
    for sample in range(1, int(test["samples"]) + 1):
        ill = {"killed", "hangs"} & {sender, receiver} and not (out / "cured").exists()
        if ill and number == 2:
            (out / "halfway").touch()
            time.sleep(600)
        trips = [factor * random.randint(20_000, 40_000) for _ in range(updates)] if latency else []
        rate = updates / factor * random.uniform(0.99, 1.01)
        if trips:
            path = out / f"rtt_test{number}_pair1.raw"
            trips = trips[unrecorded:]
            with path.open("wb" if sample == 1 else "ab") as f:
                f.write(struct.pack(f"<II{len(trips)}f", sample, len(trips), *trips))
        told = dict(
            event="sample", test=number, kind=test["kind"], transport=test["transport"],
            loop=int(test["loop"]), types=int(test["types"]),
            instances=int(test["instances"]), buffers=int(test["buffers"]),
            bytes=int(test["bytes"]), updates=updates, pair=1, sender=sender, receiver=receiver,
            sample=sample, sent=updates, received=updates, lost=0, late=0, doubled=0,
            came_reliably=updates, heartbeats=0, unrecorded=unrecorded if trips else 0,
            send_s=updates / rate, receive_s=(updates - 1) / rate, rate_hz=rate,
            mb_per_s=rate * int(test["bytes"]) * int(test["buffers"]) * 1e-6,
        )  # fmt: skip
        if does == "twice":
            tell(**told)
        changed = CHANGES.get(does, {})
        tell(**told | changed)
        if does == "ends":
            (out / "done").touch()
            sys.exit(0)
        if line := LINES.get(does):
            pipe.sendall(line)
            if line[-1:] != b"\n":
                pipe.close()
                (out / "done").touch()
                sys.exit(0)
            does = ""
        if "--paced" in args:
            wait_for_manager()
tell(event="left", federate=name)
(out / "done").touch()

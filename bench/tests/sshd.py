"""Real sshds, each in a network namespace of its own as a host would be: what this machine has
built is out of their sight, so that a federate runs there with what was copied, or not at all.
"""

import itertools
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from runs import BMFED, FOM, LIMIT_S, RTI_ROOT, Run, text

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def possible() -> bool:
    """Root in a container may lack the right to make network namespaces."""
    tools = all(map(shutil.which, ("ip", "unshare", "ssh-keygen")))
    if not (BMFED and RTI_ROOT and SSHD and tools):
        return False
    return subprocess.run(["unshare", "-n", "-m", "true"], capture_output=True).returncode == 0


_NUMBERS = itertools.count()
REASON = "BMFED, RTI_ROOT, sshd, iproute2 and root are needed"


def tool(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True, capture_output=True)


class Machine:
    """A host with an sshd."""

    def __init__(self, net: "Net", name: str, number: int) -> None:
        self.name, self._net = name, net
        self.space = f"{net.prefix}{name}"
        self.address = f"{net.subnet}.{number}"
        self.directory = net.directory / name
        for part in ("tmp", "store", "bin"):
            (self.directory / part).mkdir(parents=True)
        tool("ip", "netns", "add", self.space)
        port = f"{net.prefix}{name}"
        tool("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", self.space)
        tool("ip", "link", "set", port, "master", net.bridge, "up")
        tool("ip", "-n", self.space, "addr", "add", f"{self.address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            tool("ip", "-n", self.space, "link", "set", device, "up")
        config = self.directory / "sshd_config"
        config.write_text(f"""
ListenAddress {self.address}
HostKey {net.directory}/host
AuthorizedKeysFile {net.directory}/user.pub
PidFile none
StrictModes no
PasswordAuthentication no
PermitRootLogin prohibit-password
Subsystem sftp internal-sftp
SetEnv TMPDIR={self.directory}/tmp PATH={self.directory}/bin:/usr/sbin:/usr/bin:/sbin:/bin
""")
        hidden = [Path(BMFED).parent, RTI_ROOT, FOM.parent]
        mounts = "".join(f"mount -t tmpfs none '{path}' && " for path in hidden)
        self.log = (self.directory / "sshd.log").open("wb")
        self.sshd = subprocess.Popen(
            ["ip", "netns", "exec", self.space, "sh", "-c",
             f"{mounts} exec {SSHD} -D -e -f {config}"],
            stdout=self.log, stderr=self.log,
        )  # fmt: skip
        deadline = time.monotonic() + LIMIT_S
        while b"listening" not in (self.directory / "sshd.log").read_bytes():
            assert self.sshd.poll() is None, (self.directory / "sshd.log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def plug(self, verb: str) -> None:
        """Its cable: "up" or "down"."""
        tool("ip", "link", "set", self.space, verb)

    def sessions(self) -> list[int]:
        """Processes of sshd that serve a connection."""
        children = Path(f"/proc/{self.sshd.pid}/task/{self.sshd.pid}/children")
        return [int(pid) for pid in children.read_text().split()]

    def cut(self) -> None:
        """Ends every connection."""
        for pid in self.sessions():
            os.kill(pid, signal.SIGKILL)

    def hang(self) -> None:
        """From now on its connections are deaf: it does not notice that who called has gone."""
        for pid in self.sessions():
            os.kill(pid, signal.SIGSTOP)

    def left(self) -> list[str]:
        """What keepers have there."""
        return [path.name for path in (self.directory / "tmp").iterdir()]

    def table(self, more: str = "") -> str:
        """It in a test sequence file."""
        return (
            f'[[host]]\nname = "{self.name}"\nkind = "ssh"\naddress = "{self.address}"\n'
            f'user = "root"\nkey = "{self._net.directory}/user"\n'
            f'known_hosts = "{self._net.directory}/known_hosts"\n'
            f'directory = "{self.directory}/store"\n{more}\n'
        )

    def close(self) -> None:
        self.cut()
        self.sshd.kill()
        self.sshd.wait()
        self.log.close()
        subprocess.run(["ip", "netns", "delete", self.space], capture_output=True)


class Net:
    """Two of them, and a network that joins them with this machine."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        # A namespace's interfaces go some time after it: no number is taken twice.
        number = 10 * os.getpid() + next(_NUMBERS) % 10
        assert any(map(self._takes, range(number, number + 100))), "no bridge can be made"
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd wants it
        tool("ip", "addr", "add", f"{self.subnet}.254/24", "dev", self.bridge)
        tool("ip", "link", "set", self.bridge, "up")
        for name in ("host", "user"):
            tool("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", directory / name)
        key = " ".join((directory / "host.pub").read_text().split()[:2])
        (directory / "known_hosts").write_text(
            "".join(f"{self.subnet}.{n} {key}\n" for n in (1, 2))
        )
        self.machines: list[Machine] = []
        for number, name in enumerate(("a", "b"), 1):
            self.machines.append(Machine(self, name, number))

    def _takes(self, number: int) -> bool:
        """Names and addresses by this number, which nobody has, nor a killed run has left."""
        self.prefix, self.bridge = f"b{number}", f"b{number}br"
        self.subnet = f"10.{78 + number // 250 % 100}.{number % 250}"
        spaces = (Path("/run/netns") / f"{self.prefix}{name}" for name in "ab")
        there = ["ip", "-4", "route", "show", f"{self.subnet}.0/24"]
        if any(map(Path.exists, spaces)) or subprocess.check_output(there):
            return False
        bridge = ["ip", "link", "add", self.bridge, "type", "bridge"]
        return subprocess.run(bridge, capture_output=True).returncode == 0

    def close(self) -> None:
        for machine in self.machines:
            machine.close()
        subprocess.run(["ip", "link", "delete", self.bridge], capture_output=True)


@pytest.fixture
def net(run: Run) -> Iterator[Net]:
    made = Net(run.directory)
    yield made
    made.close()


def two(net: Net, test: str, more: str = "", **given: str) -> str:
    """A test sequence file whose master is on the one and its subordinate on the other."""
    tsf = text(test, **given).replace('name = "master"\n[[', 'name = "master"\nhost = "a"\n[[')
    tsf = tsf.replace('name = "subordinate"\n', 'name = "subordinate"\nhost = "b"\n', 1)
    return "".join(machine.table() for machine in net.machines) + more + tsf

"""Sites by profile: what links them, in a word. A profile is the fields of a [[host]]."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from ..errors import USAGE, BenchError
from . import tunnels

LOCAL = "local"  # no sites: all on this host
HOSTS = "hosts"  # those of a file of the user's, most often machines with clocks of their own
OWN = "own"  # whatever hosts a file of somebody's own has: of these no profile tells anything
PROFILES: dict[str, dict[str, object]] = {
    LOCAL: {},
    "unlimited": {},
    "lan": {"rate_mbit": 100},
    "lan-9000": {"rate_mbit": 100, "mtu": 9000},
    "wan": {"rate_mbit": 10, "delay_ms": 20, "jitter_ms": 2, "loss": 0.001},
    "gre": {"rate_mbit": 100, "tunnel": "gre"},
    "vxlan": {"rate_mbit": 100, "tunnel": "vxlan"},
    "wireguard": {"rate_mbit": 100, "tunnel": "wireguard"},
    "wireguard-vxlan": {"rate_mbit": 100, "tunnel": "wireguard-vxlan"},
    "ipsec": {"rate_mbit": 100, "tunnel": "ipsec"},
    "wan-gre": {"rate_mbit": 10, "delay_ms": 20, "jitter_ms": 2, "loss": 0.001, "tunnel": "gre"},
    "wan-wireguard": {
        "rate_mbit": 10, "delay_ms": 20, "jitter_ms": 2, "loss": 0.001, "tunnel": "wireguard",
    },
    HOSTS: {},
}  # fmt: skip
SITES_MAX = 20
_RATE = re.compile(r"([\d.e+-]+) Mbit/s")  # as Host.words has it
_LOOPBACK, _ETHERNET = 65_536, 1500
# Ethernet, IPv4 and TCP with its time stamps: no way has more of each packet, but for tunnels.
_LINK, _HEADERS = 14, 20 + 32


def rate_mbit(hosts: str, profile: str) -> float | None:
    """The least that a link of these hosts, as a record has them in words, carries; none where they
    name none and the profile has none."""
    named = [float(rate) for rate in _RATE.findall(hosts)]
    return min(named, default=PROFILES.get(profile, {}).get("rate_mbit"))


def mtu(profile: str) -> int:
    """Of the way between two hosts of these sites."""
    if profile == LOCAL:
        return _LOOPBACK
    fields = PROFILES.get(profile, {})
    return int(fields.get("mtu", _ETHERNET)) - tunnels.RESERVED.get(fields.get("tunnel", ""), 0)


def wire_bytes(profile: str, payload: int) -> int:
    """That an update with so much payload takes on a link: in packets of its own."""
    room = mtu(profile) - _HEADERS
    packets = -(-payload // room) or 1
    around = _LINK + _HEADERS + tunnels.OVERHEAD.get(PROFILES.get(profile, {}).get("tunnel", ""), 0)
    return payload + packets * around


def hosts(profile: str, count: int, given: Sequence[dict] = (), capture: bool = False) -> str:
    """So many [[host]] tables, "lan-1" and so on, in TOML; none for "local". Those of "hosts" are
    the first of the given ones, which have their own names. `capture`: their packets are kept."""
    if profile not in PROFILES:
        raise BenchError(
            "STL-SIT-001", f"there are no sites '{profile}'", "--sites",
            f"known: {', '.join(PROFILES)}", USAGE,
        )  # fmt: skip
    ssh = profile == HOSTS and any(one.get("kind") == "ssh" for one in given)
    if capture and (profile == LOCAL or ssh):
        what = f"sites '{profile}' are not all network namespaces, of whose links packets are kept"
        raise BenchError("STL-SIT-004", what, "--capture", "take other --sites", USAGE)
    if profile == LOCAL:
        return ""
    made = [PROFILES[profile]] * count
    if profile == HOSTS:
        made = list(given[:count])
    if len(made) < count:
        what = f"{count} hosts are needed, and {len(made)} are there"
        do = "give --hosts a file with a [[host]] for each site, or take a smaller topology"
        raise BenchError("STL-SIT-003", what, "--hosts", do, USAGE)
    more = {"capture": True} if capture else {}
    tables = [one | more | {"name": host(profile, n, given)} for n, one in enumerate(made, 1)]
    line = lambda item: f"{item[0]} = {json.dumps(item[1], default=str)}\n"  # noqa: E731
    return "".join(f"[[host]]\n{''.join(map(line, one.items()))}\n" for one in tables)


def host(profile: str, number: int, given: Sequence[dict] = ()) -> object:
    """The name of the nth, of "hosts" as it is given: what is no name is refused with the plan."""
    if profile == HOSTS and "name" in given[number - 1]:
        return given[number - 1]["name"]
    return "localhost" if profile == LOCAL else f"{profile}-{number}"


def apart(profile: str, given: Sequence[dict], daemon: str) -> bool:
    """Whether clocks of these sites are compared: those of one machine's namespaces are one, unless
    daemons are asked."""
    ssh = any(one.get("kind") == "ssh" for one in given)
    return profile == HOSTS and (ssh or bool(daemon))


def usable(profiles: list[str], program: str) -> tuple[list[str], list[str]]:
    """Those that this machine can make, and a notice for those that it can't."""
    kinds = {p: PROFILES[p].get("tunnel") for p in profiles}
    why = {p: tunnels.lacking(kind, Path(program)) for p, kind in kinds.items()}
    skipped = [f"{p}: {said}" for p, said in why.items() if said]
    notes = [f"{len(skipped)} kinds of sites skipped: {'; '.join(skipped)}"] if skipped else []
    found = [p for p in profiles if not why[p]]
    if not found:
        raise BenchError("STL-SIT-002", notes[0], "--sites", "take others", USAGE)
    return found, notes

"""The spatial data's layouts by their description alone, and values to try them with; writes
spatial_vectors.txt when it is run.
"""

import random
import struct
from pathlib import Path

MODES = ("static", "FPW", "RPW", "RVW", "FVW", "FPB", "RPB", "RVB", "FVB")
VECTORS = Path(__file__).with_name("spatial_vectors.txt")
LAYOUTS = ("multiple", "fixed", "variable", "variant", "standard")
# Numbers that show in the octets which is which.
EXAMPLE = {
    "location": [1.0, 2.0, 3.0], "orientation": [0.5, 0.25, 0.125], "velocity": [10.0, 20.0, 30.0],
    "angular_velocity": [0.1875, 0.375, 0.75], "acceleration": [-1.0, -2.0, -3.0], "mode": 1,
    "frozen": True,
}  # fmt: skip


def needs(mode: int) -> tuple[bool, bool, bool]:
    """Velocity, angular velocity and acceleration."""
    name = MODES[mode - 1]
    return name != "static", name[:2] in ("RP", "RV"), name[:2] in ("RV", "FV")


def values(layout: str, content: int, s: dict) -> list[bytes]:
    """The values of an update: 0 what the mode needs, 1 to 7 so many parts."""
    triple = {k: struct.pack(">3f", *s[k]) for k in s if isinstance(s[k], list) and k != "location"}
    location = struct.pack(">3d", *s["location"])
    vectors = ("velocity", "angular_velocity", "acceleration")
    there = needs(s["mode"]) if content == 0 else (content > 2, content > 3, content > 4)
    orientation = [] if content == 1 else [triple["orientation"]]
    wanted = [triple[v] for v, use in zip(vectors, there, strict=True) if use]
    every = [triple[v] for v in vectors]
    mode, frozen = bytes([s["mode"]]), bytes([s["frozen"]])
    if layout in ("multiple", "plain"):
        return [location, *orientation, *wanted, *[mode, frozen][: max(content - 5, 0)]]
    if layout == "fixed":
        parts = every if content == 0 else wanted
        return [b"".join([mode, frozen, b"\0\0", *orientation, location, *parts])]
    if layout == "variable":
        last = max((n for n, use in enumerate(there, 1) if use), default=0)
        return [b"".join([mode, frozen, b"\0\0", *orientation, location, *every[:last]])]
    if layout == "variant":
        return [b"".join([frozen, mode, b"\0\0", *orientation, location, *wanted])]
    # 1516.2-2010: discriminant, then the alternative on its boundary of 8 octets; HLAboolean has 4;
    # a double stands on 8.
    record = b"\0\0\0" + frozen + b"".join(orientation)
    record += bytes(-len(record) % 8) + location + b"".join(wanted)
    return [bytes([s["mode"] if content == 0 else 9 + content]) + bytes(7) + record]


def drawn(seed: int) -> dict:
    """Values that have all their bits in 32 or 64."""
    r = random.Random(seed)

    def single() -> float:
        return struct.unpack(">f", struct.pack(">f", r.uniform(-1e6, 1e6)))[0]

    found = {k: [single() for _ in range(3)] for k, v in EXAMPLE.items() if isinstance(v, list)}
    found["location"] = [r.uniform(-1e7, 1e7) for _ in range(3)]
    return found | {"mode": r.randint(1, 9), "frozen": r.random() < 0.5}


if __name__ == "__main__":
    lines = [
        f"{layout} {name} " + " ".join(v.hex() for v in values(layout, 0, EXAMPLE | {"mode": n}))
        for layout in LAYOUTS
        for n, name in enumerate(MODES, 1)
    ]
    VECTORS.write_text("\n".join(lines) + "\n")

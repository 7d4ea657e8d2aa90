"""The codecs of the FOM cost study: byte vectors, sizes, and decode(encode(x)) = x."""

import json
import os
import random
import subprocess
from pathlib import Path

import pytest
from spatial_layouts import EXAMPLE, LAYOUTS, MODES, VECTORS, drawn, values

from starling_bench.studies.fomcost.analysis import ease_of
from starling_bench.values.object_model import ObjectModel
from starling_bench.values.random_values import RandomValues

FOMCOST = os.environ.get("FOMCOST")
# An attribute for each part, by the helpers and by hand.
SEVERAL = ("multiple", "plain")
FOM = Path(__file__).parents[1] / "foms" / "fomcost.xml"
if os.environ.get("REQUIRE_ALL") != "1":
    pytestmark = pytest.mark.skipif(not FOMCOST, reason="FOMCOST is needed")


def codec(*lines: dict) -> list[dict]:
    """What the federates' program makes of each."""
    told = "".join(json.dumps(line) + "\n" for line in lines)
    said = subprocess.run(
        [FOMCOST, "--codec"], input=told, capture_output=True, text=True, check=True, timeout=60
    )
    assert said.stderr == ""
    return [json.loads(line) for line in said.stdout.splitlines()]


def known(layout: str, content: int, s: dict) -> dict:
    """What an update tells of the data; the rest is as it was."""
    bare = {k: [0.0] * 3 for k, v in s.items() if isinstance(v, list)} | {
        "mode": 1,
        "frozen": False,
    }
    if layout not in SEVERAL or content > 6:
        bare["frozen"] = s["frozen"]
    # Where it is not sent it is known from before; a series' record has none.
    if layout != "standard" or content == 0:
        bare["mode"] = s["mode"]
    bare["location"] = s["location"]
    if content != 1:
        bare["orientation"] = s["orientation"]
    name = MODES[s["mode"] - 1]
    there = {"velocity": name != "static", "angular_velocity": name[:2] in ("RP", "RV"),
             "acceleration": name[:2] in ("RV", "FV")}  # fmt: skip
    for n, vector in enumerate(there, 3):
        if content >= n or (content == 0 and (there[vector] or layout == "fixed")):
            bare[vector] = s[vector]
    if layout == "variable" and content == 0 and there["acceleration"]:
        bare["angular_velocity"] = s["angular_velocity"]
    return bare


def test_all_nine_modes_of_all_layouts_have_these_octets():
    lines = [line.split() for line in VECTORS.read_text().splitlines()]
    assert [(layout, mode) for layout, mode, *_ in lines] == [
        (layout, mode) for layout in LAYOUTS for mode in MODES
    ]
    told = [
        {"layout": layout, "content": 0, "spatial": EXAMPLE | {"mode": 1 + MODES.index(mode)}}
        for layout, mode, *_ in lines
    ]
    assert [said.get("values") for said in codec(*told)] == [octets for _, _, *octets in lines]


def test_the_vectors_follow_from_the_layouts_descriptions():
    for layout, mode, *octets in (line.split() for line in VECTORS.read_text().splitlines()):
        made = values(layout, 0, EXAMPLE | {"mode": 1 + MODES.index(mode)})
        assert [v.hex() for v in made] == octets


def test_sizes_are_the_sources():
    """28 octets of the position alone; the fixed form wastes 36, 24, 12 or none."""
    sizes = {}
    told = [(layout, content, mode) for layout in LAYOUTS for content in range(6)
            for mode in range(1, 10) if content == 0 or mode == 1]  # fmt: skip
    lines = [{"layout": layout, "content": content, "spatial": EXAMPLE | {"mode": mode}}
             for layout, content, mode in told]  # fmt: skip
    for key, said in zip(told, codec(*lines), strict=True):
        sizes[key] = sum(len(v) // 2 for v in said["values"])
    for layout in ("fixed", "variable", "variant"):
        assert [sizes[layout, n, 1] for n in range(1, 6)] == [28, 40, 52, 64, 76]
    assert [sizes["multiple", n, 1] for n in range(1, 6)] == [24, 36, 48, 60, 72]
    wasted = [76 - sizes["variant", 0, mode] for mode in range(1, 10)]
    assert wasted == [36, 24, 12, 0, 12, 24, 12, 0, 12]
    assert {sizes["fixed", 0, mode] for mode in range(1, 10)} == {76}
    # What FVW and FVB need stands behind what they don't.
    variable = [sizes["variable", 0, mode] for mode in range(1, 10)]
    assert variable == [40, 52, 64, 76, 76, 52, 64, 76, 76]
    # The standard's padding and boolean take 8 more.
    assert [sizes["standard", 0, m] - sizes["variant", 0, m] for m in range(1, 10)] == [8] * 9


def test_what_was_encoded_is_decoded():
    tried = [(layout, content, drawn(seed)) for layout in (*LAYOUTS, "plain") for seed in range(60)
             for content in range(8) if layout in SEVERAL or content < 6]  # fmt: skip
    coded = codec(*({"layout": a, "content": c, "spatial": s} for a, c, s in tried))
    for (layout, content, s), said in zip(tried, coded, strict=True):
        assert said["values"] == [v.hex() for v in values(layout, content, s)], (layout, content)
    back = codec(
        *({"layout": layout, "content": content, "values": said["values"],
           "mode": s["mode"] if layout != "standard" else 1}
          for (layout, content, s), said in zip(tried, coded, strict=True))
    )  # fmt: skip
    for (layout, content, s), said in zip(tried, back, strict=True):
        assert said.get("spatial") == known(layout, content, s), (layout, content, said)


def test_the_standards_helpers_make_the_same_octets_of_the_fixed_form():
    tried = [drawn(seed) for seed in range(50)]
    for layout in ("fixed", "helped"):
        said = codec(*({"layout": layout, "content": 0, "spatial": s} for s in tried))
        assert [x["values"] for x in said] == [[values("fixed", 0, s)[0].hex()] for s in tried]


def test_truncated_and_longer_input_is_refused():
    lines = []
    for layout in (*LAYOUTS, "helped", "plain"):
        for mode in range(1, 10):
            whole = values("fixed" if layout == "helped" else layout, 0, EXAMPLE | {"mode": mode})
            for n, value in enumerate(whole):
                for other in (*(value[:k] for k in range(len(value))), value + b"\0"):
                    changed = [v.hex() for v in [*whole[:n], other, *whole[n + 1 :]]]
                    lines.append({"layout": layout, "content": 0, "values": changed, "mode": mode})
            for changed in (whole[:-1], [*whole, whole[-1]]):
                if layout in SEVERAL:
                    told = [v.hex() for v in changed]
                    lines.append({"layout": layout, "content": 0, "values": told, "mode": mode})
    for line, said in zip(lines, codec(*lines), strict=True):
        assert list(said) == ["refused"], (line, said)


@pytest.mark.parametrize(
    "layout, octets, why",
    [
        ("fixed", "0a", "DeadReckoningAlgorithm 10 is none of 1 to 9"),
        ("fixed", "0102", "a truth value of 2"),
        ("variable", "01010001", "padding that is not 0"),
        ("variant", "0200", "a truth value of 2"),
        ("variant", "0100", "DeadReckoningAlgorithm 0 is none of 1 to 9"),
    ],
)
def test_what_no_field_may_hold_is_refused(layout, octets, why):
    whole = bytes.fromhex(octets)
    whole += bytes(76 - len(whole))
    (said,) = codec({"layout": layout, "content": 0, "values": [whole.hex()]})
    assert why in said["refused"]


def test_random_octets_are_decoded_or_refused():
    r = random.Random(5)
    lines = [
        {
            "layout": layout,
            "content": r.randint(0, 5),
            "values": [r.randbytes(r.randint(0, 90)).hex()],
        }
        for layout in LAYOUTS
        for _ in range(300)
    ]
    assert {k for said in codec(*lines) for k in said} <= {"refused", "spatial"}


def test_the_foms_table_and_the_helpers_agree_on_the_standards_variant_record():
    """Random values that were made by the FOM's XML alone are decoded by the standard's helpers."""
    model = ObjectModel([FOM])
    (field,) = [f for f in model.find("FomCostReliable.Standard").fields if f.name == "Spatial"]
    names = model.types["FomCostMode"].enumerators
    made = [(names[m], RandomValues(model, n, {"Spatial": m}).of(field, "Standard"))
            for m in names for n in range(20)]  # fmt: skip
    said = codec(*({"layout": "standard", "content": 0, "values": [v.hex()]} for _, v in made))
    assert [x["spatial"]["mode"] for x in said] == [mode for mode, _ in made]


def test_ease_of_use_is_counted_in_the_codecs():
    found = {layout: ease_of(layout) for layout in LAYOUTS}
    assert all(e.lines > 20 for e in found.values())
    # The fixed form branches for the series only, the variant's five records make it the largest,
    # and it is the one with a second form in memory.
    assert found["variant"].lines == max(e.lines for e in found.values())
    assert {layout: e.forms for layout, e in found.items()} == {
        "multiple": 1, "fixed": 1, "variable": 1, "variant": 2, "standard": 1,
    }  # fmt: skip

"""Designed experiments from their rows to the report's table."""

import re

import numpy as np
import pytest
from test_short import sample

from starling_bench import design, report
from starling_bench.store import Store
from starling_bench.studies.rtibm import STUDY


def table(tmp_path, blocks: list[list[dict]], samples: int = 2) -> list[list[str]]:
    """The report's lines of a run whose rates fall with the square root of the bytes: titles,
    shares, degrees and so on."""
    store = Store.create(tmp_path / "out", STUDY, {"tsf": "t", "tsf_text": "", "notes": []})
    rng = np.random.default_rng(5)
    for n, points in enumerate(blocks, 1):
        for rti in dict.fromkeys(p["rti"] for p in points):
            here = [p for p in points if p["rti"] == rti]
            tests = {str(i): {"samples": samples} for i in range(1, len(here) + 1)}
            where = f"base.{rti}", f"block{n}"
            store.begin(*where, adapter=rti, tests=tests, pairs=1, state="done")
            for i, p in enumerate(here, 1):
                for number in range(1, samples + 1):
                    took = 0.1 * p["buffer_bytes"] ** 0.5 * np.exp(0.2 * n + rng.normal(0, 0.02))
                    store.rows.append(
                        sample(where[0], number, took, took) | {
                            "execution": where[1], "test": i, "bytes": p["buffer_bytes"],
                            "instances": p["instances"],
                        }
                    )  # fmt: skip
    found = "".join(report.analysis(store, store.summaries()))
    lines = re.findall("<tr>(.*?)</tr>", found)[1:]
    return [re.findall('<td class="t">(.*?)</td>', line)[1:] for line in lines]


FACTORS = [
    design.factor(t) for t in ("rti=starling,tcp", "buffer_bytes=8..1000", "instances=1..100")
]


@pytest.mark.parametrize(("kind", "values"), [("full", 28), ("fraction", 20), ("cube", 36)])
def test_designs_are_analysed_as_they_are_by_default(tmp_path, kind, values):
    """With centre points, in two blocks: each test's mean is one value."""
    points = {
        "full": lambda: [design.full_factorial(FACTORS)] * 2,
        "fraction": lambda: [design.fractional_factorial(FACTORS, 3)[0]] * 2,
        "cube": lambda: design.latin_hypercube(FACTORS, 12, 1, 2)[0],
    }[kind]()
    lines = table(tmp_path, list(design.in_blocks(points, FACTORS, 3, 1)))
    by = {line[0]: line for line in lines}
    assert sum(int(line[2]) for line in lines) == values - 1
    size = next(line for name, line in by.items() if name.split(" (")[0] == "bytes")
    assert size[4] == "&lt; 0.001" and by["execution (block)"][4] == "&lt; 0.001"
    low, high = map(float, re.search(r"\((.*) to (.*)\)", size[6]).groups())
    ends = [f(p["buffer_bytes"] for block in points for p in block) for f in (min, max)]
    assert size[5] == f"{ends[0]} to {ends[1]}"
    assert low < (ends[0] / ends[1]) ** 0.5 < high
    if kind == "cube":
        assert {"bytes²", "instances²", "instances x bytes"} <= set(by)
    else:
        assert float(by["curvature"][6].partition(" ")[0]) == pytest.approx(1, abs=0.05)
    if kind == "fraction":
        assert "bytes (or sequence x instances)" in by and "sequence x instances" not in by

"""Designed experiments from their rows to the report's table."""

import itertools
import re

import numpy as np
import pytest
from runs import text
from test_short import sample

from starling_bench.kept.store import Store
from starling_bench.reports import order
from starling_bench.reports.effects import analysis
from starling_bench.studies.rtibm import STUDY
from starling_bench.tsf import design, plan


def in_turn(points: list[dict], rtis: list[str]) -> list[tuple[str, dict]]:
    """The RTI and its points of each execution of a block, in this order."""
    return [(rti, [p for p in points if p["rti"] == rti]) for rti in rtis]


def page(
    directory, executions: list[tuple[str, str, list[dict]]], seed: int = 5,
    drift=lambda n, block: 0.2 * block, effects: dict[str, float] | None = None, samples: int = 2,
) -> str:  # fmt: skip
    """The report's section of a run whose rates fall with the square root of the bytes. Its
    executions (RTI, block, points) are in the order of running; each is so many (logarithms)
    slower, its nth by `drift`."""
    store = Store.create(directory, STUDY, {"tsf": "t", "tsf_text": "", "notes": []})
    rng = np.random.default_rng(seed)
    for n, (rti, block, here) in enumerate(executions):
        tests = {str(i): {"samples": samples} for i in range(1, len(here) + 1)}
        where = f"base.{rti}", block
        store.begin(*where, adapter=rti, tests=tests, pairs=1, state="done")
        of_all = drift(n, int(block[-1])) + (effects or {}).get(rti, 0)
        for i, p in enumerate(here, 1):
            for number in range(1, samples + 1):
                took = 0.1 * p["buffer_bytes"] ** 0.5 * np.exp(of_all + rng.normal(0, 0.02))
                store.rows.append(
                    sample(where[0], number, took, took) | {
                        "execution": where[1], "test": i, "bytes": p["buffer_bytes"],
                        "instances": p["instances"],
                    }
                )  # fmt: skip
    found = "".join(analysis(store, store.summaries()))
    store.close()
    return found


def table(found: str) -> list[list[str]]:
    """A section's lines: titles, shares, degrees and so on."""
    lines = re.findall("<tr>(.*?)</tr>", found)[1:]
    return [re.findall("<td>(.*?)</td>", line)[1:] for line in lines]


def blocked(blocks: list[list[dict]]) -> list[tuple[str, str, list[dict]]]:
    """Each block's executions, to and fro."""
    rtis = sorted({p["rti"] for points in blocks for p in points})
    return [
        (rti, f"block{n}", here)
        for n, points in enumerate(blocks, 1)
        for rti, here in in_turn(points, rtis if n % 2 else rtis[::-1])
    ]


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
    lines = table(page(tmp_path / "out", blocked(list(design.in_blocks(points, FACTORS, 3, 1)))))
    by = {line[0]: line for line in lines}
    assert sum(int(line[2]) for line in lines) == values - 1
    size = next(line for name, line in by.items() if name.split(" (")[0] == "bytes")
    assert size[4] == "&lt; 0.001" and float(by["execution (block)"][4]) < 0.05
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


def planned(directory, seed: int, blocks: int = 4) -> list[tuple[str, str, list[dict]]]:
    """The executions of a design of two RTIs, in the order in which they would run."""
    base, out = directory / f"base{seed}.tsf.toml", directory / f"d{seed}.tsf.toml"
    rtis = "".join(f'[[rti]]\nname = "{n}"\nadapter = "tcp"\n' for n in ("one", "other"))
    base.write_text(rtis + text('kind = "OWOT"').replace("[sequence.rti]\n", 'rti = "one"\n'))
    factors = [design.factor(t) for t in ("rti=one,other", "buffer_bytes=8..1000")]
    ordered = design.in_blocks([design.full_factorial(factors)] * blocks, factors, 1, seed)
    design.write(STUDY, base, out, list(ordered), {"kind": "OWOT"}, "it", seed)
    return [
        (s.rti.name, e.name, [{"buffer_bytes": t.buffer_bytes, "instances": 1} for t in e.tests()])
        for s in plan.load(out, STUDY).sequence for e in s.execution
    ]  # fmt: skip


def p_of_rti(found: str) -> float:
    """By the report."""
    (line,) = [line for line in table(found) if line[0] == "sequence"]
    return 0.0 if line[4] == "&lt; 0.001" else float(line[4])


@pytest.mark.parametrize("kind", ["steady", "by steps", "of each its own"])
def test_what_drifts_in_time_is_not_called_an_effect_of_the_rti(tmp_path, kind):
    """The machine is 20 % slower from execution to execution, or at times, or of each its own, and
    samples of one execution differ by 2 %: of 40 designs at 5 % about two are called."""
    called = 0
    for seed in range(40):
        steps = np.random.default_rng(seed).normal(0, 0.2, 8)
        drift = {
            "steady": lambda n, block: 0.2 * n, "by steps": lambda n, block: 0.3 * (n > 2),
            "of each its own": lambda n, block, steps=steps: steps[n],
        }[kind]  # fmt: skip
        found = page(tmp_path / str(seed), planned(tmp_path, seed), seed, drift)
        called += p_of_rti(found) < 0.05
    assert called <= 2 + 3 * np.sqrt(2)
    assert order._IN_BLOCKS in found


def test_an_effect_of_the_rti_is_found_beside_drift(tmp_path):
    """One is 30 % slower; from block to block the machine is."""
    for seed in range(10):
        found = page(tmp_path / str(seed), planned(tmp_path, seed), seed, effects={"other": 0.3})
        assert p_of_rti(found) < 0.01
        (line,) = [line for line in table(found) if line[0] == "sequence"]
        low, high = sorted(map(float, re.search(r"\((.*) to (.*)\)", line[6]).groups()))
        # A rate's: the second in order is the slower or the faster one.
        assert low < np.exp(0.3) < high or low < np.exp(-0.3) < high


def of_loops(
    directory, loops: list[int], seed: int, rtis: tuple[str, ...] = ("one",), effect: float = 0.0,
    blocks: int = 4, rounds: bool = False,
) -> dict[str, list[str]]:  # fmt: skip
    """The report's lines, by variable, of a design over the loop's version, of which the fourth
    takes executions of its own: executions differ by 10 %, tests by 1 %, it by `effect`."""
    store = Store.create(directory, STUDY, {"tsf": "t", "tsf_text": "", "notes": []})
    rng = np.random.default_rng(seed)
    parts = {"": [n for n in loops if n != 4], ".immediate": [4]}
    for block, rti, part in itertools.product(range(1, blocks + 1), rtis, parts):
        points = [(loop, size) for loop in parts[part] for size in (8, 1000)]
        tests = {str(i): {"samples": 2, "loop_version": loop}
                 for i, (loop, _) in enumerate(points, 1)}  # fmt: skip
        name, of = (f"e.{block}{part}", f"e{part}") if rounds else (f"block{block}{part}", "")
        store.begin(f"s.{rti}", name, adapter=rti, tests=tests, pairs=1, state="done", round_of=of)
        execution = rng.normal(0, 0.1)
        for i, (loop, size) in enumerate(points, 1):
            test = execution + rng.normal(0, 0.01) + effect * (loop == 4)
            for number in (1, 2):
                took = 0.1 * size**0.5 * np.exp(test + rng.normal(0, 0.001))
                row = {"execution": name, "test": i, "bytes": size, "loop": loop}
                store.rows.append(sample(f"s.{rti}", number, took, took) | row)
    found = "".join(analysis(store, store.summaries()))
    store.close()
    return {line[0]: line for line in table(found)}


CONNECTION = "connection by loop"


@pytest.mark.parametrize("rounds", [False, True], ids=["blocks", "rounds"])
@pytest.mark.parametrize("rtis", [("one",), ("one", "other")], ids=len)
def test_a_loop_in_executions_of_its_own_is_judged_by_executions(tmp_path, rtis, rounds):
    """Without any effect: of 40 designs at 5 % about two are called."""
    called = 0
    for seed in range(40):
        lines = of_loops(tmp_path / str(seed), [1, 2, 3, 4], seed, rtis, rounds=rounds)
        called += lines[CONNECTION][4] == "&lt; 0.001" or float(lines[CONNECTION][4]) < 0.05
        assert lines[CONNECTION][5] == "V1/V2/V3 to V4"
        # The others differ within executions; nothing is taken for another thing's alias.
        assert lines["loop"][2] == "2" and lines[CONNECTION][2] == "1"
        assert not any(" or " in name for name in lines)
    assert called <= 2 + 3 * np.sqrt(2)


@pytest.mark.parametrize("loops", [[1, 2, 3, 4], [3, 4]], ids=str)
def test_an_effect_of_a_loop_in_executions_of_its_own_is_found(tmp_path, loops):
    """Twice as slow, also on one RTI."""
    for seed in range(10):
        lines = of_loops(tmp_path / str(seed), loops, seed, effect=np.log(2))
        line = lines[CONNECTION if len(loops) > 2 else "loop"]
        assert line[4] == "&lt; 0.001" or float(line[4]) < 0.02, line


def test_executions_that_no_other_repeats_have_no_p(tmp_path):
    """One execution of each RTI: whatever they differ by may be of the execution alone."""
    points = [{"rti": r, "buffer_bytes": b, "instances": 1} for r in "ab" for b in (8, 100, 1000)]
    every = [(rti, "block1", here) for rti, here in in_turn(points, ["a", "b"])]
    found = page(tmp_path / "out", every, effects={"b": 0.5}, samples=5)
    by = {line[0]: line for line in table(found)}
    assert by["sequence"][3:5] == ["-", "-"] and by["bytes"][4] == "&lt; 0.001"
    assert order._NO_BLOCKS in found


def test_what_is_left_out_of_an_analysis_is_said(tmp_path):
    points = [{"rti": rti, "buffer_bytes": size, "instances": many}
              for rti in ("one", "other") for size in (8, 1000) for many in (1, 10)]  # fmt: skip
    whole = page(tmp_path / "whole", blocked([points, points]))
    assert "left out" not in whole
    part = page(tmp_path / "part", blocked([points, points]), effects={"other": -8})
    assert re.search(r"8 of 16 tests are left out: 8: too short to tell", part)
    none = page(tmp_path / "none", blocked([points, points]), effects={"one": -8, "other": -8})
    assert "16 of 16 tests are left out" in none

"""Designed experiments: what is run, in which order."""

import itertools
import math
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from runs import text

from starling_bench.errors import BenchError
from starling_bench.studies.rtibm import STUDY
from starling_bench.tsf import design, plan

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
FACTORS = [design.factor(t) for t in ("buffer_bytes=8,100,1000", "loop_version=1,2")]


def test_a_full_factorial_has_every_combination_once():
    points = design.full_factorial(FACTORS)
    assert Counter((p["buffer_bytes"], p["loop_version"]) for p in points) == {
        (b, v): 1 for b in (8, 100, 1000) for v in (1, 2)
    }


def test_a_latin_hypercube_hits_every_part_of_a_range_once():
    factors = [design.factor("buffer_bytes=8..100000"), design.factor("instances=1..1000")]
    for seed in range(20):
        (points,), _ = design.latin_hypercube(factors, 7, seed)
        for f in factors:
            width = math.log(f.high / f.low) / 7
            # Rounding to whole numbers moves small ones: the part is that of the nearest edge.
            parts = sorted(math.log(p[f.name] / f.low) / width for p in points)
            if f.name == "buffer_bytes":
                assert all(n - 0.06 < part < n + 1.06 for n, part in enumerate(parts))
            assert all(f.low <= p[f.name] <= f.high for p in points)


def test_blocks_of_a_latin_hypercube_hold_points_of_their_own_that_hardly_correlate():
    """Over both blocks each part of a range is hit once, and each wider part once in a block; the
    correlation that is told is what the points have."""
    texts = ("rti=a,b", "buffer_bytes=1000..100000000", "updates=1000..100000000")
    factors = [design.factor(t) for t in texts]
    for seed in range(5):
        blocks, most = design.latin_hypercube(factors, 12, seed, 2)
        for f in factors[1:]:
            where = [[math.log(p[f.name] / f.low) / math.log(f.high / f.low) for p in block]
                     for block in blocks]  # fmt: skip
            assert sorted(int(u * 24) for block in where for u in block) == list(range(24))
            for block in where:
                assert sorted(int(u * 12) for u in block) == list(range(12))
        assert [Counter(p["rti"] for p in b) for b in blocks] == [{"a": 6, "b": 6}] * 2
        columns = [
            [float(p["rti"] == "a") for b in blocks for p in b],
            *([math.log(p[f.name]) for b in blocks for p in b] for f in factors[1:]),
        ]
        found = abs(np.corrcoef(columns) - np.eye(3)).max()
        assert found <= most + 0.001 and most < 0.25
        again = design.latin_hypercube(factors, 12, seed, 2)
        assert again == (blocks, most)


def test_every_block_has_all_runs_and_its_centre_points():
    points = design.full_factorial(FACTORS)
    centre = {"buffer_bytes": 100, "loop_version": 2}
    blocks = list(design.in_blocks([points] * 4, FACTORS, 3, seed=5))
    for block in blocks:
        assert block[0] == block[-1] == centre
        assert Counter(map(str, block)) == Counter(map(str, [*points, *[centre] * 3]))
    assert len({str(block) for block in blocks}) == 4  # each has an order of its own
    assert blocks == list(design.in_blocks([points] * 4, FACTORS, 3, seed=5))


def test_levels_without_a_middle_have_their_own_centre_points():
    """Names are no numbers: none of them is between the others."""
    factors = [design.factor("rti=starling,tcp"), design.factor("buffer_bytes=8..1000")]
    points = design.full_factorial(factors)
    for seed in range(5):
        for block in design.in_blocks([points] * 2, factors, 3, seed):
            assert Counter(p["rti"] for p in block) == {"starling": 5, "tcp": 5}
            assert Counter(p["rti"] for p in block if p["buffer_bytes"] == 89) == {
                "starling": 3, "tcp": 3,
            }  # fmt: skip


def test_a_design_that_cannot_run_leaves_no_file(tmp_path):
    base, out = tmp_path / "base.tsf.toml", tmp_path / "d.tsf.toml"
    base.write_text((EXPERIMENTS / "two-systems.tsf.toml").read_text())
    (tmp_path / "rtis.toml").write_text((EXPERIMENTS / "rtis.toml").read_text())
    with pytest.raises(BenchError, match="there is no RTI 'starlign'"):
        design.write(STUDY, base, out, [[{"rti": "starlign"}]], {"kind": "RTOL"}, "one")
    assert not out.exists()


def run(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "starling_bench", STUDY.name, "design", *arguments]
    return subprocess.run(command, text=True, capture_output=True)


def loops(tmp_path: Path) -> tuple[Path, Path]:
    """A base that is shipped, and where its design would go."""
    for name in ("loops.tsf.toml", "rtis.toml"):
        (tmp_path / name).write_text((EXPERIMENTS / name).read_text())
    return tmp_path / "loops.tsf.toml", tmp_path / "d.tsf.toml"


def test_the_file_is_one_that_can_be_run(tmp_path):
    base, out = loops(tmp_path)
    factors = ("--factor", "buffer_bytes=8..1000", "--factor", "transport=reliable,best_effort")
    given = (str(base), *factors, "--set", "kind=RTOL", "--set", "updates=50", "--out", str(out))
    said = run(*given, "--runs", "6", "--seed", "11", "--blocks", "2", "--centres", "2")
    assert (said.returncode, said.stderr) == (0, "")
    what = "Latin hypercube, 6 runs in each block, seed 11"
    factors = [design.factor(text) for text in factors[1::2]]
    _, most = design.latin_hypercube(factors, 6, 11, 2)
    what += f", largest correlation of two factors {most:.2f}"
    what += ", 2 centre points at each level of transport"
    first, left = said.stdout.splitlines()
    assert first == f"{out}: 20 tests in 2 blocks, 100 on all its RTIs; {what}"
    # Who names a base to vary two fields of it hears what else is another experiment.
    assert left == (
        "not taken over from the base's tests: rti, loop_version, samples, tick_min_s, tick_max_s"
        " (to keep: --set samples=2 --set tick_min_s=0.0005 --set tick_max_s=0.0005)"
    )
    file = plan.load(out, STUDY)
    # Each of the base's RTIs in one block, then each in the next, the other way round.
    order = [(s.rti.name, e.name) for s in file.sequence for e in s.execution]
    assert [block for _, block in order] == ["block1"] * 5 + ["block2"] * 5
    assert [rti for rti, _ in order[:5]] == [rti for rti, _ in reversed(order[5:])]
    assert {rti for rti, _ in order[:5]} == {
        "starling",
        "starling-fastest",
        "standin",
        "tcp",
        "shm",
    }
    for execution in (e for s in file.sequence for e in s.execution):
        tests = execution.tests()
        assert len(tests) == 10 and {t.kind for t in tests} == {"RTOL"}
        assert Counter(t.transport for t in tests)["reliable"] == 5
    assert "seed 11" in out.read_text()
    again = run(*given)
    assert again.returncode == 2 and "STL-OUT-002" in again.stderr
    wrong = run(str(base), "--factor", "colour=1,2", "--set", "kind=RTOL", "--out",
                str(tmp_path / "e.tsf.toml"))  # fmt: skip
    assert wrong.returncode == 2 and "unknown field 'colour'" in wrong.stderr


def test_what_every_test_needs_is_asked_for_by_its_option(tmp_path):
    base, out = loops(tmp_path)
    with pytest.raises(BenchError, match="need 'kind'") as told:
        design.write(STUDY, base, out, [[{"buffers": 1}] * 5] * 2, {}, "it")
    assert "give --set kind=..." in str(told.value) and not out.exists()


@pytest.mark.parametrize("text", ["x", "x=", "x=1,1", "x=5..2", "x=0..2", "=1", "x=1,,2"])
def test_a_factor_that_is_not_understood(text):
    with pytest.raises(BenchError, match="is not understood"):
        design.factor(text)


# Montgomery, Design and Analysis of Experiments (8th ed.), table 8.14: factors, resolution, runs.
@pytest.mark.parametrize(
    ("count", "resolution", "runs"),
    [(3, 3, 4), (4, 4, 8), (5, 3, 8), (5, 5, 16), (6, 3, 8), (6, 4, 16), (6, 6, 32), (7, 3, 8),
     (7, 4, 16), (7, 7, 64), (8, 4, 16), (8, 5, 64)],
)  # fmt: skip
def test_fractions_are_the_smallest_of_the_tables(count, resolution, runs):
    factors = [design.factor(f"f{n}=1,2") for n in range(count)]
    points, found = design.fractional_factorial(factors, resolution)
    assert (len(points), found) == (runs, resolution)
    signs = [[2 * p[f.name] - 3 for f in factors] for p in points]
    assert len(set(map(tuple, signs))) == runs
    # No product of fewer factors than the resolution is constant: that is what resolution means.
    for size in range(1, resolution):
        for chosen in itertools.combinations(range(count), size):
            assert sum(math.prod(row[i] for i in chosen) for row in signs) == 0


def test_the_half_fraction_of_four_factors_is_d_abc():
    """Montgomery, example 8.1."""
    factors = [design.factor(f"{name}=-1,1") for name in "ABCD"]
    points, _ = design.fractional_factorial(factors, 4)
    assert all(p["D"] == p["A"] * p["B"] * p["C"] for p in points)


def test_a_response_surface_has_corners_and_faces():
    factors = [design.factor("buffer_bytes=10..1000"), design.factor("instances=1..100")]
    points = design.response_surface(factors)
    corners = [(b, i) for b in (10, 1000) for i in (1, 100)]
    faces = [(10, 10), (1000, 10), (100, 1), (100, 100)]
    assert sorted((p["buffer_bytes"], p["instances"]) for p in points) == sorted(corners + faces)


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--factor", "types=1,2,4", "--resolution", "3"), "STL-DES-004"),
        (("--factor", "types=1,2", "--factor", "buffers=1..2", "--resolution", "4"), "STL-DES-005"),
        (("--factor", "types=1,2", "--factor", "buffers=1..8", "--surface"), "STL-DES-004"),
        (("--factor", "buffers=1..8", "--surface"), "STL-DES-005"),
        (("--factor", "buffers=1..8", "--surface", "--runs", "5"), "STL-DES-006"),
    ],
)
def test_designs_that_cannot_be(tmp_path, arguments, message):
    base, out = loops(tmp_path)
    done = run(str(base), *arguments, "--set", "kind=RTOL", "--out", str(out))
    assert done.returncode == 2 and done.stderr.startswith(message)
    assert "\n  do: " in done.stderr and not out.exists()


def test_more_combinations_than_anybody_wants_are_not_made():
    factors = [design.Factor(name, tuple(range(100))) for name in "abcdefgh"]
    with pytest.raises(BenchError, match="10,000,000,000,000,000 combinations") as told:
        design.full_factorial(factors)
    assert told.value.code == "STL-DES-008" and told.value.do


@pytest.mark.parametrize(("given", "blocks"), [("1,2,3", 2), ("3,4", 4)])
def test_what_takes_connections_of_its_own_runs_in_more_blocks(tmp_path, given, blocks):
    (base := tmp_path / "base.tsf.toml").write_text(text('kind = "RTOL"'))
    assert design.blocks_for(STUDY, base, [design.factor(f"loop_version={given}")]) == blocks


def test_where_a_test_runs_may_be_a_factor(tmp_path):
    """RTI, bundling and hosts are varied like any other field."""
    base = (EXPERIMENTS / "two-systems.tsf.toml").read_text()
    (tmp_path / "base.tsf.toml").write_text(base)
    (tmp_path / "rtis.toml").write_text((EXPERIMENTS / "rtis.toml").read_text())
    out = tmp_path / "d.tsf.toml"
    factors = ("rti=starling,tcp", "bundling=true,false", "buffer_bytes=8..1000",
               "hosts=two-systems,one-system-two-cpus")  # fmt: skip
    given = [word for f in factors for word in ("--factor", f)]
    done = run(str(tmp_path / "base.tsf.toml"), *given, "--set", "kind=RTOL", "--resolution", "4",
               "--seed", "3", "--out", str(out))  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = "fractional factorial of resolution 4, 8 runs in each block, seed 3"
    said += ", 3 centre points at each level of rti and bundling and hosts"
    assert said in done.stdout and f"# Designed: {said}.\n" in out.read_text()
    sequences = plan.load(out, STUDY).sequence
    tests = Counter(
        (s.rti.name, s.bundling, s.federate[1].host)
        for s in sequences for e in s.execution for t in e.tests() if t.buffer_bytes != 89
    )  # fmt: skip
    # Each combination of three in one of the two halves, in all blocks.
    assert sorted(tests.values()) == [4] * 8 and len(tests) == 8
    # A block is done everywhere before the next begins, in orders that differ.
    order = [(e.name, s.name) for s in sequences for e in s.execution]
    assert [name for name, _ in order] == [f"block{n}" for n in range(1, 5) for _ in range(8)]
    turns = [[name for _, name in order[at : at + 8]] for at in range(0, 32, 8)]
    assert turns[1] == turns[0][::-1] and turns[3] == turns[2][::-1] and turns[2] != turns[0]


@pytest.mark.parametrize("given", ["kind=RTOL,RTIL", "updates=1..5"])
def test_what_every_run_has_is_one_value(tmp_path, given):
    """The first of several would be taken without a word."""
    (base := tmp_path / "base.tsf.toml").write_text(text('kind = "RTOL"'))
    out = tmp_path / "d.tsf.toml"
    done = run(str(base), "--factor", "buffers=1,2", "--set", given, "--out", str(out))
    field = given.partition("=")[0]
    assert (done.returncode, done.stderr) == (2, (
        f"STL-DES-009: --set {given} gives 2 values to '{field}'\n"
        "  do: give one, or make it a --factor\n"
    ))  # fmt: skip
    assert not out.exists()


def test_a_text_with_quotes_is_written_as_it_is(tmp_path):
    base, out = tmp_path / "base.tsf.toml", tmp_path / "d.tsf.toml"
    base.write_text(text('kind = "RTOL"'))
    with pytest.raises(BenchError, match=r"rti: .* is no name"):
        design.write(STUDY, base, out, [[{"rti": 'a"\\'}]], {"kind": "RTOL"}, "it")

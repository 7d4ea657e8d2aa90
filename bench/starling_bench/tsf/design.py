"""Designed experiments: which combinations of a study's fields to run, in which order.

Every block in time holds all runs (of a Latin hypercube its own) in an order of its own, drawn by a
seed that is written down, and the centre point several times, so that drift shows. What runs in
federation executions apart (RTIs, hosts, switches) takes turns within each block. The runs replace
the executions of a file that says all else.
"""

import contextlib
import functools
import itertools
import math
import operator
import random
import re
import string
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyDOE3

from ..errors import USAGE, BenchError, cannot
from ..study import Study
from .durations import TESTS_MAX
from .plan import load
from .sequences import PLACES, File
from .tables import toml

Value = bool | int | float | str
Point = dict[str, Value]


@dataclass(frozen=True)
class Factor:
    """A field and its levels, or its range."""

    name: str
    levels: tuple[Value, ...]
    low: float | None = None
    high: float | None = None

    @property
    def centre(self) -> tuple[Value, ...]:
        """The middle: of a range on a logarithmic scale, of levels that are numbers the middle one;
        other levels have none, so all of them."""
        if self.low is not None:
            return (round((self.low * self.high) ** 0.5),)
        if all(isinstance(v, int | float) and not isinstance(v, bool) for v in self.levels):
            return (self.levels[len(self.levels) // 2],)
        return self.levels


def make(
    study: Study, base: Path, out: Path, vary: list[str], hold: list[str], *, runs: int,
    resolution: int, surface: bool, centres: int, blocks: int | None, seed: int | None,
) -> str:  # fmt: skip
    """Draws the design that options ask for, and writes it; what it is, in words."""
    drawn = random.randrange(2**32) if seed is None else seed
    factors = [factor(text) for text in vary]
    count = blocks or blocks_for(study, base, factors)
    held = {f.name: f.levels[0] for f in map(_single, hold)}
    if sum(map(bool, (runs, resolution, surface))) > 1:
        what = "--runs, --resolution and --surface are designs of their own"
        raise BenchError("STL-DES-006", what, do="give one of them", exit_code=USAGE)
    correlation = ""
    if runs:
        each, most = latin_hypercube(factors, runs, drawn, count)
        kind, correlation = "Latin hypercube", f", largest correlation of two factors {most:.2f}"
    else:
        points, kind = _regular(factors, resolution, surface)
        each = [points] * count
    kind += f", {len(each[0])} runs in each block, seed {drawn}{correlation}"
    if without := [f.name for f in factors if centres and len(f.centre) > 1]:
        kind += f", {centres} centre points at each level of {' and '.join(without)}"
    ordered = list(in_blocks(each, factors, centres, drawn))
    file = write(study, base, out, ordered, held, kind, drawn)
    tests = sum(len(block) for block in ordered)
    every = sum(len(e.tests()) for s in file.sequence for e in s.execution)
    whole = f", {every} on all its RTIs" if every > tests else ""
    said = f"{out}: {tests} tests in {count} blocks{whole}; {kind}"
    if left := _left_behind(study, base, {*held, *(f.name for f in factors)}):
        keep = " ".join(filter(None, left.values()))
        said += f"\nnot taken over from the base's tests: {', '.join(left)}"
        said += f" (to keep: {keep})" if keep else ""
    return said


def _regular(factors: list[Factor], resolution: int, surface: bool) -> tuple[list[Point], str]:
    """A design whose points are the same in each block, and its name."""
    if resolution:
        points, found = fractional_factorial(factors, resolution)
        return points, f"fractional factorial of resolution {found}"
    if surface:
        return response_surface(factors), "response surface"
    return full_factorial(factors), "full factorial"


def factor(text: str) -> Factor:
    """FIELD=A,B,C (levels) or FIELD=LOW..HIGH (whole numbers, on a logarithmic scale)."""
    name, equals, given = text.partition("=")
    if not re.fullmatch(r"\w+", name) or not equals or not given:
        raise _wrong(text, "it is FIELD=A,B,C or FIELD=LOW..HIGH")
    if found := re.fullmatch(r"(\d+)\.\.(\d+)", given):
        low, high = int(found[1]), int(found[2])
        if not 0 < low < high:
            raise _wrong(text, "a range begins above 0 and ends higher")
        return Factor(name, (low, high), low, high)
    levels = tuple(_value(part.strip()) for part in given.split(","))
    if len(set(levels)) < len(levels) or "" in levels:
        raise _wrong(text, "its levels differ, and none is empty")
    return Factor(name, levels)


def _single(text: str) -> Factor:
    """FIELD=VALUE."""
    found = factor(text)
    if len(found.levels) > 1:
        what = f"--set {text} gives {len(found.levels)} values to '{found.name}'"
        do = "give one, or make it a --factor"
        raise BenchError("STL-DES-009", what, do=do, exit_code=USAGE)
    return found


def _wrong(text: str, do: str) -> BenchError:
    return BenchError("STL-DES-001", f"factor '{text}' is not understood", do=do, exit_code=USAGE)


def _value(text: str) -> Value:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def full_factorial(factors: list[Factor]) -> list[Point]:
    """Every combination of levels; of a range its ends."""
    if (count := math.prod(len(f.levels) for f in factors)) > TESTS_MAX:
        what = f"{count:,} combinations of levels, more than {TESTS_MAX:,}"
        do = "take fewer levels, a fraction (--resolution) or a Latin hypercube (--runs)"
        raise BenchError("STL-DES-008", what, do=do, exit_code=USAGE)
    names = [f.name for f in factors]
    return [
        dict(zip(names, values, strict=True))
        for values in itertools.product(*(f.levels for f in factors))
    ]


# Of so many draws the one whose factors correlate least.
_DRAWS = 1000


def latin_hypercube(
    factors: list[Factor], runs: int, seed: int, blocks: int = 1
) -> tuple[list[list[Point]], float]:
    """Points for each block, and the largest correlation between two factors. Over all blocks each
    range is cut into as many parts as there are points, each hit once; so it is within a block,
    whose parts are as many as its runs (a sliced Latin hypercube: Qian 2012). Levels take turns."""
    rng = np.random.default_rng(seed)
    best, least = _sliced(rng, len(factors), runs, blocks), 2.0
    for _ in range(_DRAWS if len(factors) > 1 and runs > 1 else 0):
        drawn = _sliced(rng, len(factors), runs, blocks)
        if (found := _correlation(factors, drawn)) < least:
            best, least = drawn, found
    points = [[{f.name: _at(f, u) for f, u in zip(factors, row, strict=True)} for row in block]
              for block in best]  # fmt: skip
    return points, least if least <= 1 else 0.0


def _sliced(rng: np.random.Generator, factors: int, runs: int, blocks: int) -> np.ndarray:
    """By block, run and factor, from 0 to 1."""
    parts = rng.permuted(np.tile(np.arange(blocks), (runs, factors, 1)), axis=2)
    parts += blocks * np.arange(runs)[:, None, None]  # of each run's part one for each block
    by_block = rng.permuted(np.moveaxis(parts, 2, 0), axis=1)
    return (by_block + rng.random(by_block.shape)) / (runs * blocks)


def _at(f: Factor, u: float) -> Value:
    if f.low is None:
        return f.levels[int(u * len(f.levels))]
    return round(f.low * (f.high / f.low) ** u)


def _correlation(factors: list[Factor], drawn: np.ndarray) -> float:
    """The largest between two factors, over all blocks and within one; of levels that of any."""
    columns, of = [], []
    for n, f in enumerate(factors):
        at = drawn[:, :, n]
        if f.low is None:
            level = (at * len(f.levels)).astype(int)
            # Two levels are one column, as the one is where the other is not.
            own = [level == k for k in range(len(f.levels) if len(f.levels) > 2 else 1)]
        else:
            own = [at]
        columns += own
        of += [n] * len(own)
    matrix, of = np.array(columns, float), np.array(of)
    apart = of[:, None] != of
    most = 0.0
    for rows in (matrix.reshape(len(of), -1), *np.moveaxis(matrix, 1, 0)):
        centred = rows - rows.mean(axis=1, keepdims=True)
        size = np.linalg.norm(centred, axis=1)
        size[size == 0] = np.inf  # a level that this block does not have correlates with nothing
        found = np.abs(centred @ centred.T / np.outer(size, size))[apart]
        most = max(most, float(found.max(initial=0)))
    return most


def _word_lengths(base: int, generators: tuple[frozenset[int], ...]) -> Iterator[int]:
    """How many factors each word of the defining relation has."""
    words = [generator | {base + n} for n, generator in enumerate(generators)]
    for size in range(1, len(words) + 1):
        for chosen in itertools.combinations(words, size):
            # What stands twice in a product is 1.
            yield len(functools.reduce(operator.xor, chosen))


def resolution_of(base: int, generators: tuple[frozenset[int], ...]) -> int:
    """The length of the shortest word (Montgomery, Design and Analysis of Experiments, 8.2); of a
    full factorial one more than its factors."""
    return min(_word_lengths(base, generators), default=base + 1)


def fractional_factorial(factors: list[Factor], resolution: int) -> tuple[list[Point], int]:
    """The smallest regular fraction of at least this resolution, of two levels each, and the
    resolution that it has."""
    for f in factors:
        if len(f.levels) != 2:
            what = f"factor '{f.name}' has {len(f.levels)} levels; a fraction needs two of each"
            raise BenchError("STL-DES-004", what, do="give a range or two levels", exit_code=USAGE)
    for base in range(1, len(factors) + 1):
        orders = range(max(resolution - 1, 2), base + 1)
        products = [frozenset(c) for n in orders for c in itertools.combinations(range(base), n)]
        # The longest first: they make the longest words.
        for generators in itertools.combinations(reversed(products), len(factors) - base):
            found = resolution_of(base, generators)
            if found < resolution:
                continue
            letters = string.ascii_lowercase
            names = [*letters[:base], *("".join(letters[i] for i in sorted(g)) for g in generators)]
            rows = pyDOE3.fracfact(" ".join(names))
            return [
                {f.name: f.levels[int(x > 0)] for f, x in zip(factors, row, strict=True)}
                for row in rows
            ], found
    what = f"{len(factors)} factors have no fraction of resolution {resolution}"
    do = f"take at most {len(factors) + 1}, which is the full factorial"
    raise BenchError("STL-DES-005", what, do=do, exit_code=USAGE)


def response_surface(factors: list[Factor]) -> list[Point]:
    """A central composite design: each range at its ends and its middle, in the corners and in the
    middles of the faces; the centre comes with the blocks."""
    for f in factors:
        if f.low is None:
            what = f"factor '{f.name}' has levels; a response surface needs ranges"
            raise BenchError("STL-DES-004", what, do="give it as LOW..HIGH", exit_code=USAGE)
    if len(factors) < 2:
        what = "a response surface needs two factors"
        raise BenchError("STL-DES-005", what, do="add a --factor", exit_code=USAGE)
    at = [{-1: f.low, 0: f.centre[0], 1: f.high} for f in factors]
    rows = pyDOE3.ccdesign(len(factors), center=(0, 0), face="ccf")
    return [
        {f.name: values[round(x)] for f, values, x in zip(factors, at, row, strict=True)}
        for row in rows
    ]


def centre_points(factors: list[Factor], centres: int, drawn: random.Random) -> list[Point]:
    """So many at each level that has no middle: the levels of each factor in an order of its own,
    so that no two factors are bound to change together."""
    count = centres * max(len(f.centre) for f in factors)
    columns = {}
    for f in factors:
        column = list(itertools.islice(itertools.cycle(f.centre), count))
        columns[f.name] = column if len(f.centre) == 1 else drawn.sample(column, count)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def in_blocks(points: list[list[Point]], factors: list[Factor], centres: int, seed: int):
    """Each block's points in an order of its own, with the centre at its beginning, its end and
    evenly between."""
    drawn = random.Random(seed)
    for block in points:
        order = drawn.sample(block, len(block))
        middle = centre_points(factors, centres, drawn)
        for i, centre in enumerate(middle):
            order.insert(round(i * len(order) / max(len(middle) - 1, 1)), centre)
        yield order


# Blocks where nothing runs in executions apart; and where some do, which are compared by how they
# differ from block to block.
BLOCKS, BLOCKS_APART = 2, 4


def blocks_for(study: Study, base: Path, factors: list[Factor]) -> int:
    """How many to take."""
    file = load(base, study)
    rtis = {sequence.rti.model_dump_json() for sequence in file.sequence}
    apart = len(rtis) > 1 or any(f.name in PLACES for f in factors)
    for f in factors:
        if f.name == study.connection_by:
            apart |= len({study.connections.get(level, "") for level in f.levels}) > 1
    return BLOCKS_APART if apart else BLOCKS


def write(
    study: Study, base: Path, out: Path, blocks: list[list[Point]], held: Point, what: str,
    seed: int = 0,
) -> File:  # fmt: skip
    """Writes the runs in the place of the base's executions; a file that is wrong does not stay.
    What it is then."""
    if out.resolve().parent != base.resolve().parent:
        raise BenchError(
            "STL-DES-002", "the design's paths are those of its base", str(out),
            f"write it beside {base}", USAGE,
        )  # fmt: skip
    load(base, study)
    given = held.keys() | {name for points in blocks for point in points for name in point}
    needed = [n for n, f in study.spec.model_fields.items() if f.is_required() and n not in given]
    if needed:
        raise BenchError(
            "STL-DES-007", f"its tests need '{needed[0]}', which the base's executions don't give",
            str(base), f"give --set {needed[0]}=...", USAGE,
        )  # fmt: skip
    head, found, _ = base.read_text(encoding="utf-8").partition("[[sequence.execution]]")
    if head.count("[[sequence]]") != 1 or not found:
        raise BenchError(
            "STL-DES-003", "a design's base has one sequence, its executions at the end", str(base),
            exit_code=USAGE,
        )  # fmt: skip
    # Its blocks are its rounds.
    head = re.sub(r"(?m)^\s*(blocks_seed|rounds)\s*=.*\n", "", head)
    head = head.replace("[[sequence]]", f"[[sequence]]\nblocks_seed = {seed}")
    lines = [f"# Designed: {what}.", head.rstrip()]
    for n, points in enumerate(blocks, 1):
        lines += ["", "[[sequence.execution]]", f'name = "block{n}"']
        for point in points:
            lines += ["", "[[sequence.execution.test]]"]
            lines += [f"{k} = {toml(v)}" for k, v in {**held, **point}.items()]
    try:
        if out.exists():
            raise BenchError(
                "STL-OUT-002", "there is a file already", str(out), "give another --out", USAGE
            )
        out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as e:
        raise cannot("write the design", e, out) from None
    try:
        return load(out, study)
    except BaseException:
        with contextlib.suppress(OSError):
            out.unlink()
        raise


def _left_behind(study: Study, base: Path, given: set[str]) -> dict[str, str]:
    """Fields that tests of the base have and those of a design have not, as nobody gave them: what
    keeps their value, or "" where they have several. A default is the same in both."""
    tables = tomllib.loads(base.read_text(encoding="utf-8"))
    executions = [e for s in tables["sequence"] for e in s.get("execution", ())]
    tests = [t for e in executions for t in e.get("test", ())]
    usual = {name: field.default for name, field in study.spec.model_fields.items()}
    values: dict[str, list] = {}
    for test in tests:
        for name in usual.keys() - given:
            values.setdefault(name, []).append(test.get(name, usual[name]))
    found = {}
    for name in filter(values.get, usual):
        of = values[name]
        if all(value == usual[name] for value in of):
            continue
        same = all(value == of[0] for value in of) and not isinstance(of[0], list | dict)
        written = str(of[0]).lower() if isinstance(of[0], bool) else of[0]
        found[name] = f"--set {name}={written}" if same else ""
    return found

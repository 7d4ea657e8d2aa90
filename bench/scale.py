#!/usr/bin/env python3
"""Generates so many updates, packs, analyses and reports them in a limited memory, and says what it
took: what a campaign of millions of points needs.

make scale UPDATES=300000000
"""

import argparse
import resource
import time
from pathlib import Path

import numpy as np

from starling_bench.flows import updates

FILES = 20


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--updates", type=int, default=20_000_000)
    arguments.add_argument("--memory-gb", type=float, default=4)
    arguments.add_argument("--out", type=Path, required=True)
    asked = arguments.parse_args()
    # What a process may hold in memory of its own; files that it maps are no part of it.
    limit = int(asked.memory_gb * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    asked.out.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    paths = [generate(asked.out, n, asked.updates) for n in range(FILES)]
    made = time.monotonic()
    counted, found = updates.classes(paths), updates.totals(paths)
    shares = updates.percentiles(counted)
    report(asked.out / "scale.html", counted, found, shares)
    took = time.monotonic() - made
    disk = sum(path.stat().st_size for path in paths)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{found['updates']:,} updates: generated and packed in {made - start:.0f} s, analysed and "
        f"reported in {took:.0f} s; {disk / 2**20:,.0f} MB of disk, {disk / found['updates']:.1f} "
        f"bytes each; at most {peak:.2f} GB of memory (limit {asked.memory_gb:g} GB)"
    )
    if found["updates"] != asked.updates or peak > asked.memory_gb:
        raise SystemExit("not all were found, or they took too much")


def generate(out: Path, number: int, count: int) -> Path:
    """One file of all: latencies as a network's, a percent of updates twice."""
    draw = np.random.default_rng(number)
    path = updates.path_of(out, number, 1, "sub1")
    begin, end = count * number // FILES, count * (number + 1) // FILES
    with updates.writing(path) as put:
        for at in range(begin, end, updates.CHUNK):
            some = np.arange(at, min(at + updates.CHUNK, end), dtype=np.int64)
            found = np.zeros(len(some), dtype=updates.RAW)
            found["sent_ns"] = 10**15 + some * 83_333
            found["latency_ns"] = draw.lognormal(12.2, 0.6, len(some)).astype("i8")
            found["sequence"], found["entity"] = some // 100 + 1, some % 100
            found["publisher"], found["first"] = some % 5, draw.random(len(some)) > 0.01
            put(found)
    return path


def report(path: Path, counted, found: dict, shares: dict) -> None:
    """The distribution as a page."""
    from starling_bench.reports.drawing import plt
    from starling_bench.reports.parts import text_table

    figure, axes = plt.subplots()
    lower = updates.WIDTH ** counted["latency_class"].to_numpy().astype(float) / 1e6
    axes.step(lower, counted["count"].to_numpy(), where="post")
    axes.set(xscale="log", xlabel="latency, ms", ylabel="updates in a class of 1.1 %")
    figure.savefig(path.with_suffix(".svg"))
    plt.close(figure)
    lines = [(name, f"{value:,.4g}") for name, value in {**found, **shares}.items()]
    path.write_text(text_table(("of all", ""), lines) + f'<img src="{path.stem}.svg">')


if __name__ == "__main__":
    main()

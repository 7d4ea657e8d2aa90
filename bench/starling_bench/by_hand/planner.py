"""Whether planned flows would fit their budgets: measured on this machine, or between hosts, under
several settings, and told in sentences.

The application is the first federate; each flow that it receives comes from another.
"""

import contextlib
import io
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ..commands.attempt import Attempt
from ..commands.commands import RtiRoot, finite
from ..commands.console import guarded
from ..errors import USAGE, BenchError
from ..kept.store import Store
from ..machines.identity import Run
from ..statistics import rates, stats
from ..statistics.equivalence import BATCHES
from ..study import Study
from ..times.clocks import digits_ms, outwards_ms
from ..tsf import tables


@dataclass(frozen=True)
class Outcome:
    """One flow under one setting."""

    setting: str
    flow: str  # in words
    budget_ms: float
    in_budget: float | None  # share of what was sent; None: clocks don't tell
    high_ms: float | None  # what the wanted share does not exceed; None: it never came
    held: bool  # its sender held its rate
    sent: int
    bound_ms: float = 0.0  # by how much the clocks may be wrong
    ms: np.ndarray = field(default_factory=lambda: np.empty(0))  # its times, in order of sending
    clock: str = "not known"
    planned: int = 0  # to be sent; 0: not said
    disturbed: str = ""  # what speaks against its figures


@dataclass(frozen=True)
class Planning:
    """What a study has for it. The first setting is the usual one; each holds fields of a test and
    of its sequence, and whether it can be had on an adapter."""

    settings: dict[str, tuple[dict, dict]]
    test: Callable[[list[str]], dict]  # the fields of a test of these flows; ValueError: what, do
    outcome: Callable[[Store, dict, str, float], Outcome]  # of a summary, a setting and a share
    fits_adapter: Callable[[str, str, dict], bool]  # setting, adapter, test
    apart: dict  # fields of a test between machines of their own
    flow: str  # how a flow is written
    least: str  # one that hardly takes part: of who sends nothing


def command(study: Study, app: typer.Typer, planning: Planning) -> None:
    """Adds `plan` to a study's commands."""

    @app.command("plan")
    @guarded
    def plan(
        receive: Annotated[
            list[str],
            typer.Option(help="What it receives, likewise; once for each federate: f2, f3 ..."),
        ],
        send: Annotated[
            str, typer.Option(help=f"What the application sends, if anything: {planning.flow}.")
        ] = "",
        program: Annotated[str, typer.Option(f"--{study.program}")] = study.program,
        adapter: Annotated[str, typer.Option(help="starling, generic, tcp ...")] = "starling",
        rti_root: RtiRoot = None,
        from_: Annotated[str, typer.Option("--from", help=r"A [\[host]] of --hosts.")] = "",
        to: Annotated[str, typer.Option(help=r"A [\[host]] of --hosts.")] = "",
        hosts: Annotated[Path | None, typer.Option(help=r"File with [\[host]] tables.")] = None,
        seconds: Annotated[
            float, typer.Option(help="Of each setting.", min=0.5, callback=finite)
        ] = 30.0,
        share: Annotated[
            float, typer.Option(help="Wanted in budget.", min=0, max=SHARE_MAX, callback=finite)
        ] = 0.99,
    ) -> int:
        """Would it fit? Measures planned sizes and rates, and what other settings would change."""
        for flow in (send, *receive):
            if re.search(r"\s", flow) or not (flow or flow is send):
                what = f"{flow!r:.50} is not one flow"
                raise BenchError("STL-PLN-001", what, "", f"give {planning.flow}", USAGE)
        try:
            fields = planning.test([send or planning.least, *receive])
        except ValueError as e:
            raise BenchError("STL-PLN-001", e.args[0], "", e.args[1], USAGE) from None
        if bool(from_ or to) != bool(hosts) or bool(from_) != bool(to):
            what = "--from, --to and --hosts go together"
            raise BenchError("STL-PLN-002", what, "", "give all of them, or none", USAGE)
        if hosts and "ssh" in _kinds(hosts, {from_, to}):
            fields = fields | planning.apart
        usual = next(iter(planning.settings))
        settings = {name: s for name, s in planning.settings.items()
                    if planning.fits_adapter(name, adapter, fields)}  # fmt: skip
        federates = [{"name": f"f{n + 1}"} | ({"host": to if n else from_} if hosts else {})
                     for n in range(1 + len(receive))]  # fmt: skip
        lines = [f"include = [{tables.toml(str(hosts.resolve()))}]"] if hosts else []
        fom = str(Path(__file__).resolve().parents[2] / study.fom.removeprefix("bench/"))
        for n, (test, sequence) in enumerate(settings.values()):
            whole = {"name": f"s{n}", "fom": fom} | sequence
            timed = fields | {"duration_s": seconds} | test
            lines += _tables(whole, adapter, federates, timed)
        with _passing() as directory:
            file, out = directory / "plan.tsf.toml", directory / "out"
            tables.write_text(file, "\n".join(lines) + "\n")
            with contextlib.redirect_stdout(io.StringIO()):
                code = Attempt(
                    study, file, out, program=program, rti_root=rti_root, idle_wait_s=0,
                    report=False, passing=True,
                ).run()  # fmt: skip
            store, names = Store.load(out, study), list(settings)
            outcomes = [
                replace(
                    planning.outcome(store, s, names[int(s["sequence"].split(".")[0][1:])], share),
                    disturbed=rates.disturbed(s),
                )
                for s in store.summaries()
                if s["receiver"] == "f1" or (send and s["sender"] == "f1")
            ]  # fmt: skip
        if not outcomes:
            return code or 1
        typer.echo(f"measured for {seconds:g} s; {usual}:")
        of = [o for o in outcomes if o.setting == usual]
        failed = settings.keys() - {o.setting for o in outcomes}
        for o in of:
            typer.echo(f"  {sentence(o, share)}")
        if not of:
            typer.echo("  not measured: its run failed (above: why)")
        for line in advice(outcomes, usual, share):
            typer.echo(f"  with {line}")
        for name in sorted(failed - {usual}):
            typer.echo(f"  with {name}: not measured, its run failed (above: why)")
        if failed:
            return code or 1
        return 0 if all(fits(o, share) for o in of) else 1


@contextlib.contextmanager
def _passing() -> Iterator[Path]:
    """A directory that nobody hears of, as it is gone with the plan; one of a plan that was killed
    `clean` removes."""
    me = Run()
    try:
        yield me.directory("plan")
    except BenchError as e:
        for one in (e, *e.also):
            # A place in its file says nothing; what to do about it does.
            one.where = "" if str(me.temporary) in one.where else one.where
            one.do = "plan again" if str(me.temporary) in one.do or not one.do else one.do
        raise
    finally:
        me.end()


def _kinds(hosts: Path, names: set[str]) -> set[str]:
    """Of what kind these are of a file's hosts; one that is not there, or wrong, is told when the
    plan is read."""
    there = tables.those(tables.read(hosts), "host")
    return {str(h.get("kind")) for h in there if str(h.get("name")) in names}


def _tables(sequence: dict, adapter: str, federates: list[dict], test: dict) -> list[str]:
    """A sequence of one test, as lines of a test sequence file."""
    parts = [
        ("[[sequence]]", sequence),
        ("[sequence.rti]", {"adapter": adapter}),
        *(("[[sequence.federate]]", f) for f in federates),
        ("[[sequence.execution]]", {"name": "e"}),
        ("[[sequence.execution.test]]", test),
    ]
    fields = lambda values: (f"{k} = {tables.toml(v)}" for k, v in values.items())  # noqa: E731
    return [line for head, values in parts for line in (head, *fields(values))]


# A higher share would want 30,000 messages that are all in budget, or more.
SHARE_MAX = 0.9999
_SURE = 0.95


def fits(o: Outcome, share: float) -> bool:
    """So much of it is in its budget, and not by chance: the share's lower bound is no less."""
    return o.held and o.in_budget is not None and _bounds(o)[0] >= share


def fails(o: Outcome, share: float) -> bool:
    """Less of it is."""
    if not o.held or o.in_budget is None:
        return not o.held
    return o.high_ms is None or _bounds(o)[1] < share


def _bounds(o: Outcome) -> tuple[float, float]:
    """What the share in budget is no less than, and no more, each as surely as _SURE (Clopper and
    Pearson)."""
    from scipy.stats import beta  # takes half a second to load

    inside = round((o.in_budget or 0) * o.sent)
    low = beta.ppf(1 - _SURE, inside, o.sent - inside + 1) if inside else 0.0
    high = beta.ppf(_SURE, inside + 1, o.sent - inside) if inside < o.sent else 1.0
    return float(low), float(high)


def needed(share: float) -> int:
    """Of so many messages that all are in budget such a share follows."""
    return math.ceil(math.log(1 - _SURE) / math.log(share)) if share > 0 else 1


def known(o: Outcome, share: float) -> bool:
    """Of so many messages such a percentile is told."""
    return o.sent * (1 - share) >= 10 * (1 - 1e-9)


def rank(sent: int, share: float) -> int:
    """So many messages are that share."""
    return max(1, math.ceil(round(share * sent, 9)))


def sentence(o: Outcome, share: float) -> str:
    """Whether it fits, and by how much; what speaks against that."""
    return "; ".join(filter(None, (_verdict(o, share), o.disturbed)))


def _verdict(o: Outcome, share: float) -> str:
    if not o.held:
        said = f": {o.sent:,} of {o.planned:,} were sent" if o.planned else ""
        return f"{o.flow}: does not fit, its sender can't hold its rate{said}"
    if o.in_budget is None:
        return f"{o.flow}: can't be told, its clocks are {o.clock}"
    if o.high_ms is None:
        return f"{o.flow}: does not fit, too little of it arrived"
    rest = o.budget_ms - o.high_ms
    left = f"{_ms(abs(rest), o)} ms {'to spare' if rest >= 0 else 'too much'}"
    found = f"{stats.percent(o.in_budget, 3)} of {o.sent:,} messages within {o.budget_ms:.4g} ms"
    # Of so few messages what so many took is no percentile.
    most = f"{share:.3%}" if known(o, share) else f"{rank(o.sent, share):,} of {o.sent:,}"
    times = f"(wanted {share:.3%}); {most} take at most {_ms(o.high_ms, o)} ms, {left}"
    if fits(o, share) or fails(o, share):
        return f"{o.flow}: {'fits' if fits(o, share) else 'does not fit'}, {found} {times}"
    few = f"so few can't tell: {needed(share):,} that are all in budget can (--seconds)"
    return f"{o.flow}: so far {found} {times}; {few}"


def _ms(value: float, o: Outcome) -> str:
    return digits_ms(value, o.bound_ms) if o.bound_ms else f"{value:.3g}"


@dataclass(frozen=True)
class Gain:
    """How much more a setting leaves to spare in its tightest flow than another one, in ms, with
    its 95 % interval, which holds what clocks may be wrong by; a percentile, or else the median."""

    value: float
    low: float
    high: float
    median: bool
    bound_ms: float

    def words(self) -> str:
        of = "the median of the tightest flow" if self.median else "the tightest flow"
        low, high = f"{self.low:+.3g}", f"{self.high:+.3g}"
        if self.bound_ms:
            low, high = outwards_ms(self.low, self.high, self.bound_ms)
        if self.low <= 0 <= self.high:
            return f"not distinguishable in {of} ({low} to {high} ms to spare)"
        least = f"{abs(self.value):.3g}"
        if self.bound_ms:
            least = digits_ms(abs(self.value), self.bound_ms)
        way = "more" if self.value > 0 else "less"
        return f"{least} ms {way} to spare in {of} (95 % interval {low} to {high})"


_DRAWS, _VALUES = 1000, 20_000_000


def gain(of: list[Outcome], usual: list[Outcome], share: float) -> Gain | None:
    """Between two settings: by what so many parts of each flow, drawn again and again, would have
    told, as neighbours depend on each other. None: too little came for that."""
    every = [*of, *usual]
    if not (of and usual) or any(len(o.ms) < BATCHES or o.high_ms is None for o in every):
        return None
    median = not all(known(o, share) for o in every)
    # Of what came, where the wanted share of what was sent lies.
    at = lambda o: 0.5 if median else min(1.0, share * o.sent / len(o.ms))  # noqa: E731
    draws = max(100, min(_DRAWS, _VALUES // max(len(o.ms) for o in every)))
    rng = np.random.default_rng(1)
    spare = [[_left(o, o.ms, at(o)) for o in side] for side in (of, usual)]
    drawn = [np.min([_drawn(o, at(o), draws, rng) for o in side], axis=0) for side in (of, usual)]
    bound = sum(max(o.bound_ms for o in side) for side in (of, usual))
    low, high = np.percentile(drawn[0] - drawn[1], [2.5, 97.5])
    value = min(spare[0]) - min(spare[1])
    return Gain(value, float(low) - bound, float(high) + bound, median, bound)


def _left(o: Outcome, ms: np.ndarray, share: float) -> float:
    """What is left of the budget behind that share of what came."""
    at = rank(len(ms), share) - 1
    return o.budget_ms - float(np.partition(ms, at)[at])


def _drawn(o: Outcome, share: float, draws: int, rng: np.random.Generator) -> np.ndarray:
    parts = np.array_split(o.ms, BATCHES)
    return np.array([
        _left(o, np.concatenate([parts[n] for n in rng.integers(BATCHES, size=BATCHES)]), share)
        for _ in range(draws)
    ])  # fmt: skip


def advice(outcomes: list[Outcome], usual: str, share: float) -> list[str]:
    """Which of the other settings would help where the usual one does not do, or would do better;
    what they cost otherwise."""
    by: dict[str, list[Outcome]] = {}
    for o in outcomes:
        by.setdefault(o.setting, []).append(o)
    worst = {
        name: max((o.high_ms - o.budget_ms if o.high_ms is not None and o.held else float("inf"))
                  for o in of)
        for name, of in by.items()
    }  # fmt: skip
    lines = []
    for name, of in sorted(by.items(), key=lambda item: worst[item[0]]):
        if name == usual:
            continue
        all_fit = all(fits(o, share) for o in of)
        told = all(math.isfinite(worst.get(one, math.inf)) for one in (name, usual))
        told = told and not any(o.disturbed for o in by[usual])
        if disturbed := next((o.disturbed for o in of if o.disturbed), ""):
            lines.append(f"{name}: not known, {disturbed}")
        elif all_fit and not all(fits(o, share) for o in by.get(usual, ())):
            lines.append(f"{name}: then all fits")
        elif told:
            found = gain(of, by[usual], share)
            few = f"so few messages ({min(len(o.ms) for o in of):,}) tell no difference (--seconds)"
            lines.append(f"{name}: {found.words() if found else few}")
        else:  # what was not measured is nobody's measure
            none = any(fails(o, share) for o in of)
            lines.append(
                f"{name}: {'fits' if all_fit else 'does not fit' if none else 'not known'}"
            )
    return lines

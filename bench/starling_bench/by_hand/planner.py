"""Whether planned flows would fit their budgets: measured on this machine, or between hosts, under
several settings, and told in sentences.

The application is the first federate; each flow that it receives comes from another.
"""

import contextlib
import io
import json
import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ..commands.attempt import Attempt
from ..commands.commands import RtiRoot, finite
from ..commands.console import guarded
from ..errors import USAGE, BenchError
from ..kept.store import Store
from ..statistics import stats
from ..study import Study
from ..times.clocks import digits_ms
from ..tsf import tables


@dataclass(frozen=True)
class Outcome:
    """One flow under one setting."""

    setting: str
    flow: str  # in words
    budget_ms: float
    in_budget: float | None  # share of what was sent
    high_ms: float | None  # what the wanted share does not exceed; None: it never came
    held: bool  # its sender held its rate
    sent: int
    bound_ms: float = 0.0  # by how much the clocks may be wrong


@dataclass(frozen=True)
class Planning:
    """What a study has for it. The first setting is the usual one; each holds fields of a test and
    of its sequence, and whether it can be had on an adapter."""

    settings: dict[str, tuple[dict, dict]]
    test: Callable[[list[str]], dict]  # the fields of a test of these flows; ValueError
    outcome: Callable[[Store, dict, str, float], Outcome]  # of a summary, a setting and a share
    fits_adapter: Callable[[str, str, dict], bool]  # setting, adapter, test
    apart: dict  # fields of a test between machines of their own


def command(study: Study, app: typer.Typer, planning: Planning) -> None:
    """Adds `plan` to a study's commands."""

    @app.command("plan")
    @guarded
    def plan(
        send: Annotated[str, typer.Option(help="What the application sends: 2KB@60.")],
        receive: Annotated[
            list[str], typer.Option(help="What it receives; once for each federate.")
        ],
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
        try:
            fields = planning.test([send, *receive])
        except ValueError as e:
            raise BenchError("STL-PLN-001", str(e), "", "correct it", USAGE) from None
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
        lines = [f"include = [{json.dumps(str(hosts.resolve()))}]"] if hosts else []
        fom = str(Path(__file__).resolve().parents[2] / study.fom.removeprefix("bench/"))
        for n, (test, sequence) in enumerate(settings.values()):
            whole = {"name": f"s{n}", "fom": fom} | sequence
            timed = fields | {"duration_s": seconds} | test
            lines += _tables(whole, adapter, federates, timed)
        with tempfile.TemporaryDirectory(prefix="plan-") as directory:
            file, out = Path(directory) / "plan.tsf.toml", Path(directory) / "out"
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")
            with contextlib.redirect_stdout(io.StringIO()):
                code = Attempt(
                    study, file, out, program=program, rti_root=rti_root, idle_wait_s=0,
                    report=False,
                ).run()  # fmt: skip
            store, names = Store.load(out, study), list(settings)
            outcomes = [
                planning.outcome(store, s, names[int(s["sequence"].split(".")[0][1:])], share)
                for s in store.summaries() if "f1" in (s["sender"], s["receiver"])
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


def _kinds(hosts: Path, names: set[str]) -> set[str]:
    """Of what kind these are of a file's hosts; one that is not there, or wrong, is told when the
    plan is read."""
    there = tables.read(hosts).get("host", [])
    return {str(h.get("kind")) for h in there if isinstance(h, dict) and h.get("name") in names}


def _tables(sequence: dict, adapter: str, federates: list[dict], test: dict) -> list[str]:
    """A sequence of one test, as lines of a test sequence file."""
    parts = [
        ("[[sequence]]", sequence),
        ("[sequence.rti]", {"adapter": adapter}),
        *(("[[sequence.federate]]", f) for f in federates),
        ("[[sequence.execution]]", {"name": "e"}),
        ("[[sequence.execution.test]]", test),
    ]
    fields = lambda values: (f"{k} = {json.dumps(v)}" for k, v in values.items())  # noqa: E731
    return [line for head, values in parts for line in (head, *fields(values))]


# A higher share would want 30,000 messages that are all in budget, or more.
SHARE_MAX = 0.9999
_SURE = 0.95


def fits(o: Outcome, share: float) -> bool:
    """So much of it is in its budget, and not by chance: the share's lower bound is no less."""
    return o.held and o.in_budget is not None and _bounds(o)[0] >= share


def fails(o: Outcome, share: float) -> bool:
    """Less of it is."""
    return not o.held or o.in_budget is None or o.high_ms is None or _bounds(o)[1] < share


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


def sentence(o: Outcome, share: float) -> str:
    """Whether it fits, and by how much."""
    if not o.held:
        return f"{o.flow}: does not fit, its sender can't hold its rate"
    if o.in_budget is None or o.high_ms is None:
        return f"{o.flow}: does not fit, too little of it arrived"
    rest = o.budget_ms - o.high_ms
    left = f"{_ms(abs(rest), o)} ms {'to spare' if rest >= 0 else 'too much'}"
    found = f"{stats.percent(o.in_budget, 3)} of {o.sent:,} messages within {o.budget_ms:.4g} ms"
    times = f"(wanted {share:.3%}); {share:.3%} take at most {_ms(o.high_ms, o)} ms, {left}"
    if fits(o, share) or fails(o, share):
        return f"{o.flow}: {'fits' if fits(o, share) else 'does not fit'}, {found} {times}"
    few = f"so few can't tell: {needed(share):,} that are all in budget can (--seconds)"
    return f"{o.flow}: so far {found} {times}; {few}"


def _ms(value: float, o: Outcome) -> str:
    return digits_ms(value, o.bound_ms) if o.bound_ms else f"{value:.3g}"


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
        # What was not measured is nobody's measure.
        gain = worst.get(usual, math.inf) - worst[name]
        if all_fit and not all(fits(o, share) for o in by.get(usual, ())):
            lines.append(f"{name}: then all fits")
        elif gain == gain and abs(gain) != float("inf"):
            words = "more" if gain >= 0 else "less"
            least = _ms(abs(gain), max(of, key=lambda o: o.bound_ms))
            lines.append(f"{name}: {least} ms {words} to spare in the tightest flow")
        else:
            none = any(fails(o, share) for o in of)
            lines.append(
                f"{name}: {'fits' if all_fit else 'does not fit' if none else 'not known'}"
            )
    return lines

"""The report: one self-contained HTML file, figures as inline SVG, nothing from the network. What
stands in it is the study's, and what every report has: which machine, which libraries, the file.
"""

from collections.abc import Callable
from html import escape
from importlib import resources

from ..kept.store import Store
from ..statistics.differences import on
from . import svg
from .parts import pairs_table, part, text_table, with_contents

# Tables with more lines are folded.
_LONG = 20
_STYLE = resources.files(__package__).joinpath("report.css").read_text(encoding="utf-8")

GOES_ON = (
    '<p class="note">The run goes on: these are the tests that are done. Figures and comparisons '
    "come when it ends.</p>"
)


def write(store: Store, title: str, body: list[str]) -> None:
    """Writes report.html into the store's directory: the study's part, then what every report
    has."""
    run = store.run
    begin = (
        f"<h1>{escape(title)}</h1>"
        f"<p>{escape(', '.join(filter(None, [run.get('tsf'), run['started'], *versions(store)])))}"
        "</p>"
    )
    every = [
        *body,
        "<h2>Machine</h2>",
        pairs_table(run["machine"] | _clock(store) | _manager(store) | _memory(store)),
        *_libraries(store), *_hosts(store),
    ]  # fmt: skip
    if "tsf_text" in run:
        every.append(part("Test sequence file", f"<pre>{escape(run['tsf_text'])}</pre>", True))
    text, sheet = svg.compact("".join(every))
    text, contents = with_contents(text)
    store.write(
        "report.html",
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}{sheet}</style></head>"
        f"<body>{begin}{contents}{text}</body></html>\n",
    )


def versions(store: Store) -> list[str]:
    """The RTIs that ran."""
    return list(dict.fromkeys(e["rti"] for e in store.run["executions"] if e.get("rti")))


def verdict(store: Store, text: str, bad: bool) -> str:
    """The first paragraph: counts, whether the machine was fit for them, then what failed or ended
    early. Green is what is good on a machine that was fit."""
    failures = [e for e in store.run["executions"] if e["state"] != "done"]
    problems = [(e, n, m) for e in store.run["executions"] for n, m in e["problems"].items()]
    machine = store.fitness()
    text += f" {machine.said}" * bool(machine.said)
    for f in failures:
        text += f" Execution {f['sequence']}/{f['execution']} {f['state']}: {f['message']}"
    for e, number, message in problems:
        text += f" {e['sequence']}/{e['execution']}, test {number}: {message}."
    state = " bad" if failures or problems or bad else "" if machine.fit else " unfit"
    return f'<p class="verdict{state}">{escape(text)}</p>'


def notes(store: Store) -> list[str]:
    """What a reader must know before the figures."""
    return [
        f'<p class="note">{escape(note)}</p>'
        for note in [*store.run.get("notes", []), *store.warnings()]
    ]


def method(text: str) -> list[str]:
    """How a run was measured."""
    return ["<h2>How this was measured</h2>", f"<p>{escape(text)}</p>"]


def ways(summaries: list[dict], best_effort: Callable[[dict], bool]) -> list[str]:
    """By what data went between each two federates, as the RTI said while they ran; best effort
    that can't be lost there is none."""
    found: dict[tuple[str, ...], int] = {}
    for s in summaries:
        mark = "best effort by a reliable link" if best_effort(s) and s["way_reliable"] else ""
        pair = f"{s['sender']} → {s['receiver']}"
        line = (on(s), s["execution"], pair, s["way"] or "not known: nobody could be asked", mark)
        found[line] = found.get(line, 0) + 1
    head = ("RTI", "execution", "pair", "way", "", "tests")
    table = text_table(head, [(*k, str(n)) for k, n in found.items()])
    return [part("Ways that data took", table, len(found) > _LONG)]


def _clock(store: Store) -> dict[str, str]:
    """How far a time may be wrong: the worst of all executions."""
    told = [c for e in store.run["executions"] if (c := e.get("clock"))]
    if not told:
        return {}
    step, reading = (max(c.get(key, 0) for c in told) for key in ("step_ns", "reading_ns"))
    return {
        "clock's error": f"at most {step + reading} ns a time: steps of {step} ns, a reading takes "
        f"{reading} ns; looked at every second and after each sample for jumps"
    }


def _manager(store: Store) -> dict[str, str]:
    """What conducting took of the CPUs meanwhile."""
    if not (took := store.run.get("manager")):
        return {}
    mean = took["cpu_s"] / took["samples"] * 1e3
    return {
        "manager's CPU time": f"{mean:.1f} ms within a sample, at most {took['most_s'] * 1e3:.1f}"
    }


def _memory(store: Store) -> dict[str, str]:
    """What the RTI's own processes held before and after the test in which that grew most."""
    told = [kb for e in store.run["executions"] for kb in e.get("rti_kb", {}).values()]
    if not told:
        return {}
    before, after = max(told, key=lambda kb: kb[1] - kb[0])
    said = f"{before:,} kB before the test in which it grew most, {after:,} kB after it"
    return {"memory of the RTI's processes": said}


def _libraries(store: Store) -> list[str]:
    """What was loaded: the adapter's library, and the RTI's."""
    found = {
        (e["rti"], name, checksum): None
        for e in store.run["executions"]
        for name, checksum in e.get("libraries", {}).items()
    }
    table = text_table(("RTI", "library", "SHA-256"), list(found))
    return [part("Libraries", table, True)] if found else []


def _hosts(store: Store) -> list[str]:
    """What there was to know of hosts before their first sample."""
    here = store.run.get("found")
    found: dict[str, dict] = {"this one": here} if here else {}
    for execution in store.run["executions"]:
        found = execution.get("found", {}) | found
    left_out = ("busy", "cleaned")  # they are notes
    return [
        f"<h2>Host {escape(name)}</h2>"
        + pairs_table({key: value for key, value in facts.items() if key not in left_out})
        for name, facts in found.items()
    ]

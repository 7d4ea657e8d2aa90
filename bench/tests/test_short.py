"""Samples that were over too soon to tell a rate: what can't be is no headline."""

import re

import pytest
from runs import FOM, text

from starling_bench.kept.store import Store
from starling_bench.reports import answers
from starling_bench.statistics.differences import differences
from starling_bench.studies.rtibm import STUDY, figures, rows
from starling_bench.tsf import plan


def sample(rti: str, number: int, send_s: float, receive_s: float, received: int = 2000) -> dict:
    """A sample of 8 bytes one way."""
    rate = (received - 1) / receive_s
    return dict.fromkeys(rows.COLUMNS.names, 0) | {
        "sequence": rti, "execution": "e", "test": 1, "kind": "OWOT", "transport": "reliable",
        "loop": 1, "types": 1, "instances": 1, "buffers": 1, "bytes": 8, "updates": received,
        "pair": 1, "sender": "m", "receiver": "s", "sample": number, "sent": received,
        "received": received, "send_s": send_s, "receive_s": receive_s, "rate_hz": rate,
        "mb_per_s": rate * 8e-6, "others_cpu": None,
    }  # fmt: skip


def run(tmp_path, tcp: tuple[float, float], starling: tuple[float, float], received: int) -> Store:
    store = Store.create(tmp_path / "out", STUDY, {"tsf": "t", "tsf_text": "", "notes": []})
    for rti, spans in (("tcp", tcp), ("starling", starling)):
        store.begin(rti, "e", adapter=rti, tests={"1": {"samples": 5}}, pairs=1, state="done",
                    sequence_of="s")  # fmt: skip
        for n in range(1, 6):
            near = [s * (1 + n / 100) for s in spans]
            store.rows.append(sample(rti, n, *near, received))
    return store


def best(page: str) -> str:
    """What a report says of the fastest in each test."""
    return page[page.index("Best mean") :].partition("<h2>")[0]


def fastest(summaries: list[dict]) -> list[str]:
    """The cells of the only test's row, as texts."""
    (row,) = re.findall(
        "<tr>(<td.*?)</tr>", "".join(answers.fastest(STUDY, [], summaries, figures._figure))
    )
    return [re.sub("<.*?>", "", cell) for cell in re.findall("<td.*?>(.*?)</td>", row)][1:]


def test_a_receiver_that_drains_a_buffer_is_as_fast_as_it_was_sent_to():
    drained = sample("tcp", 1, 1.1e-3, 1.2e-5)
    assert drained["rate_hz"] > 1e8
    assert rows.value(drained) == pytest.approx(2000 / 1.1e-3)
    found = rows.summarize([drained], [], 0.1)
    assert found["rate_hz"]["mean"] == pytest.approx(1.82e6, rel=0.01)
    assert found["mb_per_s"]["mean"] == pytest.approx(1.82e6 * 8e-6, rel=0.01)
    assert found["callbacks_hz"] == drained["rate_hz"]
    # Where receiving took longer the published rate is the one.
    slow = sample("tcp", 1, 0.4, 0.5, 100_000)
    assert rows.value(slow) == slow["rate_hz"] and not rows.doubt(slow)


def test_short_samples_are_doubtful_wherever_they_are_told(tmp_path):
    store = run(tmp_path, (1.1e-3, 1.2e-5), (6e-3, 7e-3), 2000)
    summaries = store.summaries()
    assert [s["short"] for s in summaries] == [5, 5]
    (found,) = differences(STUDY, store.samples(), summaries)
    assert not found.different and found.sentence == (
        "tcp and starling: too short to tell (below 10 ms a sample): take more updates."
    )
    figures.write(store, summaries)
    page = (tmp_path / "out" / "report.html").read_text()
    verdict = page[page.index('class="verdict') : page.index("<h2>")]
    assert "The rates of 2 are too short to tell" in verdict
    assert "updates/s" not in best(page) and "all: too short to tell" in best(page)
    assert page.count('class="doubt"') >= 2 * 7 and "Hollow: too short to tell (below 10 ms" in page
    assert " times faster" not in page


@pytest.mark.parametrize(("short", "doubtful"), [(0, False), (1, False), (2, False), (3, True)])
def test_a_summary_is_doubtful_where_half_of_its_samples_are(short, doubtful):
    samples = [sample("tcp", n, *(2 * [9e-3 if n <= short else 11e-3])) for n in range(1, 6)]
    assert [bool(rows.doubt(s)) for s in samples] == [n <= short for n in range(1, 6)]
    for of in (samples, samples[:4] if short == 2 else samples):
        found = rows.summarize(of, [], 0.1)
        assert found["short"] == short
        assert bool(rows.doubt(found)) == (doubtful or len(of) == 4)


@pytest.mark.parametrize(("disturbed", "doubtful"), [(2, False), (3, True)])
def test_what_others_disturbed_takes_part_in_no_verdict(tmp_path, disturbed, doubtful):
    """The report says that such samples say little: so does a mean of which they are half."""
    store = run(tmp_path, (0.40, 0.41), (0.37, 0.38), 100_000)
    for row in store.rows:
        row["others_cpu"] = 0.3 if row["sequence"] == "tcp" and row["sample"] <= disturbed else 0.0
    tcp, starling = store.summaries()
    said = "disturbed by other programs (10% of the CPUs or more): end these"
    assert (rows.doubt(tcp), rows.doubt(starling)) == (said if doubtful else "", "")
    assert [bool(rows.doubt(row)) for row in store.rows] == [n < disturbed for n in range(10)]
    (found,) = differences(STUDY, store.samples(), [tcp, starling])
    assert found.different != doubtful
    assert fastest([tcp, starling])[-1] == (f"tcp: {said}" if doubtful else "")


@pytest.mark.parametrize(("share", "state", "said"), [
    (0.02, "", "The machine was fit: others took less than 10% of the CPUs in 10 of 10 samples."),
    (0.9, " unfit", "The machine was not fit: 0 of 2 tests are known to have been left alone"),
    (None, " unfit", "Whether the machine was fit is not known: 0 of 2 tests"),
])  # fmt: skip
def test_a_verdict_is_good_on_a_machine_that_was_fit_only(tmp_path, share, state, said):
    """Whatever was lost or failed is worse."""
    for lost, expected in ((0, state), (1, " bad")):
        store = run(tmp_path / str(lost), (0.40, 0.41), (0.37, 0.38), 100_000)
        store.rows = [row | {"others_cpu": share} for row in store.rows]
        store.rows[0] |= {"lost": lost, "received": 100_000 - lost}
        figures.write(store, store.summaries(), done=False)
        page = (store.directory / "report.html").read_text()
        (verdict,) = re.findall('<p class="verdict.*?</p>', page)
        assert verdict.startswith(f'<p class="verdict{expected}">') and said in verdict


def test_what_is_too_short_to_tell_takes_the_best_from_nobody_else(tmp_path):
    """But may be better."""
    store = run(tmp_path, (0.40, 0.41), (0.37, 0.38), 100_000)
    store.begin("shm", "e", adapter="shm", tests={"1": {"samples": 5}}, pairs=1, state="done",
                sequence_of="s")  # fmt: skip
    store.rows += [sample("shm", n, 9e-3, 9e-3, 100_000) for n in range(1, 6)]
    tcp, starling, shm = store.summaries()
    rate = f"{starling['rate_hz']['mean']:,.0f} updates/s"
    assert fastest([tcp, starling])[:3] == ["starling", rate, "tcp"]
    assert fastest([tcp, shm, starling])[:3] == ["starling", rate, "tcp"]
    assert fastest([tcp, shm, starling])[-1] == f"shm: {rows.doubt(shm)}"
    assert answers.fastest(STUDY, [], [shm], figures._figure) == []
    said = {
        (d.one, d.other): bool(d.doubt)
        for d in differences(STUDY, store.rows, [tcp, starling, shm])
    }
    assert said == {("tcp", "starling"): False, ("tcp", "shm"): True, ("starling", "shm"): True}


def test_long_samples_are_told_as_they_are(tmp_path):
    store = run(tmp_path, (0.40, 0.41), (0.37, 0.38), 100_000)
    (found,) = differences(STUDY, store.samples(), store.summaries())
    assert found.different and found.sentence.startswith("starling is ")
    figures.write(store, store.summaries())
    page = (tmp_path / "out" / "report.html").read_text()
    assert "too short to tell" not in page and 'class="doubt"' not in page


@pytest.mark.parametrize(("updates", "kind", "few"), [
    ("updates = 2000", "OWOT", True), ("updates = [10000, 2000]", "OWIT", True), ("", "OWOT", True),
    ("updates = 10000", "OWOT", False), ("updates = 2000", "RTOL", False),
])  # fmt: skip
def test_check_is_cautious_where_updates_are_few(tmp_path, updates, kind, few):
    file = tmp_path / "t.tsf.toml"
    file.write_text(text(f'kind = "{kind}"\n{updates}', FOM, rti='adapter = "tcp"'))
    (spec,) = (t for s in plan.load(file, STUDY).sequence for e in s.execution for t in e.test)
    found = list(STUDY.cautions(spec))
    assert bool(found) == few
    if few:
        line = next(n for n, text in enumerate(file.read_text().splitlines(), 1)
                    if text == (updates or "[[sequence.execution.test]]"))  # fmt: skip
        assert spec.place(found[0][0]) == f"{file}:{line}"


def test_who_lost_some_is_not_the_best_without_a_word():
    """Round trips and rates are of what came."""
    row = sample("udp", 1, 0.4, 0.5) | {"lost": 1000, "received": 1000}
    row |= {"transport": "best_effort"}
    found = rows.summarize([row], [], 0.1) | {"rti": "", "sequence": "udp", "sequence_of": "s"}
    other = found | {"sequence": "other", "rate_hz": {"mean": 1.0}, "lost": 0}
    other["rtt_ms"] = {"mean": 0.02}
    assert fastest([found, other])[0] == "udp (0.5 of it lost)"
    trips = [s | {"kind": "RTOL", "rtt_ms": s["rtt_ms"] or {"mean": 0.01}} for s in (found, other)]
    assert fastest(trips)[:2] == ["udp (0.5 of it lost)", "0.0100 ms"]
    assert fastest([trips[0] | {"lost": 0}, trips[1]])[:2] == ["udp", "0.0100 ms"]

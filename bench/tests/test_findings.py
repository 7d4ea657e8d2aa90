"""Statements tested against made-up data: what is there is found, what is not is not."""

from types import SimpleNamespace

import numpy as np
import pytest

from starling_bench.flows import (
    figures as flow_figures,
    points as flow_points,
    sections as flow_sections,
)
from starling_bench.machines import sites
from starling_bench.machines.topologies import TOPOLOGIES
from starling_bench.statistics import findings
from starling_bench.studies.ec1.figures import stated
from starling_bench.studies.ec1.marks import MARKS


def points(seed: int, slope: float, count: int = 5, noise: float = 0.02) -> list[dict]:
    """Latencies that grow with payload by so much per 1000 bytes, at a level of each rate."""
    draw = np.random.default_rng(seed)
    return [
        {"payload": p, "rate": r, "ms": 0.3 * r / 10 + slope * p / 1000 + draw.normal(0, noise)}
        for p in (128, 512, 1024, 2048, 9000) for r in (10, 20, 60, 120) for _ in range(count)
    ]  # fmt: skip


def grows(of: list[dict], expected: bool = True) -> findings.Finding:
    return findings.grows("it grows", of, lambda p: p["payload"] / 1000, lambda p: p["ms"],
                          lambda p: p["rate"], "ms per 1000 bytes", expected)  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_a_slope_is_found_beside_levels_that_differ_more(seed):
    found = findings.slope(points(seed, 0.15), lambda p: p["payload"] / 1000, lambda p: p["ms"],
                           lambda p: p["rate"])  # fmt: skip
    assert found.low <= 0.155 and found.high >= 0.145 and found.high - found.low < 0.01
    assert grows(points(seed, 0.15)).answer == "yes"
    assert grows(points(seed, 0.15), expected=False).answer == "no: it grows"


def test_the_interval_misses_the_slope_as_often_as_it_says():
    missed = 0
    for seed in range(400):
        found = findings.slope(points(seed, 0.1, 1), lambda p: p["payload"] / 1000,
                               lambda p: p["ms"], lambda p: p["rate"])  # fmt: skip
        missed += not found.low <= 0.1 <= found.high
    # Binomial of 5 %, four deviations.
    assert abs(missed - 20) < 4 * 4.4


def test_nothing_is_found_where_nothing_is_said():
    assert grows(points(1, 0.0)).answer == "no difference found"
    assert grows([]).answer == "can't be said: too few configurations"
    one = [{"payload": 128, "rate": 10, "ms": 1.0}]
    assert grows(one * 20).answer == "can't be said: too few configurations"


def test_that_nothing_grows_is_said_only_where_little_could():
    """Not because so few were measured, or so badly, that nothing was found."""
    assert grows(points(1, 0.0), expected=False).answer == "yes: no growth was found"
    said = [grows(points(seed, 0.0, 1, noise=3.0), expected=False).answer for seed in range(20)]
    assert sum(one.startswith("can't be said: none was found, but one of ") for one in said) >= 15
    assert not any(one.startswith("yes: no growth") for one in said)


def test_equivalence_is_said_only_within_the_margin():
    keys = range(20)
    draw = np.random.default_rng(3)
    base = {k: 1 + 0.01 * draw.random() for k in keys}
    near = {k: v * 1.02 for k, v in base.items()}
    far = {k: v * 2 for k, v in base.items()}
    wide = {k: v * (0.5 if k % 2 else 1.9) for k, v in base.items()}
    assert findings.alike("alike", near, base, 0.1).answer == "yes"
    assert findings.alike("alike", far, base, 0.1).answer == "no"
    assert findings.alike("alike", wide, base, 0.1).answer.startswith("can't be said: the interval")
    assert findings.alike("alike", {}, base, 0.1).answer.startswith("can't be said: fewer")
    assert findings.compared("latency", "A", "B", near, far).answer == "A has less"
    assert findings.compared("latency", "A", "B", wide, base).answer == "no difference found"
    wild = {1: 1e-6, 2: 1.0, 3: 1e6}
    said = findings.compared("latency", "A", "B", wild, dict.fromkeys(wild, 1.0))
    assert said.answer.startswith("can't be said: 3 configurations differ") and not said.numbers


def test_the_more_is_compared_the_wider_are_the_intervals():
    """Of a hundred comparisons of what is the same five would be called different one by one."""
    draw = np.random.default_rng(8)
    sets = [{k: draw.lognormal(0, 0.1) for k in range(10)} for _ in range(200)]
    pairs = list(zip(sets[::2], sets[1::2], strict=True))
    said = lambda of: [findings.compared("x", "A", "B", a, b, of).answer for a, b in pairs]  # noqa: E731
    different = lambda found: sum(a != "no difference found" for a in found)  # noqa: E731
    assert different(said(1)) >= 2 and different(said(len(pairs))) == 0


def test_each_exception_is_named():
    found = findings.every("all", [{"n": n} for n in range(12)], lambda p: p["n"] > 9,
                           lambda p: str(p["n"]))  # fmt: skip
    assert found.answer == "no" and found.numbers.startswith("not in 10 of 12: 0, 1, 2")
    assert "and 2 more" in found.numbers


def made(
    limited: bool = False, grows_with_rate: float = 0.0, lost: int = 0, ms_per_kb: float = 1 / 6,
    of_theory: float = 1.0,
) -> list[dict]:  # fmt: skip
    """`of_theory`: of best effort of 9000 bytes of ten entities, and of the slowest host."""
    from starling_bench.studies.ec1.configurations import configuration

    every = []
    for topology in ("1-1", "1-N"):
        for n in range(120):
            c = configuration(n)
            theory = c.entities * c.rate * c.payload * 8e-6
            p50 = 0.2 + ms_per_kb * c.payload / 1000 + grows_with_rate * c.rate / 10 + n % 7 / 1000
            meets = 1.0 if (c.entities, c.payload, n % 2) != (10, 9000, 0) else of_theory
            every.append(
                {"configuration": n, "entities": c.entities, "rate": c.rate, "payload": c.payload,
                 "transport": c.transport, "topology": topology, "carrier": "starling",
                 "profile": "local", "bundling": False, "limited": limited, "conflate": 0,
                 "beyond": False, "disturbed": False, "busy": False, "over": False,
                 "missed": limited, "alone": False, "lag_s": 0.0,
                 "of_theory": meets, "reliability": 1.0, "lost": lost, "sure_p50_ms": p50,
                 "flows": 4 if topology == "1-N" else 1,
                 "sent": round(c.entities * c.rate), "most_p50_ms": p50,
                 "p50_ms": p50, "bound_ms": 0, "sd_ms": 0.1, "mbps": theory * meets,
                 "host_theory": theory, "host_mbps": theory, "host_least_mbps": theory * meets,
                 "sender_cpu": c.entities * c.rate / 12_000 * (1 if topology == "1-1" else 3)}
            )  # fmt: skip
    return every


def answers(of: list[dict], where: str) -> dict[str, str]:
    return {f.statement: f.answer for w, f in stated(of) if w == where}


def test_the_sources_statements_hold_where_the_data_say_so_and_not_where_not():
    said = answers(made(), "1-1, starling, local")
    assert said["throughput meets theory"] == "yes"
    assert said["latency grows with payload"] == "yes"
    assert said["latency does not grow with rate"] == "yes: no growth was found"
    assert said["nothing is lost under reliable delivery"] == "yes"
    other = answers(made(grows_with_rate=0.05, lost=1), "1-1, starling, local")
    assert other["latency does not grow with rate"] == "no: it grows"
    assert other["nothing is lost under reliable delivery"] == "no"
    between = answers(made(), "starling, local")
    assert between["growth of a publisher's CPU with subscribers: four against one"] == (
        "four has more"
    )


NINE = "9000-byte {} payloads of ten entities meet theory"
HOSTS = "throughput of each receiving host meets theory"
RELIABILITY = "reliability is at least 99.9 % of 1,000 updates or more"
AS_THERE = "median latency at 9000 bytes is at most 1.5 ms, as there"


def test_what_the_source_found_of_long_payloads_is_tested_for_both_deliveries():
    """Its 1.5 ms stand beside the longest here, which is named."""
    said = answers(made(ms_per_kb=1 / 8), "1-1, starling, local")
    assert [said[NINE.format(of)] for of in ("reliable", "best-effort")] == ["yes", "yes"]
    assert said[HOSTS] == said[AS_THERE] == "yes"
    against = made(of_theory=0.9)
    found = {f.statement: f for w, f in stated(against) if w == "1-1, starling, local"}
    assert found[NINE.format("reliable")].answer == "yes"
    for statement, of in ((NINE.format("best-effort"), 4), (HOSTS, 120)):
        assert found[statement].answer == "no"
        said = f"not in 4 of {of}: 1-1 48, 1-1 58, 1-1 68, 1-1 78"
        assert found[statement].numbers == said
    # 0.2 ms, 9 times a sixth, and the longest of what varies a little.
    assert found[AS_THERE].answer == "no"
    assert found[AS_THERE].numbers.startswith("at most 1.706 ms here (1-1 48); not in 24 of 24: ")
    # Of which nothing is known, or too little, nothing is said.
    unknown = [p | {"sure_p50_ms": None} for p in against]
    assert answers(unknown, "1-1, starling, local")[AS_THERE] == "can't be said: no configuration"


def test_the_host_that_received_least_is_held_to_theory():
    flow = of_a_flow() | {"sequence": "1-N.starling.lan", "sent": 600, "received": 600}
    flow |= {"mbps": flow["theory_mbps"]}
    half = flow | {"receiver": "sub2", "mbps": flow["theory_mbps"] / 2}
    (found,) = flow_points.points([flow, half])
    assert found["host_mbps"] == pytest.approx(found["host_theory"])
    assert found["host_least_mbps"] == pytest.approx(found["host_theory"] / 2)


def test_the_limit_of_a_link_is_that_of_its_hosts():
    """Of a file of somebody's own, too; and where that is not what the word of its sites says."""
    flow = of_a_flow() | {"sent": 600, "received": 60, "mbps": 0.9, "theory_mbps": 4.9}
    one, other = (
        "2 systems, emulated; a: 1 Mbit/s; b: 1 Mbit/s, 2 ms",
        "a: 1e+03 Mbit/s; b: MTU 9000",
    )
    for sequence in ("mine", "1-1.starling.lan"):
        (found,) = flow_points.points([flow | {"sequence": sequence, "hosts": one}])
        assert (found["rate_mbit"], found["over"], flow_points.judged(found)) == (1, True, False)
        (found,) = flow_points.points([flow | {"sequence": sequence, "hosts": other}])
        assert (found["rate_mbit"], found["over"], flow_points.judged(found)) == (1000, False, True)
    (found,) = flow_points.points([flow | {"sequence": "mine", "hosts": ""}])
    assert found["rate_mbit"] is None


def test_what_was_not_run_has_no_other_reason():
    short = [p for p in made() if p["payload"] < 9000]
    said = answers(short, "1-1, starling, local")
    none = "can't be said: nothing of 9000 bytes was run"
    assert [s for s, answer in said.items() if answer == none] == [s for s in said if "9000" in s]
    assert none in said.values()


def test_no_finding_is_computed_from_what_the_machine_limits():
    said = answers(made(limited=True), "1-1, starling, local")
    assert said["throughput meets theory"] == "can't be said: no configuration"
    assert said["latency grows with payload"].startswith("can't be said")
    # What was lost is said all the same.
    assert answers(made(True, lost=3), "1-1, starling, local")[
        "nothing is lost under reliable delivery"] == "no"  # fmt: skip


def test_no_finding_is_computed_from_what_other_programs_disturbed():
    quiet, *_ = flows_between(("starling",), "lan")
    busy = quiet | {"configuration": 40, "entities": 10, "others_cpu": 0.3, "p50_ms": 300.0}
    found = flow_points.points([quiet, busy])
    assert [flow_points.judged(p) for p in found] == [True, False]
    (_, said), *_ = stated(found)
    assert said.count == 1 and said.numbers.endswith(f"1 of 2 not judged: {flow_points.ASIDE}")
    (_, table, _) = flow_points.tables(found)
    assert table.count("disturbed by other programs") == 1


def test_what_is_overwritten_or_looked_at_late_as_asked_is_no_carriers_fault():
    """Each in none of the statements that would be of that, and how many is said."""
    asked = [("conflate", 1), ("lag_s", 0.2)]
    for key, value in asked:
        late = [p | {key: value, "of_theory": 0.2, "reliability": 0.2, "sure_p50_ms": 100.0}
                for p in made()]  # fmt: skip
        found = {f.statement: f for where, f in stated(late) if where == "1-1, starling, local"}
        of = [AS_THERE, "latency grows with payload"]
        of += ["throughput meets theory", RELIABILITY] * (key == "conflate")
        for statement in of:
            assert found[statement].answer.startswith("can't be said"), statement
            assert "120 of 120 overwrite or look late, as asked" in found[statement].numbers
    assert found["throughput meets theory"].answer == "no"  # who looks late has all


def test_few_updates_say_nothing_of_99_9_percent():
    """All of 10 that came are not 99.9 %, nor are 9 of them less."""
    few = [p | {"sent": 10} for p in made()]
    (found,) = {f for where, f in stated(few)
                if (where, f.statement) == ("1-1, starling, local", RELIABILITY)}  # fmt: skip
    assert found.count == 0 and found.answer.startswith("can't be said")
    assert "120 more have fewer" in found.numbers
    few[3] |= {"lost": 1, "reliability": 0.9}
    assert {f.count for where, f in stated(few) if f.statement == RELIABILITY} == {0}
    few[3] |= {"sent": 10_000, "flows": 1}
    ((answer, numbers),) = {(f.answer, f.numbers) for where, f in stated(few)
                            if f.statement == RELIABILITY and f.count}  # fmt: skip
    assert answer == "no" and numbers.startswith("not in 1 of 1: ")
    assert "119 more have fewer" in numbers
    few[3] |= {"flows": 25}  # of which each has 400
    assert {f.count for where, f in stated(few) if f.statement == RELIABILITY} == {0}


def test_a_cpu_that_others_fill_is_no_middlewares():
    quiet, *_ = flows_between(("starling",), "lan")
    full = quiet | {"cpu_busy": 0.99, "mbps": quiet["theory_mbps"] / 2}
    beside = quiet | {"sequence": "1-1.sockets.lan", "adapter": "sockets"}
    statement = "throughput meets theory where a CPU is full and sockets meet it"
    for others, answer in ((0.0, "no"), (0.5, None)):
        found = flow_points.points([full | {"others_cpu": others}, beside])
        said = {f.statement: f.answer for _, f in stated(found)}
        assert said.get(statement) == answer


def test_tests_that_differ_are_points_of_their_own():
    """Also those of a file that numbers no configurations."""
    one = of_a_flow() | {"sequence": "mine", "topology": "", "configuration": -1}
    several = [one, one | {"lag_s": 0.2}, one | {"test": 3, "payload": 64}]
    found = flow_points.points(several)
    assert [p["flows"] for p in found] == [1, 1, 1]
    assert len({flow_points.identity(p) for p in found}) == 2


def test_carriers_are_not_compared_whose_subscribers_look_at_different_times():
    found = between_sites(("sockets", "starling"))
    compared = [f.statement for _, f in stated(found) if "sockets against" in f.statement]
    assert len(compared) == 2 * 3  # under either delivery
    lagging = [p | {"lag_s": 0.2} if p["carrier"] == "starling" else p for p in found]
    assert not [f for _, f in stated(lagging) if "sockets against" in f.statement]


def test_what_is_overwritten_as_asked_is_beside_the_same_that_keeps_all_alone():
    """And of these only what it changes by itself: an age and how much is read, no throughput."""
    found = between_sites(("dds", "starling"))
    found += [p | {"carrier": "starling latest", "conflate": 1, "of_theory": 0.2,
                   "reliability": 0.3 + p["configuration"] / 1000}
              for p in found if p["carrier"] == "starling"]  # fmt: skip
    compared = {f.statement for _, f in stated(found) if " against " in f.statement}
    same = ("median latency", "jitter")
    read = "reliability: starling against starling latest"
    assert {f.answer for _, f in stated(found) if f.statement == read} == {"starling has more"}
    assert compared == {f"{what}: starling against starling latest" for what in same} | {read} | {
        f"{what}: dds against starling" for what in (*same, "throughput")
    }


@pytest.mark.parametrize(("way", "transport", "over"), [
    ("direct tcp; best effort by unicast where it comes", "best_effort", True),
    ("datagrams", "best_effort", True),
    ("direct tcp; best effort by multicast where it comes", "best_effort", False),
    ("direct tcp; best effort by multicast where it comes", "reliable", True),
    ("multicast datagrams", "best_effort", False),
    ("DDS", "reliable", False),
])  # fmt: skip
def test_a_senders_link_is_full_of_what_goes_to_each_by_itself(way, transport, over):
    """43 Mbit/s go to four at once through 100 Mbit/s, not to each of them."""
    flow = of_a_flow() | {"sequence": "1-N.starling.lan", "topology": "1-N", "way": way}
    flow |= {"transport": transport, "theory_mbps": 43.2, "mbps": 25.0}
    (found,) = flow_points.points([flow | {"receiver": f"sub{n}"} for n in range(1, 5)])
    assert found["over"] == over


def between_sites(carriers: tuple[str, ...], profile: str = "lan") -> list[dict]:
    return flow_points.points(flows_between(carriers, profile))


def flows_between(carriers: tuple[str, ...], profile: str) -> list[dict]:
    """Flows of which those that the link does not carry stand in its queue for 400 ms; latency
    grows with payload alone."""
    from starling_bench.studies.ec1.configurations import configuration

    made = []
    for carrier in carriers:
        for n in range(120):
            c = configuration(n)
            theory = c.entities * c.rate * c.payload * 8e-6
            most = sites.PROFILES[profile]["rate_mbit"] * 0.97
            queued = theory > most
            late = {"p50_ms": 400.0 if queued else 0.1 + c.payload / 6000 + n % 7 / 1000,
                    "sd_ms": 0.1, "mean_ms": 1.0, "p90_ms": 1.0, "p99_ms": None}  # fmt: skip
            made.append(
                {"sequence": f"1-1.{carrier}.{profile}", "configuration": n, "entities": c.entities,
                 "rate": float(c.rate), "payload": c.payload, "transport": c.transport,
                 "theory_mbps": theory, "mbps": min(theory, most), "conflate": 0,
                 "lag_s": 0.0, "scheduling": "normal", "sent": 100, "received": 100, "lost": 0,
                 "conflated": 0, "duplicates": 0, "reordered": 0, "unsent": 0, "together": 1.0,
                 "late_sends": 0, "send_s": 0.0,
                 "sender_cpu": 0.1, "receiver_cpu": 0.1, "cpu_busy": 0.2, "wake_p50_us": 50.0,
                 "wake_sd_us": 1.0, "wake_max_us": 60.0, "sender": "pub1", "receiver": "sub1",
                 "fragments": 0, "way": "UDP", "way_reliable": False, "adapter": carrier,
                 "setting": {}, "topology": "1-1", **late}
            )  # fmt: skip
    return made


@pytest.mark.parametrize("carriers", [("starling",), ("sockets", "starling")])
def test_no_finding_but_the_links_limit_is_computed_from_what_is_beyond_the_link(carriers):
    """A slope over what waits in the link's queue would be the queue's."""
    found = between_sites(carriers)
    beyond = {p["configuration"] for p in found if p["beyond"]}
    assert beyond and not any(p["limited"] for p in found)
    assert beyond == {p["configuration"] for p in found if p["p50_ms"] == 400}
    said = answers(found, "1-1, starling, lan")
    assert said["latency does not grow with rate"] == "yes: no growth was found"
    assert said["latency grows with payload"] == "yes"
    assert said["throughput meets theory"] == "yes"
    assert said["beyond 100 Mbit/s of a host the link's limit is seen"] == "yes"


def test_wan_is_compared_with_lan_where_both_links_carry_the_load():
    found = between_sites(("starling",)) + between_sites(("starling",), "wan")
    every = {f.statement: f for _, f in stated(found)}
    said = every["WAN behaves as LAN (wan beside lan): of theory"]
    assert said.answer == "yes"
    assert said.count == sum(not p["beyond"] for p in found if p["profile"] == "wan") < 120
    # What a WAN's loss makes of sockets is no reason to leave out what it makes of others.
    both = between_sites(("starling", "sockets"))
    for p in (lost := flows_between(("starling", "sockets"), "wan")):
        if p["configuration"] < 20:
            p |= {"mbps": 0.0, "received": 0}
    wan = flow_points.points(lost)
    every = {f.statement: f for w, f in stated([*both, *wan]) if w == "1-1, starling"}
    for key in ("of theory", "reliability"):
        said = every[f"WAN behaves as LAN (wan beside lan): {key}"]
        assert said.answer == "no" and said.numbers.startswith("one of both has nothing in 20 ")


def test_pairs_of_sites_are_told_apart():
    kinds = [between_sites(("starling",), kind) for kind in ("lan", "lan-9000", "wan")]
    said = [f.statement for _, f in stated([p for of in kinds for p in of])
            if f.statement.startswith("WAN")]  # fmt: skip
    assert len(said) == 4 == len(set(said))


def test_what_comes_nowhere_on_one_side_is_no_equivalence():
    ones = dict.fromkeys(range(20), 1.0)
    found = findings.alike("alike", ones | {3: 0.0, 7: 0.0}, ones, 0.2)
    assert found.answer == "no" and found.count == 20
    assert found.numbers == "one of both has nothing in 2 configurations: 3, 7"


CARRIERS = {"normal": "", "real-time": " real-time", "latest": " latest"}


@pytest.mark.parametrize("how", ["real-time", "latest", "normal"])
def test_what_sockets_miss_marks_however_their_carrier_is_called(how):
    """As they are scheduled like the others; else the plain ones count."""
    made = []
    for carrier, much in (("sockets", 0.5), ("starling", 1.0)):
        for f in flows_between((carrier,), "lan")[:20]:
            sequence = f"1-1.{carrier}.local"
            more = {"scheduling": how if how == "real-time" else "normal",
                    "conflate": int(how == "latest")}  # fmt: skip
            made.append(f | more | {"sequence": sequence, "mbps": much * f["theory_mbps"]})
    found = flow_points.points(made)
    assert {p["carrier"] for p in found} == {c + CARRIERS[how] for c in ("sockets", "starling")}
    assert all(p["limited"] and not p["alone"] for p in found)
    assert flow_sections.alone(found) == []
    # Their own miss is told, and nothing of the others'.
    said = answers(found, f"1-1, sockets{CARRIERS[how]}, local")
    nothing = "can't be said: no configuration"  # what is overwritten as asked meets no theory
    assert said["throughput meets theory"] == (nothing if how == "latest" else "no")
    said = answers(found, f"1-1, starling{CARRIERS[how]}, local")
    assert said["throughput meets theory"] == "can't be said: no configuration"
    # Normal sockets meet theory: they decide for themselves, and for who has none of its own.
    plain = [f | {"scheduling": "normal", "conflate": 0, "mbps": f["theory_mbps"]}
             for f in made if "sockets" in f["sequence"]]  # fmt: skip
    if how != "normal":
        found = flow_points.points(made + plain)
        by = {carrier: {p["limited"] for p in found if p["carrier"] == carrier}
              for carrier in ("sockets", f"starling{CARRIERS[how]}")}  # fmt: skip
        assert by == {"sockets": {False}, f"starling{CARRIERS[how]}": {True}}
        found = flow_points.points([f for f in made if "starling" in f["sequence"]] + plain)
        assert not any(p["limited"] or p["alone"] for p in found)


def test_where_no_sockets_ran_it_is_said():
    (said,) = flow_sections.alone(between_sites(("starling",)))
    assert "No plain sockets ran beside 120 of 120 configurations" in said


def test_what_is_left_out_stands_beside_each_finding():
    """Also that middleware missed theory where sockets met it, though a CPU was full."""
    made = flows_between(("sockets", "starling"), "lan")
    for f in made:
        f["sequence"] = f["sequence"].replace("lan", "local")
        mine = "starling" in f["sequence"] and f["configuration"] < 18
        f |= {"mbps": f["theory_mbps"] * (0.4 if mine else 1), "cpu_busy": 0.99 if mine else 0.2}
    found = {f.statement: f for w, f in stated(flow_points.points(made))
             if w == "1-1, starling, local"}  # fmt: skip
    meets = found["throughput meets theory"]
    assert meets.answer == "yes" and meets.numbers == (
        f"in all 102; 18 of 120 not judged: {flow_points.ASIDE}"
    )
    assert "; 18 of 120 not judged" in found["latency grows with payload"].numbers
    full = found[statement := "throughput meets theory where a CPU is full and sockets meet it"]
    assert full.answer == "no" and full.numbers.startswith("not in 18 of 18: ")
    for f in made:
        f["cpu_busy"] = 0.99
    assert statement not in answers(flow_points.points(made), "1-1, sockets, local")


def two_bundlings(more: float, alone: bool = False) -> list[dict]:
    """Updates come `more` times as often at once by each 1000 Hz where they are bundled; and those
    of fast publishers come so in any case."""
    made = []
    for word in ("bundled",) if alone else ("bundled", "unbundled"):
        for n, f in enumerate(flows_between(("starling",), "lan")):
            rate = f["rate"] * f["entities"]
            once = (1 + rate / 3000) * (1 + n % 7 / 100)
            once *= 1 + more * rate / 1000 if word == "bundled" else 1
            own = {"sequence": f"1-1.starling.local.{word}", "mbps": f["theory_mbps"]}
            made.append(f | own | {"together": once, "setting": {"bundling": word == "bundled"}})
    return flow_points.points(made)


@pytest.mark.parametrize(
    ("points", "answer"),
    [(two_bundlings(1.0), "yes"), (two_bundlings(0.0), "no difference found"),
     (two_bundlings(1.0, alone=True), "can't be said: none ran unbundled beside it")],
)  # fmt: skip
def test_bundling_is_told_beside_the_same_unbundled(points, answer):
    said = answers(points, "1-1, starling bundled, local")
    assert said["bundling: updates come at once, more by rate, beside unbundled"] == answer
    other = answers(points, "1-1, starling unbundled, local")
    assert not any(statement.startswith("bundling") for statement in other)


def test_connectivity_is_told_apart_by_the_kind_of_sites():
    """What came between sites of one kind does not stand for those of another."""

    def came(sequence: str, sender: str, receiver: str, received: int = 1) -> dict:
        return {"sequence": sequence, "theory_mbps": None, "received": received, "mean_ms": 0.25,
                "transport": "reliable", "sender": sender, "receiver": receiver, "conflate": 0,
                "scheduling": "normal", "topology": sequence.split(".")[0],
                "why": "" if received else f"{sender} is far away"}  # fmt: skip

    ways = [("site1", "site2"), ("site2", "site1")]
    found = [came("mesh.sockets.lan.tcp", *way) for way in ways]
    found += [came("mesh.sockets.wan.tcp", *way, received=0) for way in ways]
    found += [came("1-1.tcp-dis.lan.dis", "pub1", "sub1"),
              came("1-1.tcp-dis.wan.dis", "pub1", "sub1", 0)]  # fmt: skip
    failed = {"sequence": "1-1.dis-tcp.wan.dis", "state": "failed", "message": "why"}
    store = SimpleNamespace(run={"executions": [failed]})
    body = flow_points.connectivity(store, found)
    tables = dict(zip(body[::2], body[1::2], strict=True))
    said = {title[len("<h2>Connectivity: ") : -len("</h2>")]: table
            for title, table in tables.items() if "Connectivity" in title}  # fmt: skip
    between = "between adapters, through a gateway"
    assert list(said) == ["sockets, reliable, lan", "sockets, reliable, wan", f"{between}, lan",
                          f"{between}, wan"]  # fmt: skip
    for title, table in said.items():
        assert ("0.250 ms" in table) == title.endswith("lan"), title
        assert ("NOT: see below" in table) == title.endswith("wan"), title
    # What failed as a whole, and each that did not come.
    why = tables["<h2>What failed</h2>"]
    assert why.count("<tr>") == 1 + 1 + 3 and "1-1.dis-tcp.wan.dis" in why
    for sender, receiver in (*ways, ("pub1", "sub1")):
        sequence = "1-1.tcp-dis.wan.dis" if sender == "pub1" else "mesh.sockets.wan.tcp"
        assert f"{sequence}, reliable: {sender} → {receiver}" in why
        assert f"{sender} is far away" in why


def test_a_host_receives_no_more_than_its_link_carries():
    """Of two flows that share one that was over earlier had more of it, and not so much again."""
    flow = of_a_flow() | {"sequence": "N-1.starling.lan", "sent": 6000, "received": 6000}
    flows = [flow | {"sender": f"pub{n}", "mbps": 6000 * 9000 * 8e-6 / took}
             for n, took in enumerate((6.48, 8.64), 1)]  # fmt: skip
    (found,) = flow_points.points(flows)
    assert found["host_mbps"] == pytest.approx(2 * 6000 * 9000 * 8e-6 / 8.64)


def test_what_stays_on_a_host_is_not_held_to_its_link():
    """In N-N each publisher has a subscriber beside it."""
    flow = of_a_flow() | {"sequence": "N-N.starling.lan", "topology": "N-N"}
    flow |= {"entities": 10, "theory_mbps": 86.4, "mbps": 86.4, "sent": 600, "received": 600}
    pairs = TOPOLOGIES["N-N"].pairs()
    flows = [flow | {"sender": p, "receiver": s, "mbps": 860.0 if p[3:] == s[3:] else 24.0}
             for p, s in pairs]  # fmt: skip
    (found,) = flow_points.points(flows)
    assert found["host_theory"] == pytest.approx(5 * 86.4)
    assert found["link_theory"] == pytest.approx(4 * 86.4)
    # Five flows of 600 updates; the four that a link carries are over when the slowest is.
    assert found["host_mbps"] == pytest.approx(5 * 24.0)
    assert found["link_mbps"] == pytest.approx(4 * 24.0)
    said = answers([found], "N-N, starling, lan")
    assert said["beyond 100 Mbit/s of a host the link's limit is seen"] == "yes"
    # A link of its own carries each flow of one to one.
    (one,) = flow_points.points([of_a_flow()])
    assert one["link_theory"] == one["host_theory"]


def of_a_flow() -> dict:
    """One as a run has it: 9000 bytes of a hundred entities."""
    return flows_between(("starling",), "lan")[118]


def test_a_file_of_ones_own_has_a_report():
    """Whatever its sequences are called; of its hosts nothing is known."""
    flow = of_a_flow() | {"sequence": "mine", "topology": "", "hosts": "2 systems: a, b"}
    found = flow_points.points([flow, flow | {"sequence": "other.of.mine", "configuration": 3}])
    assert [(p["topology"], p["carrier"], p["profile"]) for p in found] == [
        ("own", "mine", "own"), ("own", "other.of.mine", "own")
    ]  # fmt: skip
    assert not any(p["beyond"] or p["limited"] for p in found)
    said = answers(found, "own, mine, own")
    assert said["throughput meets theory"] == "no", said
    assert "mine" in "".join(flow_points.tables(found))
    assert flow_sections.fragments(found) == flow_sections.emulated([flow]) == []
    failed = {"sequence": "mine", "state": "failed", "message": "why"}
    store = SimpleNamespace(run={"executions": [failed]})
    assert flow_points.connectivity(store, [flow]) == []


def test_carriers_are_compared_for_each_delivery():
    """One that is faster where data are reliable, and slower where not, is neither altogether."""
    found = between_sites(("dds", "starling"))
    for p in found:
        if p["carrier"] == "starling":
            p["sure_p50_ms"] *= 0.5 if p["transport"] == "reliable" else 2
    every = [(w, f) for w, f in stated(found) if f.statement.startswith("median latency: ")]
    assert {where: f.answer for where, f in every} == {
        "1-1, lan, reliable": "dds has more", "1-1, lan, best effort": "dds has less"
    }  # fmt: skip


def test_what_rtiexec_relays_between_others_fills_its_hosts_link():
    """In N-N a host has a publisher and a subscriber; those of four hosts talk by the first."""
    flow = of_a_flow() | {"sequence": "N-N.starling.lan", "topology": "N-N"}
    flow |= {"entities": 10, "rate": 20.0, "theory_mbps": 14.4, "mbps": 12.0}
    relayed, direct = "tcp via rtiexec (both are on one host; transport.path)", "direct tcp"
    of = {p: relayed if p[0][3:] == p[1][3:] else direct for p in TOPOLOGIES["N-N"].pairs()}
    made = [flow | {"sender": p, "receiver": s, "way": way} for (p, s), way in of.items()]
    (found,) = flow_points.points(made)
    assert found["relayed"] == 4 and found["over"] and found["beyond"]
    assert found["ways"] == {relayed: 5, direct: 20}
    (found,) = flow_points.points([one | {"way": direct} for one in made])
    assert found["relayed"] == 0 and not found["over"]
    table = "".join(flow_sections.ways([found]))
    assert "direct tcp" in table and "<td>25</td>" in table.replace(' class="n"', "")


def test_publishers_that_did_not_hold_their_rate_are_named_and_grey():
    """A hundredth that was not sent; or was late by more than a period; or all a tenth longer."""
    flows = [of_a_flow() | {"configuration": n, "sent": sent, "unsent": 10_000 - sent}
             for n, sent in ((117, 9_900), (118, 9_995), (119, 10_000))]  # fmt: skip
    found = flow_points.points(flows)
    assert [p["unheld"] for p in found] == [True, False, False]
    ten = of_a_flow() | {"entities": 1, "rate": 10.0, "sent": 10, "send_s": 0.9}
    ways = (ten, ten | {"send_s": 1.1}, ten | {"late_sends": 1})
    assert [flow_points.points([f])[0]["unheld"] for f in ways] == [False, True, True]
    assert "its rate was not held" in "".join(flow_points.tables(found))
    (said,) = flow_sections.unheld(found)
    assert "did not hold their rate in 1-1 starling, lan, 117. What they did send" in said
    assert flow_sections.unheld(found[1:]) == []
    figure, axes = flow_figures.plt.subplots()
    flow_figures._draw(axes, {"x": found}, lambda p: p["configuration"], lambda p: p["p50_ms"],
                       False)  # fmt: skip
    grey = [list(line.get_xdata()) for line in axes.lines if line.get_color() == "#888"]
    assert [at for at in grey if at] == [[117]]
    assert "Grey: the publisher did not hold its rate (1 points)." in flow_figures._said(
        {"x": found})  # fmt: skip
    flow_figures.plt.close(figure)


def test_latencies_that_clocks_leave_open_are_hollow():
    flow = of_a_flow() | {"sequence": "mine", "topology": "", "clock": "estimate"}
    flows = [flow | {"configuration": n, "bound_ms": bound}
             for n, bound in ((0, 1e-6), (2, 50.0))]  # fmt: skip
    found = flow_points.points(flows)
    figure, axes = flow_figures.plt.subplots()
    at, latency = (lambda p: p["configuration"]), (lambda p: p["p50_ms"])
    flow_figures._draw(axes, {"x": found}, at, latency, False, "sure_p50_ms")
    hollow = [list(line.get_xdata()) for line in axes.lines if line.get_markerfacecolor() == "none"]
    assert hollow == [[2]]
    said = "Hollow: clocks leave it open (1 points)."
    assert flow_figures._said({"x": found}, "sure_p50_ms") == said
    assert flow_figures._said({"x": found}) == ""  # throughput hangs on no clock
    flow_figures.plt.close(figure)


def test_sites_that_this_machine_makes_are_called_emulated():
    flows = [of_a_flow() | {"sequence": f"1-1.starling.{kind}.starling"}
             for kind in ("local", "lan-9000", "wan")]  # fmt: skip
    (said,) = flow_sections.emulated(flows)
    assert "emulated: network namespaces of this machine" in said and "local" not in said
    assert "lan-9000: 100 Mbit/s, MTU 9000; wan: 10 Mbit/s, 20 ± 2 ms, loss 0.001." in said
    assert flow_sections.emulated(flows[:1]) == []


def test_lines_join_what_findings_are_computed_from():
    """What waits in a link's queue is drawn, hollow, and bends no line."""
    figure, axes = flow_figures.plt.subplots()
    rates = (10, 20, 60, 120)
    aside = {"limited": False, "beyond": False, "disturbed": False, "unheld": False}
    points = [{"rate": r, "ms": ms, "transport": "best_effort"} | aside | {"beyond": ms > 1}
              for r in rates for ms in (0.1, 0.1, 0.1, *([400.0] * (r > 20) * 9))]  # fmt: skip
    points += [{"rate": 240, "ms": 400.0, "transport": "best_effort"} | aside | {"limited": True}]
    # What is delivered otherwise has a line of its own, however many of them there are.
    points += [{"rate": r, "ms": 0.3, "transport": "reliable"} | aside for r in rates] * 5
    flow_figures._draw(axes, {"x": points}, lambda p: p["rate"], lambda p: p["ms"], True)
    for ls, ms in (("-", 0.1), ("--", 0.3)):
        (line,) = [line for line in axes.lines if line.get_linestyle() == ls]
        assert list(line.get_xdata()) == list(rates) and set(line.get_ydata()) == {ms}
    drawn = sum(len(line.get_xdata()) for line in axes.lines if line.get_linestyle() == "None")
    assert drawn == len(points)
    flow_figures.plt.close(figure)


def test_headers_count_where_a_link_is_full():
    """An update of 128 bytes takes half as many again, one of 9000 seven packets."""
    assert sites.wire_bytes("lan", 128) == 128 + 66
    assert sites.wire_bytes("lan", 9000) == 9000 + 7 * 66
    assert sites.wire_bytes("lan-9000", 8948) == 8948 + 66
    assert sites.wire_bytes("gre", 128) == 128 + 66 + 38
    assert sites.wire_bytes("wireguard", 128) == 128 + 66 + 60
    assert sites.mtu("wireguard") == 1420


def test_what_a_study_marks_is_said_wherever_it_is_named():
    """The platform knows no such mark: in tables, in the notice before any figure, and by what ends
    the command with 1."""
    made = flows_between(("starling",), "lan")
    best = {"transport": "best_effort", "way_reliable": True}
    made = [f | (best if f["configuration"] == made[0]["configuration"] else {}) for f in made]
    plainly = flow_points.points(made)
    assert not any("not_as_named" in p for p in plainly)
    assert "not what its name says" not in "".join(flow_points.tables(plainly))
    assert flow_points.shortfall(made, str) == ""
    found = flow_points.points(made, MARKS)
    (one,) = [p for p in found if p["not_as_named"]]
    where = f"{one['topology']} starling, best effort"
    assert "".join(flow_points.tables(found, MARKS)).count("not what its name says") == 1
    assert flow_sections.notices(found, made, MARKS)[0] == (
        '<p class="note">Not what its name says (best effort on a reliable link, or nothing '
        f"overwritten): {where}.</p>"
    )
    assert flow_points.shortfall(made, str, MARKS) == f"not what its name says: {where}"
    # Overwriting was asked for: of what can, and of what can't.
    for carrier, marked in (("starling", False), ("dds", False), ("sockets", True)):
        asked = [f | {"conflate": True} for f in flows_between((carrier,), "lan")]
        assert {p["not_as_named"] for p in flow_points.points(asked, MARKS)} == {marked}

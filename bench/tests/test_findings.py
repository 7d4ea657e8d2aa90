"""Statements tested against made-up data: what is there is found, what is not is not."""

import numpy as np
import pytest

from starling_bench import findings, flow_points, sites
from starling_bench.studies.ec1.figures import stated


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


def made(limited: bool = False, grows_with_rate: float = 0.0, lost: int = 0) -> list[dict]:
    from starling_bench.studies.ec1.configurations import configuration

    every = []
    for topology in ("1-1", "1-N"):
        for n in range(120):
            c = configuration(n)
            theory = c.entities * c.rate * c.payload * 8e-6
            every.append(
                {"configuration": n, "entities": c.entities, "rate": c.rate, "payload": c.payload,
                 "transport": c.transport, "topology": topology, "carrier": "starling",
                 "profile": "local", "bundling": False, "limited": limited, "conflate": 0,
                 "beyond": False,
                 "of_theory": 1.0,
                 "reliability": 1.0, "lost": lost, "p50_ms": 0.2 + c.payload / 6000
                 + grows_with_rate * c.rate / 10 + n % 7 / 1000, "sd_ms": 0.1, "mbps": theory,
                 "host_theory": theory, "host_mbps": theory,
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


def test_no_finding_is_computed_from_what_the_machine_limits():
    said = answers(made(limited=True), "1-1, starling, local")
    assert said["throughput meets theory"] == "can't be said: no configuration"
    assert said["latency grows with payload"].startswith("can't be said")
    # What was lost is said all the same.
    assert answers(made(True, lost=3), "1-1, starling, local")[
        "nothing is lost under reliable delivery"] == "no"  # fmt: skip


def between_sites(carriers: tuple[str, ...], profile: str = "lan") -> list[dict]:
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
                 "sender_cpu": 0.1, "receiver_cpu": 0.1, "cpu_busy": 0.2, "wake_p50_us": 50.0,
                 "wake_sd_us": 1.0, "wake_max_us": 60.0, "sender": "pub1", "receiver": "sub1",
                 "fragments": 0, "way": "UDP", "way_reliable": False, "adapter": carrier,
                 "setting": {}, **late}
            )  # fmt: skip
    return flow_points.points(made)


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
    said = every["WAN behaves as LAN: of theory"]
    assert said.answer == "yes"
    assert said.count == sum(not p["beyond"] for p in found if p["profile"] == "wan") < 120


def test_headers_count_where_a_link_is_full():
    """An update of 128 bytes takes half as many again, one of 9000 seven packets."""
    assert sites.wire_bytes("lan", 128) == 128 + 66
    assert sites.wire_bytes("lan", 9000) == 9000 + 7 * 66
    assert sites.wire_bytes("lan-9000", 8948) == 8948 + 66
    assert sites.wire_bytes("gre", 128) == 128 + 66 + 38

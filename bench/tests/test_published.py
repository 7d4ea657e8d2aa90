"""The tables beside the source's: what stands in a row was measured alike."""

import re

from starling_bench.studies.rtibm import published


def one(rti: str, mean: float, hz: float, loop: int = 3, **more) -> dict:
    """A test as published, but for `more`."""
    setting = {"rti": rti, "outstanding_max": 0, "warm_up": 0, "tick_min_s": 0.001,
               "tick_max_s": 0.001, "queued_bytes_max": 65536, "queued_updates_max": 1000,
               "types": 1, "instances": 1, "buffers": 1, "buffer_bytes": 8}  # fmt: skip
    setting |= more.pop("setting", {})
    return {
        "sequence": f"loops.{rti}", "execution": "e", "test": 1, "rti": f"{rti.title()} 1",
        "kind": "RTOL", "transport": "reliable", "loop": loop, "types": 1, "instances": 1,
        "buffers": 1, "bytes": 8, "pairs": 1, "hosts": "", "cpus": "", "bundling": True,
        "samples": 10, "short": 0, "rtt_ms": {"mean": mean}, "rate_hz": {"mean": hz},
        "setting": setting,
    } | more  # fmt: skip


def rows(summaries: list[dict]) -> list[list[str]]:
    table = "".join(published.loops(summaries)).partition("Published with")[0]
    lines = re.findall("<tr>(.*?)</tr>", table)
    return [re.findall("<t[hd]>(.*?)</t[hd]>", line) for line in lines]


def test_loops_are_beside_what_was_measured_as_they_were():
    """One under way, several pairs, a warm-up, several instances, no bundles: tables of their own;
    hosts and CPUs are rows, an RTI is one column whatever its sequences are."""
    unlike = [
        one("a", 9, 9, setting={"outstanding_max": 1}), one("a", 9, 9, setting={"warm_up": 200}),
        one("a", 9, 9, pairs=2), one("a", 9, 9, bundling=False), one("a", 9, 9, instances=10),
        one("a", 9, 9, setting={"path": "direct"}),
    ]  # fmt: skip
    head, *found = rows([
        one("a", 0.5, 470, 1), one("a", 0.1, 7000, 2), one("a", 0.025, 850), *unlike,
        one("b", 0.02, 900),
        one("a", 0.03, 860, sequence="one-cpu.a", cpus="CPU 0"),
        one("a", 0.2, 840, sequence="systems.a", hosts="two systems"),
    ])  # fmt: skip
    assert head == ["hosts", "CPUs", "test", "loop", "a (A 1)", "b (B 1)"]
    assert found == [
        ["one system", "all CPUs", "RTOL", "V1", "0.500? / 470?", "-"],
        ["one system", "all CPUs", "RTOL", "V2", "0.100 / 7,000", "-"],
        ["one system", "all CPUs", "RTOL", "V3", "0.0250 / 850?", "0.0200 / 900?"],
        ["one system", "CPU 0", "RTOL", "V3", "0.0300 / 860?", "-"],
        ["two systems", "all CPUs", "RTOL", "V3", "0.200 / 840?", "-"],
    ]
    said = "".join(published.loops([one("a", 0.5, 470, 1), one("a", 0.025, 850)]))
    assert "?: the tick" in said and "behind each flush" in said


def test_where_a_cell_has_several_figures_it_is_said_of_what():
    every = [one("a", 0.5, 470, 2), one("a", 0.025, 850),
             one("a", 0.03, 860, sequence="two-cpus.a"),
             one("a", 0.04, 870, sequence="one-system.a")]  # fmt: skip
    said = "".join(published.loops(every)).partition("<p>Published with")[0]
    assert "0.0250 / 850?; 0.0300 / 860?; 0.0400 / 870?" in said
    assert said.endswith("of as many tests, in this order: loops, two-cpus, one-system.</p>")
    assert "Several figures" not in "".join(published.loops(every[:2]))


def test_drops_are_of_as_many_updates_of_each_instance():
    def lost(updates: int, instances: int, sequence: str = "drops.udp") -> dict:
        return {
            "sequence": sequence, "rti": "plain UDP 1", "kind": "OWOT", "transport": "best_effort",
            "updates": updates, "instances": instances, "lost": 1, "sent": updates,
            "setting": {"rti": "udp"},
        }  # fmt: skip

    every = [lost(1000, 1), lost(10_000, 10), lost(100_000, 100), lost(5, 100, "transport.udp")]
    said = "".join(published.drops(every)).partition("Published")[0]
    assert said.count("1 of ") == 3 and "1 of 5<" not in said and "udp (plain UDP 1)" in said

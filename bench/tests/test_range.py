"""The range test bed with real federates: every message, every element, figures from a log."""

import numpy as np
import pyarrow.parquet as parquet
import pytest
from ranges import (
    NEEDED,
    run as run,  # the fixture
    text,
)

pytestmark = NEEDED
QUICK = "federates = {federates}\nbytes = {bytes}\nhz = {hz}\nduration_s = {seconds}\nfloor_s = 0.1"


@pytest.mark.long
@pytest.mark.parametrize("adapter", ["starling", "tcp", "udp", "multicast", "shm"])
def test_every_message_arrives_and_is_in_the_log(run, adapter):
    transport = "best_effort" if adapter in ("udp", "multicast") else "reliable"
    test = QUICK.format(federates=3, bytes=2048, hz=50.0, seconds=2)
    tsf = text(f'{test}\ntransport = "{transport}"', 3, adapter=adapter)
    code, _, err = run.start(tsf).end()
    assert code == 0 and err == "", err
    rows = run.rows()
    pairs = {(r["sender"], r["receiver"]) for r in rows}
    assert len(pairs) == len(rows) == 6
    for r in rows:
        # What a slow timer leaves out is not sent, and said.
        assert 1 <= int(r["sent"]) <= int(r["planned"]) == 100
        assert int(r["received"]) + int(r["lost"]) == int(r["sent"])
        if transport == "reliable":
            assert int(r["lost"]) == 0
        assert (r["doubled"], r["elements_missed"], r["dropped"]) == ("0", "0", "0")
    for receiver in ("f1", "f2", "f3"):
        table = parquet.read_table(run.results / f"samples_test1_{receiver}.parquet")
        for station in {1, 2, 3} - {int(receiver[1])}:
            mine = table["sender"].to_numpy() == station
            counts = table["count"].to_numpy()[mine]
            (r,) = [r for r in rows if (r["sender"], r["receiver"]) == (f"f{station}", receiver)]
            assert len(np.unique(counts)) == len(counts) == int(r["received"])
            if transport == "reliable":
                # The message counts prove it: none is missing.
                assert sorted(counts) == list(range(1, int(r["sent"]) + 1))
            delivery = table["delivery_ns"].to_numpy()[mine] / 1e6
            assert np.all(delivery > 0)
            assert abs(float(r["min_ms"]) - delivery.min()) < 1e-9
            inside = np.count_nonzero(delivery <= 20) / int(r["sent"])
            assert abs(float(r["in_budget"]) - inside) < 1e-9

"""From a backfill to lag: what is known of times whose records are deleted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kafka_groups.admin import GroupAdmin
from kafka_groups.pipeline.facts.backfill import backfill
from kafka_groups.pipeline.facts.time_grid import LookupPeriod
from kafka_groups.pipeline.tables import GROUP_DAILY, LAG_HISTORY
from tests.fakes.scripted_cluster import ScriptedCluster
from tests.pipeline.build.builds import build_here
from tests.pipeline.fact_rows import NOON, commit, new_storage, put_all
from tests.pipeline.store.commits import delta_rows

if TYPE_CHECKING:
    import pytest

HOUR_S = 3_600
RECORDS = 10_000  # one a second, the last of them before noon
KEPT = 1_000


def test_a_group_that_kept_up_has_no_lag_before_the_first_retained_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GroupAdmin, "cluster_id", lambda _admin: "c")
    noon_ms = round(NOON.timestamp() * 1000)
    storage = new_storage(tmp_path / "tables")
    times = range(-RECORDS, 0, 100)
    put_all(
        storage, "facts", {"offset_commits": [commit(time, RECORDS + time, source=RECORDS + time) for time in times]}
    )
    with ScriptedCluster(topics={"t": {0: 1}}, starts={("t", 0): RECORDS - KEPT}) as cluster, cluster.admin() as admin:
        cluster.records["t", 0] = [noon_ms - 1000 * age for age in range(KEPT, 0, -1)]
        since_ms = noon_ms - 3 * HOUR_S * 1000
        backfill(admin, storage, LookupPeriod(since_ms, noon_ms, step_ms=60_000, now_ms=noon_ms))
    build_here(storage)

    rows = delta_rows(storage, LAG_HISTORY).to_pylist()
    assert len(rows) == KEPT // 60 + 1
    assert max(row["lag"] for row in rows) <= 100
    (day,) = delta_rows(storage, GROUP_DAILY).to_pylist()
    assert day["max_lag"] <= 100

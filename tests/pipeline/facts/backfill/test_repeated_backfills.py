"""A backfill after another one, or after a crash: each time of a partition is there once."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.errors import StorageError
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.store.compaction import compact
from kafka_groups.pipeline.tables import PARTITION_OFFSETS
from tests.fakes.reactions import plain
from tests.fakes.scripted_cluster import ScriptedCluster
from tests.pipeline.facts.backfill.backfills import (
    DAY_MS,
    MIDNIGHT_MS,
    MINUTE_MS,
    by_asking_each,
    denied,
    reported,
    rows_of,
    run,
    without_deleted,
)

HOUR_MS = 60 * MINUTE_MS
# All partitions have records in it, busy-1 from its middle on.
MORNING = {"since_ms": MIDNIGHT_MS + 165 * MINUTE_MS, "until_ms": MIDNIGHT_MS + 195 * MINUTE_MS}


def identities(storage: Storage) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[name] for name in PARTITION_OFFSETS.identity) for row in rows_of(storage))


def test_the_same_grid_again_adds_nothing(cluster: ScriptedCluster, storage: Storage) -> None:
    first = run(cluster, storage, **MORNING)
    before = rows_of(storage)
    again = run(cluster, storage, **MORNING)

    assert (first.rows, again.rows) == (len(before), 0)
    assert rows_of(storage) == before


@pytest.mark.parametrize("other", [{"topics": ["quiet"]}, {"step_ms": 30_000}, {"since_ms": MIDNIGHT_MS + 2 * HOUR_MS}])
def test_another_grid_replaces_nothing(cluster: ScriptedCluster, storage: Storage, other: dict[str, Any]) -> None:
    first = run(cluster, storage, **MORNING)
    second = run(cluster, storage, **MORNING | other)

    assert len(rows_of(storage)) == first.rows + second.rows


def test_another_cluster_replaces_nothing(
    cluster: ScriptedCluster, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(cluster, storage, **MORNING)
    monkeypatch.setattr(GroupAdmin, "cluster_id", lambda _admin: "b")
    second = run(cluster, storage, **MORNING)

    assert len(rows_of(storage)) == first.rows + second.rows


def test_times_that_were_looked_up_already_are_not_written_again(cluster: ScriptedCluster, storage: Storage) -> None:
    """As a backfill every night does, that looks back for a week each time."""
    noon, night = MIDNIGHT_MS + 12 * HOUR_MS, MIDNIGHT_MS + 30 * HOUR_MS
    step, an_hour = 20 * MINUTE_MS, 3
    first = run(cluster, storage, since_ms=MIDNIGHT_MS - 6 * HOUR_MS, until_ms=noon, step_ms=step)
    second = run(cluster, storage, since_ms=MIDNIGHT_MS - 3 * HOUR_MS, until_ms=night, step_ms=step)

    times = range(MIDNIGHT_MS - 6 * HOUR_MS, night + 1, step)
    assert set(identities(storage).values()) == {1}
    deleted = 9 * an_hour  # of busy-1, before three o'clock
    assert (first.rows, second.rows) == (3 * (18 * an_hour + 1) - deleted, 3 * 18 * an_hour)
    for partition, start in ((0, 0), (1, 40)):
        expected = by_asking_each(cluster.records["busy", partition], start, times)
        assert reported(storage, "busy", partition) == without_deleted(expected, start, step)

    compact(storage, now=datetime(2026, 9, 9, tzinfo=UTC))
    assert sum(identities(storage).values()) == len(identities(storage)) == 3 * len(times) - deleted


def test_rows_stay_when_retention_deletes_their_records_later(cluster: ScriptedCluster, storage: Storage) -> None:
    run(cluster, storage, until_ms=MIDNIGHT_MS + HOUR_MS)
    before = rows_of(storage)
    cluster.starts["busy", 0], cluster.records["busy", 0] = 400, cluster.records["busy", 0][400:]
    del cluster.topics["quiet"]
    again = run(cluster, storage, until_ms=MIDNIGHT_MS + HOUR_MS)

    assert rows_of(storage) == before
    assert again.rows == 0


def test_a_partition_that_failed_is_written_by_the_next_backfill(cluster: ScriptedCluster, storage: Storage) -> None:
    cluster.script("ListOffsets", plain, denied, brokers=[2])
    run(cluster, storage, **MORNING)
    assert {row["partition"] for row in rows_of(storage)} == {0}
    again = run(cluster, storage, **MORNING)

    assert again.failures == []
    assert reported(storage, "busy", 1)
    assert set(identities(storage).values()) == {1}


def test_a_finer_grid_adds_the_times_between(cluster: ScriptedCluster, storage: Storage) -> None:
    run(cluster, storage, topics=["quiet"], until_ms=MIDNIGHT_MS + HOUR_MS)
    run(cluster, storage, step_ms=MINUTE_MS // 2, until_ms=MIDNIGHT_MS + HOUR_MS)

    times = range(MIDNIGHT_MS, MIDNIGHT_MS + HOUR_MS + 1, MINUTE_MS // 2)
    assert set(identities(storage).values()) == {1}
    assert (
        [row[0] for row in reported(storage, "quiet", 0)]
        == [row[0] for row in reported(storage, "busy", 0)]
        == [*times]
    )


def test_one_backfill_of_a_cluster_runs_at_a_time(cluster: ScriptedCluster, storage: Storage) -> None:
    with storage.lock("backfill-scripted"), pytest.raises(StorageError, match="backfill-scripted"):
        run(cluster, storage)
    assert rows_of(storage) == []


def test_a_crash_in_the_second_day_keeps_the_first(
    cluster: ScriptedCluster, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = storage.append

    def once(*given: Any, **named: Any) -> None:
        append(*given, **named)
        monkeypatch.setattr(storage, "append", _fail)

    monkeypatch.setattr(storage, "append", once)
    with pytest.raises(KeyboardInterrupt):
        run(cluster, storage, until_ms=MIDNIGHT_MS + 2 * DAY_MS, step_ms=HOUR_MS)
    assert {each.date for each in storage.files(PARTITION_OFFSETS)} == {"2026-09-04"}


def _fail(*_: object, **__: object) -> None:
    raise KeyboardInterrupt

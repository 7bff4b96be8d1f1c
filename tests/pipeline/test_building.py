"""What is built does not depend on how the facts came."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.building import build
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.tables import TABLES
from tests.pipeline.steps.making import Row, at, commit, ends, event, new_storage, put_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
DERIVED = [table for table in TABLES.values() if table.derived]
EVENING = 43_200 - 150


def two_days() -> dict[str, list[Row]]:
    """Commits, log ends and a rebalance on both sides of midnight."""
    times = [EVENING + 30 * step for step in range(10)]
    return {
        "offset_commits": [
            *(commit(seconds + 1, 20 * step, source=step) for step, seconds in enumerate(times)),
            *(commit(seconds, 15 * step, group="sampled") for step, seconds in enumerate(times)),
            commit(times[3], None, source=50, group="removed"),
            commit(times[1], 3, source=49, group="removed"),
        ],
        "partition_offsets": [ends(seconds, 25 * step) for step, seconds in enumerate(times)],
        "group_events": [
            event(times[4] - 1, "group_epoch", "ConsumerGroupMetadata", source=80, epoch=1),
            event(times[4] - 2, "member_metadata", "ConsumerGroupMemberMetadata", source=79, member_id="m"),
            event(
                times[6],
                "member_assignment",
                "ConsumerGroupCurrentMemberAssignment",
                source=81,
                epoch=1,
                member_id="m",
                member_state="STABLE",
            ),
        ],
    }


def time_of(row: Row) -> str:
    return str(row.get("commit_time") or row.get("observed_at") or row["record_time"])


def rows_of(spark: SparkSession, storage: Storage) -> dict[str, list[str]]:
    return {
        table.name: sorted(str(row) for row in storage.read(spark, table).drop("batch").collect()) for table in DERIVED
    }


def test_late_split_shuffled_and_replayed_facts_give_the_same_tables(spark: SparkSession, tmp_path: Path) -> None:
    facts = two_days()
    at_once, in_pieces = new_storage(tmp_path / "once"), new_storage(tmp_path / "pieces")
    put_all(at_once, "all", facts)
    built = build(spark, at_once)

    midnight = str(at(43_200))
    put_all(
        in_pieces, "first", {name: [row for row in rows if time_of(row) < midnight] for name, rows in facts.items()}
    )
    assert [day.isoformat() for day in build(spark, in_pieces).dates] == ["2026-11-20"]
    chance = random.Random(3)
    shuffled = {name: chance.sample(rows, len(rows)) for name, rows in facts.items()}
    put_all(
        in_pieces,
        "second",
        {name: [row for row in rows if time_of(row) >= midnight] for name, rows in shuffled.items()},
    )
    assert [day.isoformat() for day in build(spark, in_pieces).dates] == ["2026-11-20", "2026-11-21"]
    assert rows_of(spark, in_pieces) == rows_of(spark, at_once)

    put_all(in_pieces, "replayed", {name: rows[::2] for name, rows in shuffled.items()})
    assert [day.isoformat() for day in build(spark, in_pieces).dates] == ["2026-11-20", "2026-11-21"]
    a, b = rows_of(spark, in_pieces), rows_of(spark, at_once)
    for name in a:
        for x, y in zip(a[name], b[name], strict=False):
            if x != y:
                pass
    assert a == b
    assert built.missing == ("No group states were sampled: states of KIP-848 groups are unknown.",)
    assert built.rows["rebalances"] == 1


def test_samples_alone_give_lag_and_verdicts_and_what_is_missing_is_said(spark: SparkSession, tmp_path: Path) -> None:
    storage = new_storage(tmp_path / "sampled")
    put_all(
        storage,
        "s",
        {
            "offset_commits": [commit(30 * step, 5) for step in range(5)],
            "partition_offsets": [ends(30 * step, 10 * step) for step in range(5)],
        },
    )

    built = build(spark, storage)

    rows = storage.read(spark, TABLES["group_status"]).where("topic is null").orderBy("evaluated_at").collect()
    assert [row["rule"] for row in rows] == ["no_lag", "keeping_up", "keeping_up", "keeping_up", "keeping_up"]
    assert [sentence.split(":")[0] for sentence in built.missing] == [
        "No commits were read from __consumer_offsets",
        "No group records were read from __consumer_offsets",
        "No group states were sampled",
    ]

"""What is built does not depend on how the facts came."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.pipeline.building import Built, build
from kafka_groups.pipeline.compacting import compact
from kafka_groups.pipeline.reporting import report
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.tables import OFFSET_COMMITS, TABLES, Table
from tests.pipeline.fact_rows import NOON, Row, at, commit, ends, event, new_storage, put_all

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
DERIVED = [table for table in TABLES.values() if table.derived]
DAY = 86_400
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


def dates_of(built: Built) -> list[str]:
    return [day.isoformat() for day in built.dates]


@pytest.fixture
def without_compiling(spark: SparkSession) -> Iterator[None]:
    """Code that is made for many facts takes minutes to compile for a few."""
    wanted = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    before = {name: spark.conf.get(name) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    yield
    for name, was in before.items():
        assert was is not None, name
        spark.conf.set(name, was)


@pytest.fixture(scope="module")
def at_once(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What a single build makes of all facts."""
    storage = new_storage(tmp_path_factory.mktemp("once"))
    put_all(storage, "all", two_days())
    built = build(spark, storage)
    assert built.missing == ("No group states were sampled: states of KIP-848 groups are unknown.",)
    rows = rows_of(spark, storage)
    assert built.rows == {name: len(found) for name, found in rows.items()}
    assert built.rows["rebalances"] == 1
    return rows


def test_late_split_shuffled_and_replayed_facts_give_the_same_tables(
    spark: SparkSession, tmp_path: Path, at_once: dict[str, list[str]]
) -> None:
    facts, storage, midnight = two_days(), new_storage(tmp_path), str(at(43_200))
    early = {name: [row for row in rows if time_of(row) < midnight] for name, rows in facts.items()}
    put_all(storage, "first", early)
    assert dates_of(build(spark, storage)) == ["2026-11-20"]

    chance = random.Random(3)
    shuffled = {name: chance.sample(rows, len(rows)) for name, rows in facts.items()}
    late = {name: [row for row in rows if time_of(row) >= midnight] for name, rows in shuffled.items()}
    put_all(storage, "second", late)
    put_all(storage, "replayed", {name: rows[::2] for name, rows in shuffled.items()})

    assert dates_of(build(spark, storage)) == ["2026-11-20", "2026-11-21"]
    assert rows_of(spark, storage) == at_once


def test_a_session_of_another_time_zone_makes_the_same_rows(
    spark: SparkSession, tmp_path: Path, at_once: dict[str, list[str]]
) -> None:
    storage = new_storage(tmp_path)
    put_all(storage, "all", two_days())

    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        built = build(spark, storage)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")

    assert dates_of(built) == ["2026-11-20", "2026-11-21"]
    assert rows_of(spark, storage) == at_once


@pytest.mark.usefixtures("without_compiling")
def test_many_facts_are_worked_on_in_another_way_and_a_compaction_meanwhile_changes_nothing(
    spark: SparkSession, tmp_path: Path, at_once: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files go after they were listed, and come back as one: the build reads anew, and needs no repetition."""
    storage = new_storage(tmp_path)
    facts = two_days()
    for part in range(3):
        put_all(storage, f"b{part}", {name: rows[part::3] for name, rows in facts.items()})
    read = storage.read
    listed: list[str] = []

    def compacted_once(session: SparkSession, table: Table) -> DataFrame:
        rows = read(session, table)
        if table is OFFSET_COMMITS and not listed:
            assert compact(storage, now=at(0)).files_after > 0
        listed.append(table.name)
        return rows

    with monkeypatch.context() as patch:
        patch.setattr(storage, "read", compacted_once)
        build(spark, storage, small_rows=0)

    assert listed.count("offset_commits") > 1
    assert rows_of(spark, storage) == at_once
    assert build(spark, storage).dates == ()

    put_all(storage, "more", {"offset_commits": [commit(EVENING, 7, source=90, group="more")]})
    compact(storage, now=at(0))
    assert dates_of(build(spark, storage)) == ["2026-11-20", "2026-11-21"]


def test_a_new_date_makes_the_one_before_anew_only_where_a_rebalance_ended_since(
    spark: SparkSession, tmp_path: Path, at_once: dict[str, list[str]]
) -> None:
    facts, storage, midnight = two_days(), new_storage(tmp_path), str(at(43_200))
    early = {name: [row for row in rows if time_of(row) < midnight] for name, rows in facts.items()}
    late = {name: [row for row in rows if time_of(row) >= midnight] for name, rows in facts.items()}
    put_all(storage, "first", early)
    build(spark, storage)

    put_all(storage, "offsets", {name: rows for name, rows in late.items() if name != "group_events"})
    assert dates_of(build(spark, storage)) == ["2026-11-21"]

    put_all(storage, "events", {"group_events": late["group_events"]})
    assert dates_of(build(spark, storage)) == ["2026-11-20", "2026-11-21"]
    assert rows_of(spark, storage) == at_once


def test_samples_alone_give_lag_and_verdicts_and_what_is_missing_is_said(spark: SparkSession, tmp_path: Path) -> None:
    storage = new_storage(tmp_path)
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
    assert [row["rule"] for row in rows] == ["no_lag", *["no_commits"] * 4]
    assert [sentence.split(":")[0] for sentence in built.missing] == [
        "No commits were read from __consumer_offsets",
        "No group records were read from __consumer_offsets",
        "No group states were sampled",
    ]


def test_a_group_that_is_too_old_to_be_seen_is_named(spark: SparkSession, tmp_path: Path) -> None:
    storage = new_storage(tmp_path)
    put_all(
        storage,
        "b",
        {
            "offset_commits": [
                commit(-3 * DAY, 1, source=1, group="old"),
                commit(-3 * DAY, 1, source=2, group="removed"),
                commit(-2 * DAY, None, source=3, group="removed"),
                commit(0, 1, source=4, group="young"),
            ]
        },
    )

    told = build(spark, storage, lookback_days=1).missing

    assert told[-1] == ("1 group has no commit on the day before 2026-11-20 on cluster c, and no row since then: old.")


def test_groups_of_one_name_are_told_apart_by_their_clusters(spark: SparkSession, tmp_path: Path) -> None:
    """Cluster `away` was not read since: nothing is known of its groups, so nothing is said."""
    storage, facts = new_storage(tmp_path), []
    for cluster, lasts in (("a", "same"), ("b", "same")):
        facts += [
            commit(-9 * DAY, 1, source=1, group=lasts, cluster_id=cluster),
            commit(0, 1, source=2, group="young", cluster_id=cluster),
        ]
    facts += [commit(-9 * DAY, 1, source=1, group="same", cluster_id="away")]
    put_all(storage, "b", {"offset_commits": facts})

    told = build(spark, storage).missing

    sentences = [
        "1 group has no commit in the 7 days before 2026-11-20 on cluster a, and no row since then: same.",
        "1 group has no commit in the 7 days before 2026-11-20 on cluster b, and no row since then: same.",
    ]
    assert [sentence for sentence in told if "no row since then" in sentence] == sentences

    def reported(until: float, **wanted: Any) -> list[str]:
        until_ms = int((NOON.timestamp() + until) * 1_000)
        history = report(spark, storage, since_ms=until_ms - DAY * 1_000, until_ms=until_ms, **wanted)
        return [sentence for sentence in history.missing if "no row since then" in sentence]

    assert reported(0) == sentences
    assert reported(0, groups=["young"]) == []
    assert reported(-DAY) == []  # as of then nothing was left out yet

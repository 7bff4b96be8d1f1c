"""A commit that samples do not see any more is gone, and one that they could not ask for is not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.pipeline.tables import GROUP_STATUS, LAG_HISTORY
from tests.pipeline.steps.conftest import Stories
from tests.pipeline.fact_rows import NOON, Row, commit, ends, event

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
MINUTES = range(40)
LEFT = 10  # the last minute at which the group was there


def sampled(cluster: str, minute: int, *, listed: bool = True, seen: bool = True) -> list[Row]:
    """One sample: the listing, the commits and, a second later each, the log ends."""
    own: dict[str, Any] = {"cluster_id": cluster}
    told = event(60 * minute, "state_seen", "Snapshot", source=0, origin="sample", **own) | {"source_offset": None}
    there = commit(60 * minute + 1, minute, **own)
    return [*([told] if listed else []), *([there] if seen else []), ends(60 * minute + 2, 500, **own)]


def story(cluster: str, minutes: Iterable[int], **others: Any) -> Iterator[Row]:
    """The group is there until LEFT, and what comes then is told."""
    for minute in minutes:
        yield from sampled(cluster, minute, **({} if minute <= LEFT else others))


GONE = {"listed": False, "seen": False}
FACTS: dict[str, list[Row]] = {
    "deleted": [*story("deleted", MINUTES, **GONE)],
    "just deleted": [*story("just deleted", range(LEFT + 9), **GONE)],
    "back again": [
        row for minute in MINUTES for row in sampled("back again", minute, **(GONE if minute == LEFT + 1 else {}))
    ],
    "one round": [*story("one round", [*range(LEFT + 1), MINUTES[-1]], **GONE)],
    "broker away": [
        *story("broker away", MINUTES, **GONE),
        *(
            ends(60 * m + 2, 7 if m <= LEFT else None, cluster_id="broker away", topic="of that broker")
            for m in MINUTES
        ),
    ],
    "coordinator away": [
        *story("coordinator away", MINUTES, **GONE),
        *(
            ends(60 * m + 2, 7 if m <= LEFT else None, cluster_id="coordinator away", topic="__consumer_offsets")
            for m in MINUTES
        ),
    ],
    "coordinators there": [
        *story("coordinators there", MINUTES, **GONE),
        *(ends(60 * m + 2, 7, cluster_id="coordinators there", topic="__consumer_offsets") for m in MINUTES),
        *(ends(60 * m + 2, None, cluster_id="coordinators there", topic="never tells") for m in MINUTES),
    ],
    "not answered": [*story("not answered", MINUTES, seen=False)],
    "one commit removed": [
        *story("one commit removed", MINUTES, seen=False),
        *(commit(60 * m + 1, 7, cluster_id="one commit removed", partition=1) for m in MINUTES),
        *(ends(60 * m + 2, 500, cluster_id="one commit removed", partition=1) for m in MINUTES),
    ],
    "kept in the topic": [
        *story("kept in the topic", MINUTES, **GONE),
        commit(30, 1, source=1, cluster_id="kept in the topic"),
        *(commit(60 * m, 1, source=m + 9, cluster_id="kept in the topic", group="other") for m in MINUTES),
    ],
    "removed before by its clock": [
        *story("removed before by its clock", MINUTES, **GONE),
        commit(30, 1, source=1, cluster_id="removed before by its clock"),
        commit(60 * LEFT - 30, None, source=2, cluster_id="removed before by its clock"),
        *(commit(60 * m, 1, source=m + 9, cluster_id="removed before by its clock", group="other") for m in MINUTES),
    ],
    "ingest ended": [*story("ingest ended", MINUTES, **GONE), commit(30, 1, source=1, cluster_id="ingest ended")],
}


def facts() -> dict[str, list[Row]]:
    tables: dict[str, list[Row]] = {"offset_commits": [], "partition_offsets": [], "group_events": []}
    for row in (row for rows in FACTS.values() for row in rows):
        name = "offset_commits" if "committed_offset" in row else "group_events"
        tables["partition_offsets" if "observed_at" in row else name].append(row)
    return tables


def last_minute(spark: SparkSession, stories: Stories, cluster: str) -> int:
    """Until when the group has lag."""
    rows = stories.read(spark, LAG_HISTORY).where(f"cluster_id = '{cluster}' and group = 'g' and partition = 0")
    newest: datetime = max(row["observed_at"] for row in rows.collect())
    return round((newest.replace(tzinfo=NOON.tzinfo) - NOON).total_seconds()) // 60


@pytest.mark.parametrize(
    ("cluster", "until"),
    [
        ("deleted", LEFT),
        ("one commit removed", LEFT),
        ("removed before by its clock", LEFT),
        ("ingest ended", LEFT),
        # All coordinators listed their groups, whoever leads the other partitions.
        ("coordinators there", LEFT),
        # That is known only once two rounds missed it, ten minutes long.
        ("just deleted", LEFT + 8),
        ("one round", MINUTES[-1]),
        ("back again", MINUTES[-1]),
        # A group may be on the coordinator that is away; one that is listed may have failed.
        ("broker away", MINUTES[-1]),
        ("coordinator away", MINUTES[-1]),
        ("not answered", MINUTES[-1]),
        # Its removal would have been read.
        ("kept in the topic", MINUTES[-1]),
    ],
)
def test_a_group_has_lag_until_it_is_not_seen_any_more(
    spark: SparkSession, stories: Stories, cluster: str, until: int
) -> None:
    assert last_minute(spark, stories, cluster) == until


def test_who_is_gone_is_judged_no_longer(spark: SparkSession, stories: Stories) -> None:
    status = stories.read(spark, GROUP_STATUS).where("cluster_id = 'deleted'")

    assert {row["evaluated_at"].minute for row in status.select("evaluated_at").collect()} == {*range(LEFT + 1)}

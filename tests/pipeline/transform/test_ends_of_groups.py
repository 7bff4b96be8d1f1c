"""When a group has gone for good, and until when a rebalance is waited for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import pytest

from kafka_groups.pipeline.steps.epochs import DAYS_AFTER, spans
from kafka_groups.pipeline.steps.members import events_once, memberships, removals
from kafka_groups.pipeline.steps.rebalances import consumer_rebalances
from kafka_groups.pipeline.tables import GROUP_EVENTS
from tests.pipeline.fact_rows import Row, event, new_storage, put_all

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
HOUR, DAY = 3_600, 86_400
OURS: Final = "ConsumerGroup"


def classic(seconds: float, number: int) -> Row:
    members = [{"member_id": "m"}]
    return event(seconds, "generation", "GroupMetadata", source=0, epoch=number, members=members)


def removed(seconds: float, kind: str = "GroupMetadata") -> Row:
    return event(seconds, "group_removed", kind, source=0, tombstone=True)


def epoch(seconds: float, number: int) -> Row:
    return event(seconds, "group_epoch", f"{OURS}Metadata", source=0, epoch=number)


def came(seconds: float, name: str) -> Row:
    return event(seconds, "member_metadata", f"{OURS}MemberMetadata", source=0, member_id=name)


def stable(seconds: float, number: int, name: str) -> Row:
    told = {"epoch": number, "member_id": name, "member_state": "STABLE"}
    return event(seconds, "member_assignment", f"{OURS}CurrentMemberAssignment", source=0, **told)


TWO_MEMBERS: Final = (
    *(came(0, "m1"), epoch(0, 1), stable(0, 1, "m1")),
    *(came(10, "m2"), epoch(10, 2), stable(11, 2, "m2")),
)
STORIES: Final[Mapping[str, Sequence[Row]]] = {
    "gone": [classic(0, 1), removed(10)],
    "upgraded": [classic(0, 1), removed(10), epoch(10.2, 2)],
    "downgraded": [epoch(0, 1), removed(10, f"{OURS}Metadata"), classic(10.2, 2)],
    "of the other protocol an hour later": [classic(0, 1), removed(10), epoch(HOUR, 1)],
    "reached the next day": [*TWO_MEMBERS, stable(DAY, 2, "m1")],
    "reached two days later": [*TWO_MEMBERS, stable(2 * DAY, 2, "m1")],
}


@pytest.fixture(scope="module")
def events(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    storage = new_storage(tmp_path_factory.mktemp("ends"))
    rows = [row | {"group": name} for name, story in STORIES.items() for row in story]
    put_all(storage, "facts", {"group_events": [row | {"source_offset": place} for place, row in enumerate(rows)]})
    return events_once(storage.read(spark, GROUP_EVENTS).coalesce(1)).localCheckpoint()


def test_a_group_moved_to_the_other_protocol_only_if_that_ones_record_follows_at_once(events: DataFrame) -> None:
    assert {row["group"]: row["kind"] for row in removals(events).collect()} == {
        "gone": "deleted",
        "upgraded": "moved",
        "downgraded": "moved",
        "of the other protocol an hour later": "deleted",
    }


def test_a_rebalance_is_waited_for_until_the_end_of_the_next_day_whatever_facts_there_are(events: DataFrame) -> None:
    """A build of that day alone sees no more, and must tell the same."""
    told = events.where("`group` like 'reached%'")
    members = memberships(told, days_after=DAYS_AFTER)
    rows = consumer_rebalances(told, members, spans(told, members)).where("generation = 2").collect()

    assert {row["group"]: (row["duration_quality"], row["duration_ms"]) for row in rows} == {
        "reached the next day": ("exact", (DAY - 10) * 1_000),
        "reached two days later": ("open", None),
    }

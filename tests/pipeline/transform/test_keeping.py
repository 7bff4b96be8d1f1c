"""What is built after old dates were removed: what a later date still needs is there."""

from __future__ import annotations

from datetime import date, timedelta
from inspect import signature
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyspark.sql import Row

from kafka_groups.pipeline.building import build
from kafka_groups.pipeline.compacting import LEAST_KEEP, compact
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.tables import GROUP_DAILY, TOPIC_DAILY
from tests.pipeline.fact_rows import NOON, commit, ends, event, new_storage, put_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY_S = 86_400
Days = dict[tuple[str, str, date], dict[str, Any]]


def test_the_least_that_is_kept_is_what_a_build_of_the_last_two_days_looks_back_to() -> None:
    assert timedelta(days=signature(build).parameters["lookback_days"].default + 1) == LEAST_KEEP


AGES: Final = range(12, 0, -1)
COMMITS: Final = [
    *(commit(-age * DAY_S, 500 - age, source=20 - age, group="busy") for age in AGES),
    commit(-8 * DAY_S, 0, source=30, group="idle"),
    # These were last committed on when their groups last said anything of themselves, or a little later.
    *(commit(-4 * DAY_S, 0, source=40 + at, group=name) for at, name in enumerate(("classic", "kip"))),
]
# Told once, and true ever since.
EVENTS: Final = [
    event(
        -12 * DAY_S, "generation", "GroupMetadata", source=50, group="classic", epoch=1, members=[{"member_id": "m"}]
    ),
    event(-12 * DAY_S, "group_epoch", "ConsumerGroupMetadata", source=51, group="kip", epoch=1),
    event(-12 * DAY_S, "member_metadata", "ConsumerGroupMemberMetadata", source=52, group="kip", member_id="m"),
    event(-12 * DAY_S, "share_partitions", "ShareGroupStatePartitionMetadata", source=53, group="s", topics=["shared"]),
    *(event(-age * DAY_S, "generation", "GroupMetadata", source=60 - age, group="busy", epoch=1) for age in AGES),
]


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Storage:
    storage = new_storage(tmp_path_factory.mktemp("tables"))
    logs = [ends(-age * DAY_S, 500, topic=topic) for age in AGES for topic in ("t", "shared")]
    put_all(storage, "facts", {"offset_commits": COMMITS, "partition_offsets": logs, "group_events": EVENTS})
    return storage


@pytest.fixture(scope="module")
def days(spark: SparkSession, storage: Storage) -> tuple[Days, Days]:
    """What days of groups and topics tell as first built, and, of all that still are, as built after facts went."""
    build(spark, storage)
    before = days_in(spark, storage)
    done = compact(storage, keep=LEAST_KEEP, now=NOON)
    assert done.removed_dates == 4
    put_all(storage, "later", {"partition_offsets": [ends(0, 500), ends(-7 * DAY_S, 500)]})
    build(spark, storage)
    return before, days_in(spark, storage)


@pytest.mark.spark
def test_a_group_that_is_idle_for_a_week_keeps_its_days_whatever_may_be_removed(days: tuple[Days, Days]) -> None:
    wanted = [NOON.date() - timedelta(days=age) for age in range(8, 0, -1)]
    for told in days:
        assert sorted(day for _, name, day in told if name == "idle") == wanted


@pytest.mark.spark
def test_who_was_last_told_to_be_there_before_that_is_still_there(days: tuple[Days, Days]) -> None:
    before, after = days
    yesterday = NOON.date() - timedelta(days=1)
    for kind, name in (("group", "classic"), ("group", "kip"), ("topic", "shared")):
        row = after[kind, name, yesterday]
        assert row == before[kind, name, yesterday]
        assert (row.get("is_unread"), row.get("is_idle"), row.get("members_max")) == (
            (False, None, None) if kind == "topic" else (None, False, 1)
        )


@pytest.mark.spark
def test_what_is_left_of_an_old_date_makes_nothing_anew(
    days: tuple[Days, Days], spark: SparkSession, storage: Storage
) -> None:
    assert days
    assert compact(storage, keep=LEAST_KEEP, now=NOON).removed == ()
    assert build(spark, storage).dates == ()


def days_in(spark: SparkSession, storage: Storage) -> Days:
    tables = (("group", GROUP_DAILY), ("topic", TOPIC_DAILY))
    return {
        (kind, row[kind], row["date"]): {column.name: row[column.name] for column in table.columns}
        for kind, table in tables
        for row in map(Row.asDict, storage.read(spark, table).collect())
    }

"""Builds after retention removed old dates: what later dates need of them is still known."""

from __future__ import annotations

from datetime import date, timedelta
from inspect import signature
from typing import Any, Final

import pytest

from kafka_groups.pipeline.compacting import LEAST_KEEP, compact
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.transform.build import build
from tests.pipeline.fact_rows import NOON, commit, ends, event, new_storage, put_all
from tests.pipeline.transform.builds import build_here, read

DAY_S: Final = 86_400
Days = dict[tuple[str, str, date], dict[str, Any]]


def test_the_least_that_is_kept_is_what_a_build_of_the_last_two_days_looks_back_to() -> None:
    assert timedelta(days=signature(build).parameters["lookback_days"].default + 1) == LEAST_KEEP


AGES: Final = range(12, 0, -1)
COMMITS: Final = [
    *(commit(-age * DAY_S, 500 - age, source=20 - age, group="busy") for age in AGES),
    commit(-8 * DAY_S, 0, source=30, group="idle"),
    # The last commits of these are as old as the last records of their groups, or a little younger.
    *(commit(-4 * DAY_S, 0, source=40 + at, group=name) for at, name in enumerate(("classic", "kip"))),
]
# Each is written once, and holds until the end.
EVENTS: Final = [
    event(
        -12 * DAY_S, "generation", "GroupMetadata", source=50, group="classic", epoch=1, members=[{"member_id": "m"}]
    ),
    event(-12 * DAY_S, "group_epoch", "ConsumerGroupMetadata", source=51, group="kip", epoch=1),
    event(-12 * DAY_S, "member_metadata", "ConsumerGroupMemberMetadata", source=52, group="kip", member_id="m"),
    event(-12 * DAY_S, "share_partitions", "ShareGroupStatePartitionMetadata", source=53, group="s", topics=["shared"]),
    *(
        event(-age * DAY_S, "generation", "GroupMetadata", source=60 - age, group="busy", epoch=13 - age)
        for age in AGES
    ),
]


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Storage:
    storage = new_storage(tmp_path_factory.mktemp("tables"))
    logs = [ends(-age * DAY_S, 500, topic=topic) for age in AGES for topic in ("t", "shared")]
    put_all(storage, "facts", {"offset_commits": COMMITS, "partition_offsets": logs, "group_events": EVENTS})
    return storage


@pytest.fixture(scope="module")
def days(storage: Storage) -> tuple[Days, Days]:
    """The days of groups and topics as first built, and as built again after facts were removed."""
    build_here(storage)
    before = days_in(storage)
    done = compact(storage, keep=LEAST_KEEP, now=NOON)
    assert done.removed_dates == 4
    put_all(storage, "later", {"partition_offsets": [ends(0, 500), ends(-7 * DAY_S, 500)]})
    assert build_here(storage).dates == tuple(NOON.date() - timedelta(days=age) for age in range(7, -1, -1))
    return before, days_in(storage)


def days_in(storage: Storage) -> Days:
    tables = (("group", "group_daily"), ("topic", "topic_daily"))
    return {(kind, row[kind], row["date"]): row for kind, table in tables for row in read(storage, table)}


def test_a_group_that_is_idle_for_a_week_keeps_its_days_after_retention(days: tuple[Days, Days]) -> None:
    wanted = [NOON.date() - timedelta(days=age) for age in range(8, 0, -1)]
    for found in days:
        assert sorted(day for _, name, day in found if name == "idle") == wanted


def test_members_and_readers_whose_last_record_is_older_are_still_known(days: tuple[Days, Days]) -> None:
    before, after = days
    yesterday = NOON.date() - timedelta(days=1)
    for kind, name in (("group", "classic"), ("group", "kip"), ("topic", "shared")):
        row = after[kind, name, yesterday]
        assert row == before[kind, name, yesterday]
        assert (row.get("is_unread"), row.get("is_idle"), row.get("members_max")) == (
            (False, None, None) if kind == "topic" else (None, False, 1)
        )


def test_what_is_left_of_an_old_date_causes_no_build(days: tuple[Days, Days], storage: Storage) -> None:
    assert days
    assert compact(storage, keep=LEAST_KEEP, now=NOON).removed == ()
    assert build_here(storage).dates == ()


def test_with_other_settings_members_and_readers_are_known_from_the_records_that_retention_left(
    days: tuple[Days, Days], storage: Storage
) -> None:
    build_here(storage, lookback_days=8)

    yesterday = NOON.date() - timedelta(days=1)
    found = days_in(storage)
    assert {day for _, _, day in found} == {day for _, _, day in days[1]}
    assert [found["group", name, yesterday]["members_max"] for name in ("classic", "kip")] == [1, 1]
    assert not found["topic", "shared", yesterday]["is_unread"]
    # Of the dates that retention thinned no rows are made.
    assert min(row["date"] for row in read(storage, "rebalances")) == NOON.date() - LEAST_KEEP

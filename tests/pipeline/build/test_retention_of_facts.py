"""Builds after retention removed old dates: what later dates need of them is still known."""

from __future__ import annotations

import shutil
from datetime import date, datetime, timedelta
from inspect import signature
from pathlib import Path
from typing import Any, Final

import pytest

from kafka_groups.pipeline.build.run import build
from kafka_groups.pipeline.store import Storage, open_storage
from kafka_groups.pipeline.store.compaction import compact
from kafka_groups.pipeline.store.retention import MIN_RETENTION, uniform_retention
from kafka_groups.pipeline.tables import GROUP_DAILY, LAG_HISTORY, PARTITION_OFFSETS
from tests.pipeline.build.builds import build_here, built, of, read
from tests.pipeline.delayed_log import write_commits
from tests.pipeline.fact_rows import NOON, Row, at, commit, ends, event, new_storage, put_all
from tests.pipeline.proof import DERIVED, facts_of

DAY_S: Final = 86_400
TODAY: Final = NOON.date()
Days = dict[tuple[str, str, date], dict[str, Any]]


def test_the_least_retention_is_the_lookback_of_a_build_of_two_days() -> None:
    assert timedelta(days=signature(build).parameters["lookback_days"].default + 1) == MIN_RETENTION


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
    done = compact(storage, retention=uniform_retention(MIN_RETENTION), now=NOON)
    assert done.removed_dates == 4
    put_all(storage, "later", {"partition_offsets": [ends(0, 500), ends(-7 * DAY_S, 500)]})
    assert build_here(storage).dates == tuple(NOON.date() - timedelta(days=age) for age in range(7, -1, -1))
    return before, days_in(storage)


def days_in(storage: Storage) -> Days:
    tables = (("group", "group_daily"), ("topic", "topic_daily"))
    return {(kind, row[kind], row["date"]): row for kind, table in tables for row in read(storage, table)}


@pytest.mark.slow
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
        assert (row.get("is_unread"), row.get("is_idle"), row.get("max_members")) == (
            (False, None, None) if kind == "topic" else (None, False, 1)
        )


def test_remaining_rows_of_an_old_date_cause_no_build(days: tuple[Days, Days], storage: Storage) -> None:
    assert days
    assert compact(storage, retention=uniform_retention(MIN_RETENTION), now=NOON).removed_table_dates == ()
    assert build_here(storage).dates == ()


def test_members_and_readers_are_known_after_retention_and_other_settings(
    days: tuple[Days, Days], storage: Storage
) -> None:
    build_here(storage, lookback_days=8)

    yesterday = NOON.date() - timedelta(days=1)
    found = days_in(storage)
    assert {day for _, _, day in found} == {day for _, _, day in days[1]}
    assert [found["group", name, yesterday]["max_members"] for name in ("classic", "kip")] == [1, 1]
    assert not found["topic", "shared", yesterday]["is_unread"]
    # Of the dates that retention thinned no rows are made.
    assert min(row["date"] for row in read(storage, "rebalances")) == NOON.date() - MIN_RETENTION


def built_and_removed(directory: Path, retention_days: int) -> Storage:
    """Return a group that commits each day, and one that last committed on the day before the first retained one.

    Both have members, whose last record is the first one of all.
    """
    days = range(-retention_days - 4, 1)
    facts = {
        "offset_commits": [
            *(commit(day * DAY_S, 100 + day, source=100 + day, group="busy") for day in days),
            commit((-retention_days - 1) * DAY_S, 0, source=300, group="an idle one"),
        ],
        "partition_offsets": [ends(day * DAY_S, 500) for day in days],
        "group_events": [
            event(days[0] * DAY_S, "generation", "GroupMetadata", source=400, group=name, epoch=1, members=[member])
            for name, member in (("busy", {"member_id": "b"}), ("an idle one", {"member_id": "i"}))
        ],
    }
    storage = built(directory, facts)
    assert compact(storage, retention=uniform_retention(timedelta(days=retention_days)), now=NOON).removed_dates == 4
    return storage


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    storage = built_and_removed(tmp_path_factory.mktemp("template"), 8)
    write_commits(storage)
    return Path(storage.location)


@pytest.fixture
def removed(template: Path, tmp_path: Path) -> Storage:
    """A copy of tables that were built, and of which all but eight days were removed."""
    return open_storage(str(shutil.copytree(template, tmp_path / "tables")))


def rows_in(storage: Storage, *, until: date = TODAY) -> dict[str, list[Row]]:
    return {name: [row for row in read(storage, name) if row["date"] <= until] for name in DERIVED}


MEMBER: Final = {"members": [{"member_id": "m"}]}
ABSURD: Final = {
    "record_time": at(0, since=NOON.replace(year=1969)),
    "commit_time": at(0, since=NOON.replace(year=1969)),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "late",
    [
        {"partition_offsets": [ends(-11 * DAY_S, 500)]},
        {"offset_commits": [commit(0, 5, source=900, group="absurd") | ABSURD]},
        {"group_events": [event(-11 * DAY_S, "generation", "GroupMetadata", source=901, epoch=1, **MEMBER)]},
    ],
    ids=["log end", "absurd time", "members"],
)
def test_a_fact_older_than_the_retention_changes_no_date(removed: Storage, late: dict[str, list[Row]]) -> None:
    storage = removed
    before = rows_in(storage)
    put_all(storage, "late", late)

    assert build_here(storage).dates == ()
    put_all(storage, "later", {"partition_offsets": [ends(DAY_S, 500)]})
    assert build_here(storage).dates == (NOON.date() + timedelta(days=1),)

    assert rows_in(storage) == before
    tomorrow = {row["group"]: row for row in read(storage, "group_daily") if row["date"] > NOON.date()}
    assert tomorrow["busy"]["max_members"] == 1


@pytest.mark.slow
def test_a_fact_older_than_all_states_changes_no_date_before_its_own(tmp_path: Path) -> None:
    """Without a state, all facts that are left are read: rows of earlier dates would lack what was removed."""
    storage = built_and_removed(tmp_path, 14)
    before = rows_in(storage, until=NOON.date() - timedelta(days=13))
    put_all(storage, "late", {"offset_commits": [commit(-12 * DAY_S, 5, source=900, group="late")]})

    assert build_here(storage).dates == tuple(NOON.date() - timedelta(days=age) for age in range(12, -1, -1))

    assert rows_in(storage, until=NOON.date() - timedelta(days=13)) == before
    assert {row["group"] for row in before["group_daily"]} == {"busy", "an idle one"}


def test_members_of_a_cluster_that_is_first_read_after_retention_are_known(removed: Storage) -> None:
    """Its group has been stable for longer than what is kept."""
    storage = removed
    before = rows_in(storage)
    first = {
        "group_events": [event(-11 * DAY_S, "generation", "GroupMetadata", source=1, epoch=1, **MEMBER)],
        "offset_commits": [commit(60, 5, source=2)],
    }
    put_all(storage, "first", {name: of("new", rows) for name, rows in first.items()})

    assert build_here(storage).dates == (NOON.date(),)

    mine = [row for row in read(storage, "group_daily") if row["cluster_id"] == "new"]
    assert [(row["date"], row["max_members"]) for row in mine] == [(NOON.date(), 1)]
    others = rows_in(storage)
    for name, rows in before.items():
        assert [row for row in others[name] if row["cluster_id"] != "new"] == rows
    assert build_here(storage).dates == ()


@pytest.mark.parametrize("table", ["group_state", "partition_state"])
def test_members_are_still_known_after_the_states_of_a_table_were_deleted(removed: Storage, table: str) -> None:
    storage = removed
    before = [(row["group"], row["date"], row["max_members"]) for row in read(storage, "group_daily")][-2:]
    assert [row[-1] for row in before] == [1, 1]
    shutil.rmtree(Path(storage.location, table))

    build_here(storage)

    assert [(row["group"], row["date"], row["max_members"]) for row in read(storage, "group_daily")][-2:] == before


@pytest.mark.slow
def test_a_random_history_keeps_its_rows_while_retention_removes_dates(
    tmp_path: Path,
) -> None:
    facts = facts_of(402, 1)
    portions: dict[int, dict[str, list[Row]]] = {}
    for name, rows in facts.items():
        for row in rows:
            portions.setdefault(int(time_of(row).timestamp() // (DAY_S / 2)), {}).setdefault(name, []).append(row)
    storage, first = new_storage(tmp_path / "portions"), ""

    for number, portion in enumerate(sorted(portions)):
        put_all(storage, f"b{number:04}", portions[portion])
        if number % 3 == 1:
            old = [row for row in facts["group_events"] if f"{time_of(row):%F}" < first]
            put_all(storage, f"old{number:04}", {"group_events": old})
        build_here(storage, lookback_days=1)
        now = max(time_of(row) for rows in portions[portion].values() for row in rows)
        compact(storage, retention=uniform_retention(timedelta(days=3)), now=now)
        first = storage.read_metadata("retention")["first_date"]

    whole = built(tmp_path / "whole", facts, lookback_days=1)
    kept, others = (
        {name: [row for row in read(one, name) if f"{row['date']:%F}" >= first] for name in DERIVED}
        for one in (storage, whole)
    )
    assert all(kept.values())
    assert kept == others


def time_of(row: Row) -> datetime:
    found: datetime = row.get("commit_time") or row.get("observed_at") or row["record_time"]
    return found


def test_tables_may_have_a_retention_of_their_own(tmp_path: Path) -> None:
    made = new_storage(tmp_path)
    logs = [ends(-age * DAY_S, 500) for age in AGES]
    put_all(made, "facts", {"offset_commits": COMMITS, "partition_offsets": logs})
    build_here(made)
    all_days, every = made.dates(GROUP_DAILY), made.dates(LAG_HISTORY)

    compact(made, retention={LAG_HISTORY: MIN_RETENTION}, now=NOON)
    assert (made.dates(LAG_HISTORY), made.dates(GROUP_DAILY)) == (every[-8:], all_days)
    # What is missing by intention is not made again.
    assert build_here(made).dates == ()

    compact(made, retention={PARTITION_OFFSETS: MIN_RETENTION}, now=NOON)
    put_all(made, "late", {"offset_commits": [commit(-11 * DAY_S, 1, source=999, group="late")]})
    # Nor is a date of which facts are missing.
    assert (build_here(made).dates, made.dates(GROUP_DAILY)) == ((), all_days)

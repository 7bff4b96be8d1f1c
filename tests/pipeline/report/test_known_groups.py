"""Which groups a report shows, as of when, and since when they are behind: a history for each group, made of facts."""

from __future__ import annotations

import json
from typing import Final

import pytest

from kafka_groups.pipeline.report.history import GroupHistory, History
from kafka_groups.pipeline.report.history_reader import read_history
from kafka_groups.pipeline.report.json.document import history_document
from kafka_groups.pipeline.report.limits import GroupLimit
from kafka_groups.pipeline.store import Storage
from tests.pipeline.build.builds import build_here
from tests.pipeline.fact_rows import NOON, Row, commit, ends, event, new_storage, put_all

START: Final = int(NOON.timestamp() * 1_000)
MINUTE: Final = 60
RUNS: Final = range(0, 10 * MINUTE + 1, MINUTE)
END: Final = START + 10 * MINUTE * 1_000
CLASSIC: Final = "GroupMetadata"
CONSUMER: Final = "ConsumerGroupMetadata"

COMMITS: Final = [
    *(commit(at, 7, source=at, group="turning", topic="unsampled") for at in (1, 40)),
    *(commit(at, at, source=1_000 + at, group="late", topic="late") for at in RUNS),
    *(
        commit(at, at, source=2_000 + 2 * at + p, group="halves", topic="halves", partition=p)
        for at in RUNS
        for p in (0, 1)
    ),
    *(commit(at, 1_000, source=4_000 + at, group="mixed", topic="mixed") for at in RUNS),
    *(commit(at, 10, source=5_000 + at, group="mixed", topic="mixed", partition=1) for at in RUNS),
    commit(0, 10, source=6_000, group="unsampled", topic="away"),
    *(commit(0, 10, source=6_100, group=name, topic="t") for name in ("deleted", "reborn", "upgraded")),
    *(commit(400, None, source=6_200, group=name, topic="t") for name in ("deleted", "reborn")),
    commit(500, 10, source=6_300, group="reborn", topic="t"),
]
ENDS: Final = [
    *(ends(at, at if at <= 2 * MINUTE else 2 * at, topic="late") for at in RUNS),
    # The last sample misses partition 1.
    *(ends(at, 100 + 2 * at, topic="halves") for at in RUNS),
    *(ends(at, 100 + 2 * at, topic="halves", partition=1) for at in RUNS[:-1]),
    *(ends(at, 500, topic="mixed") for at in RUNS),
    *(ends(at, 310, topic="mixed", partition=1) for at in RUNS),
    *(ends(at, 50) for at in RUNS),
    ends(-86_400, 50, topic="dropped"),
    # Long before all others.
    ends(-30 * MINUTE, 9, topic="away"),
    ends(-20 * MINUTE, 9, topic="away"),
]
EVENTS: Final = [
    event(3, "generation", CLASSIC, source=1, group="turning", epoch=1, members=[{"member_id": "a"}]),
    event(1, "group_epoch", "ShareGroupMetadata", source=2, group="sharing", epoch=1),
    event(2, "state_seen", "Snapshot", source=0, origin="sample", group="sharing", state="Stable"),
    *(event(400, "group_removed", CLASSIC, source=3, group=name, is_tombstone=True) for name in ("deleted", "reborn")),
    event(400, "group_removed", CLASSIC, source=4, group="upgraded", is_tombstone=True),
    event(400, "group_epoch", CONSUMER, source=5, group="upgraded", epoch=2),
    event(-100_000, "group_removed", CLASSIC, source=6, group="deleted earlier", is_tombstone=True),
]


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Storage:
    made = new_storage(tmp_path_factory.mktemp("tables"))
    commits: list[Row] = [*COMMITS, commit(-40 * MINUTE, 5, source=9_000, group="away", topic="away")]
    put_all(made, "b", {"offset_commits": commits, "partition_offsets": ENDS, "group_events": EVENTS})
    build_here(made)
    return made


@pytest.fixture(scope="module")
def reported(storage: Storage) -> History:
    """A report on the 25 hours before the last sample."""
    return read_history(storage, since_ms=END - 25 * 3_600_000, until_ms=END, now_ms=5)


def named(history: History, name: str) -> GroupHistory:
    """Return the group with this id."""
    return next(group for group in history.groups if group.group == name)


def test_a_group_is_shown_even_if_its_lag_is_unknown(reported: History) -> None:
    turning, sharing, unsampled = (named(reported, name) for name in ("turning", "sharing", "unsampled"))
    assert (turning.lag, turning.verdict, turning.evaluated_ms, len(turning.rebalances or ())) == (None, None, None, 1)
    assert (sharing.lag, sharing.state, sharing.time_lag_quality) == (None, "Stable", "unknown")
    assert (unsampled.lag, unsampled.evaluated_ms) == (None, None)
    assert reported.groups_in_all == len(reported.groups) == 10
    assert [group.verdict for group in reported.groups].index(None) == 6


def test_a_group_that_was_removed_is_the_last_and_has_no_lag_any_more(reported: History) -> None:
    deleted = reported.groups[-1]
    assert (deleted.group, deleted.state, deleted.member_count, deleted.deleted_ms) == (
        "deleted",
        "Dead",
        0,
        START + 400_000,
    )
    assert (deleted.lag, deleted.verdict, deleted.time_lag_ms, deleted.lagging_since_ms) == (None, None, None, None)
    assert deleted.points[-1].lag == 40
    assert [finding for finding in reported.findings if finding.group == "deleted"] == []


def test_removed_groups_are_shown_beside_the_limit_of_existing_ones(storage: Storage) -> None:
    few = read_history(storage, since_ms=START, until_ms=END, shown=GroupLimit(1))
    assert ([group.group for group in few.groups], few.groups_in_all) == (["mixed", "deleted"], 10)


@pytest.mark.parametrize("name", ["reborn", "upgraded"])
def test_a_group_that_was_recreated_or_changed_its_protocol_exists(reported: History, name: str) -> None:
    alive = named(reported, name)
    assert (alive.deleted_ms, alive.lag) == (None, 40)


def test_a_group_that_was_removed_before_the_period_is_not_in_it(reported: History, storage: Storage) -> None:
    assert [group for group in reported.groups if group.group == "deleted earlier"] == []
    later = read_history(storage, since_ms=END - 60_000, until_ms=END, groups=["deleted", "late"])
    assert ([group.group for group in later.groups], later.unknown) == (["late"], ("deleted",))


def test_findings_of_an_older_day_are_not_reported(reported: History) -> None:
    assert [finding for finding in reported.findings if finding.topic == "dropped"] == []


def test_every_group_has_the_time_of_its_last_row(reported: History) -> None:
    assert reported.evaluated_ms == END
    assert named(reported, "late").evaluated_ms == END
    assert named(reported, "away").evaluated_ms == START - 20 * MINUTE * 1_000


def test_the_report_shows_when_sampling_ended(storage: Storage) -> None:
    def ended(until_ms: int) -> list[str]:
        missing = read_history(storage, since_ms=START, until_ms=until_ms, groups=["late"]).missing
        return [sentence for sentence in missing if sentence.startswith("Nothing was sampled since")]

    assert ended(END + 600_000) == []
    assert ended(END + 600_001) == [
        "Nothing was sampled since 2026-11-20T12:10Z, or build has not run since: lag and verdicts are from that time."
    ]


def test_a_lag_starts_after_the_last_time_without_lag_in_any_period(reported: History, storage: Storage) -> None:
    week = read_history(storage, since_ms=END - 7 * 86_400_000, until_ms=END, groups=["late"])
    assert len(named(week, "late").points) < len(named(reported, "late").points)
    for history in (reported, week):
        late = named(history, "late")
        assert (late.lagging_since_ms, late.lagging_since_is_bound) == (START + 3 * MINUTE * 1_000, False)


def test_since_when_is_a_bound_if_the_period_begins_with_a_lag(storage: Storage) -> None:
    short = named(read_history(storage, since_ms=END - 60_000, until_ms=END, groups=["late"]), "late")
    assert (short.lagging_since_ms, short.lagging_since_is_bound) == (END - 60_000, True)


def test_a_partition_without_the_last_sample_counts_with_the_one_before(reported: History) -> None:
    halves = named(reported, "halves")
    # 1300 - 600, and 1180 - 600 with the commit of the sample before.
    assert (halves.lag, halves.points[-1].lag) == (1_340, 1_340)
    assert halves.points[-1].time_lag_ms == halves.time_lag_ms
    assert halves.consume_rate == pytest.approx(2.0)
    assert halves.produce_rate == pytest.approx(4.0)


def test_a_partition_with_negative_lag_does_not_hide_that_of_another(reported: History) -> None:
    mixed = named(reported, "mixed")
    # 310 - 10; the other's log ends at 500, before what was committed.
    assert (mixed.lag, mixed.points[-1].lag, mixed.verdict) == (300, 300, "STALL")
    assert (mixed.lagging_since_ms, mixed.lagging_since_is_bound) == (START, True)
    stalled = [group.group for group in reported.groups if group.verdict == "STALL"]
    assert stalled == ["mixed"]


def test_ids_without_data_are_unknown_with_the_nearest_known_id(storage: Storage) -> None:
    done: list[tuple[str, int, int]] = []
    asked = read_history(
        storage, since_ms=START, until_ms=END, groups=["nosuch", "late"], progress=lambda *at: done.append(at)
    )
    assert ([group.group for group in asked.groups], asked.unknown) == (["late"], ("nosuch",))
    assert done == [("reading the tables", part, 7) for part in range(8)]
    assert asked.nearest == {}
    assert read_history(storage, since_ms=START, until_ms=END, groups=["shraing", "late"]).nearest == {
        "shraing": "sharing"
    }


def test_selected_groups_without_any_lag_are_reported_as_such(storage: Storage) -> None:
    asked = read_history(storage, since_ms=START, until_ms=END, groups=["sharing"])
    assert asked.missing == ("No lag of the selected groups is known in this period.",)


def test_numbers_from_records_alone_are_numbers_in_json(reported: History) -> None:
    turning = named(reported, "turning")
    assert (turning.evaluated_ms, turning.member_count) == (None, 1)
    document = json.loads(json.dumps(history_document(reported)))
    assert {group["group"]: group["members"] for group in document["groups"]}["turning"] == 1

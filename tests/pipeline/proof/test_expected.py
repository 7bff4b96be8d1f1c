"""Which differences from the old commit are expected, with hand-made facts of one group on one partition."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.pipeline.proof import predicates
from tests.pipeline.proof.causes import SeedFacts
from tests.pipeline.proof.differences import Comparison, compare
from tests.pipeline.proof.expected import EXPECTED
from tests.pipeline.proof.random_facts import Row
from tests.pipeline.proof.trees import REPORT_DOCUMENT, REPORT_FINDINGS, REPORT_REBALANCES

TABLES = ("lag_history", "rebalances", "group_status", "group_daily", REPORT_REBALANCES, REPORT_FINDINGS)
CLUSTER = "seed-0007"
ROW = {"lag": 5}


def at(minutes: float) -> datetime:
    return datetime(2026, 11, 18, 12, tzinfo=UTC) + timedelta(minutes=minutes)


def sample(minutes: float, log_end: int, topic_id: str) -> Row:
    place = {"origin": "sample", "topic": "t", "partition": 0, "topic_id": topic_id}
    return place | {"observed_at": at(minutes), "log_end_offset": log_end}


def commit(minutes: float, offset: int | None, origin: str = "topic") -> Row:
    row = {"origin": origin, "group": "g", "topic": "t", "partition": 0, "is_tombstone": offset is None}
    source_offset = int(minutes * 60) if origin == "topic" else None
    return row | {"commit_time": at(minutes), "committed_offset": offset, "source_offset": source_offset}


def event(number: int, kind: str, event_type: str, member: str | None = None, epoch: int | None = None) -> Row:
    row = {"origin": "topic", "group": "g", "record_name": kind, "event_type": event_type, "member_id": member}
    return row | {
        "epoch": epoch,
        "source_offset": number,
        "record_time": at(number),
        "is_tombstone": event_type in {"group_removed", "member_left"},
    }


# The topic is recreated between the minutes 3 and 4; the records at 3.5 may be on either topic.
RECREATED: dict[str, list[Row]] = {
    "partition_offsets": [sample(minute, minute * 10 + 10, "one" if minute < 4 else "two") for minute in range(30)],
    "offset_commits": [commit(minute + 0.5, minute * 10) for minute in range(29) if minute != 4],
    "group_events": [],
}
# A member leaves in minute 20, and compaction has replaced its join.
UNSEEN_LEAVE: dict[str, list[Row]] = {
    "partition_offsets": [],
    "offset_commits": [],
    "group_events": [
        event(0, "ConsumerGroupMemberMetadata", "member_metadata", "a"),
        event(1, "ConsumerGroupMetadata", "group_epoch", epoch=1),
        event(20, "ConsumerGroupMemberMetadata", "member_left", "b"),
        event(30, "ConsumerGroupMetadata", "group_epoch", epoch=2),
    ],
}


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(predicates, "seed_facts", lambda _seed: SeedFacts(request.param))


def compared(**tables: tuple[Row | None, Row | None]) -> Comparison:
    """Return the outcome for one row of each table, given as the old and the new row."""
    old: dict[str, dict[tuple[Any, ...], Row]] = {name: {} for name in (*TABLES, REPORT_DOCUMENT)}
    new: dict[str, dict[tuple[Any, ...], Row]] = {name: {} for name in old}
    for name, rows in tables.items():
        table = name.replace("report_", "report ")
        for side, row in zip((old, new), rows, strict=True):
            if row is not None:
                side[table][CLUSTER, "g"] = row
    return compare(old, new, EXPECTED)


def lag_row(minutes: float, commit_minutes: float, **columns: Any) -> Row:
    place = {"group": "g", "topic": "t", "partition": 0, "observed_at": at(minutes)}
    last = {"commit_time": at(commit_minutes), "commit_origin": "topic", "consume_rate": 1.0}
    return ROW | place | last | columns


def rebalance(minutes: float, **columns: Any) -> Row:
    row = {"group_protocol": "consumer", "generation": 1, "started_at": at(minutes), "ended_at": at(minutes + 1)}
    return row | {"duration_quality": "exact", "members_after": 2, "members_before": 1, "left": ["b"]} | columns


@pytest.mark.parametrize("facts", [RECREATED], indirect=True)
@pytest.mark.usefixtures("facts")
class TestRecreatedTopic:
    def test_a_lag_between_two_topic_ids_is_expected_to_be_removed(self) -> None:
        assert compared(lag_history=(lag_row(4, 2.5), None)).unexpected == []

    @pytest.mark.parametrize("rows", [(lag_row(3, 2.5), None), (None, lag_row(4, 2.5))])
    def test_a_lost_row_on_one_topic_and_an_invented_row_are_found(self, rows: tuple[Row | None, Row | None]) -> None:
        assert len(compared(lag_history=rows).unexpected) == 1

    def test_an_unknown_rate_is_expected_for_ten_minutes_only(self) -> None:
        soon = compared(lag_history=(lag_row(7, 6.5), lag_row(7, 6.5, consume_rate=None)))
        later = compared(lag_history=(lag_row(25, 24.5), lag_row(25, 24.5, consume_rate=None)))

        assert (len(soon.unexpected), len(later.unexpected)) == (0, 1)

    def test_an_unknown_rate_of_a_group_is_expected_only_with_one_of_a_partition(self) -> None:
        rows = lag_row(7, 6.5), lag_row(7, 6.5, consume_rate=None)
        group = ROW | {"evaluated_at": at(7), "consume_rate": 1.0}
        later = group | {"evaluated_at": at(18)}
        unknown = {"consume_rate": None}

        assert compared(lag_history=rows, group_status=(group, group | unknown)).unexpected == []
        assert len(compared(group_status=(group, group | unknown)).unexpected) == 1
        assert len(compared(lag_history=rows, group_status=(later, later | unknown)).unexpected) == 1

    def test_a_higher_consumption_is_found(self) -> None:
        day = {"day": datetime(2026, 11, 18, tzinfo=UTC), "records_consumed": 5}

        assert compared(group_daily=(day, day | {"records_consumed": 4})).unexpected == []
        assert len(compared(group_daily=(day, day | {"records_consumed": 6})).unexpected) == 1


@pytest.mark.parametrize("facts", [UNSEEN_LEAVE], indirect=True)
@pytest.mark.usefixtures("facts")
class TestUnseenLeaver:
    def test_members_before_the_leave_are_expected_to_differ(self) -> None:
        comparison = compared(rebalances=(rebalance(1), rebalance(1, members_after=1, duration_quality="overtaken")))

        assert comparison.unexpected == []

    def test_members_behind_the_leave_are_found(self) -> None:
        assert len(compared(rebalances=(rebalance(30), rebalance(30, members_after=1))).unexpected) == 1

    @pytest.mark.parametrize("protocol", ["consumer", "classic"])
    def test_an_invented_and_a_lost_rebalance_are_found(self, protocol: str) -> None:
        row = rebalance(1, group_protocol=protocol)

        assert len(compared(rebalances=(None, row)).unexpected) == 1
        assert len(compared(rebalances=(row, None)).unexpected) == 1

    def test_a_rebalance_of_the_report_is_found_without_one_of_the_table(self) -> None:
        reported = {"generation": 1, "started_at": "2026-11-18T12:01:00.000Z", "duration_quality": "exact"}
        changed = reported | {"duration_quality": "overtaken"}
        rows = rebalance(1), rebalance(1, duration_quality="overtaken")

        assert compared(rebalances=rows, report_rebalances=(reported, changed)).unexpected == []
        assert len(compared(report_rebalances=(reported, changed)).unexpected) == 1
        assert len(compared(rebalances=rows, report_rebalances=(None, reported)).unexpected) == 1


# Generation 2 is lost. The classic group moves to a share group, which is removed.
GENERATIONS: dict[str, list[Row]] = {
    "partition_offsets": [],
    "offset_commits": [],
    "group_events": [
        event(0, "GroupMetadata", "generation", epoch=1),
        event(10, "GroupMetadata", "generation", epoch=3),
        event(11, "GroupMetadata", "generation", epoch=4),
        event(20, "ShareGroupMetadata", "group_removed"),
        event(30, "GroupMetadata", "generation", epoch=1),
    ],
}


@pytest.mark.parametrize("facts", [GENERATIONS], indirect=True)
@pytest.mark.usefixtures("facts")
@pytest.mark.parametrize(
    ("minutes", "generation", "left", "count"),
    [
        pytest.param(10, 3, None, 0, id="the generation before is lost"),
        pytest.param(10, 3, [], 1, id="it is lost, but nobody left"),
        pytest.param(11, 4, None, 1, id="the generation before is known"),
        pytest.param(30, 1, [], 0, id="a group of another type was removed"),
        pytest.param(30, 1, ["c"], 1, id="it was removed, but another member left"),
    ],
)
def test_members_that_left_differ_behind_lost_and_removed_generations(
    minutes: int, generation: int, left: list[str] | None, count: int
) -> None:
    place = {"group_protocol": "classic", "generation": generation, "ended_at": at(minutes)}
    old = rebalance(minutes - 0.5, **place, joined=[])
    before = None if left is None else 0

    new = old | {"left": left, "members_before": before}

    assert len(compared(rebalances=(old, new)).unexpected) == count


IDLE = "Group g: no commit in 24 hours, and no member seen on 2026-11-23; its last commit {} 2026-11-20."


LOST = (
    "Group g: it is 12 records below the log start: they are lost to it.",
    "Group g: its commit is 12 records below the log start offset; it can no longer read them.",
)
LOST_ON_DAY = (
    "Group g: on 2026-11-20 it was 1 record below the log start: it is lost to it.",
    "Group g: on 2026-11-20 its commit was 1 record below the log start offset; it can no longer read it.",
)


@pytest.mark.parametrize(
    ("kind", "old", "new", "count"),
    [
        pytest.param("idle_group", IDLE.format("is of"), IDLE.format("was on"), 0, id="reworded"),
        pytest.param("idle_group", IDLE.format("is of"), IDLE.format("was on").replace("23;", "24;"), 1, id="number"),
        pytest.param("retention_risk", LOST[0], LOST[1], 0, id="lost records"),
        pytest.param("retention_risk", LOST_ON_DAY[0], LOST_ON_DAY[1], 0, id="a lost record"),
        pytest.param("retention_risk", LOST[0], LOST[1].replace("12", "13"), 1, id="number of lost records"),
        pytest.param("skew", "had 3.1 times", "had 3.2 times", 1, id="other kind"),
        pytest.param("idle_group", None, IDLE.format("was on"), 1, id="invented"),
        pytest.param("idle_group", IDLE.format("is of"), None, 1, id="lost"),
    ],
)
def test_a_finding_is_expected_to_be_reworded_only(kind: str, old: str | None, new: str | None, count: int) -> None:
    rows = tuple(None if message is None else {"kind": kind, "message": message} for message in (old, new))

    assert len(compared(report_findings=(rows[0], rows[1])).unexpected) == count


OLD_SENTENCES = [
    "Nothing was sampled since 2026-11-20T03:34Z, or build has not run since: lag and verdicts are as of then.",
    (
        "The last record that was read from __consumer_offsets is of 2026-11-20T03:34Z, the last sample of "
        "2026-11-20T04:34Z: commits in between are known from samples only, until ingest runs again."
    ),
]
NEW_SENTENCES = [
    "Nothing was sampled since 2026-11-20T03:34Z, or build has not run since: lag and verdicts are from that time.",
    (
        "The last record that was read from __consumer_offsets was written at 2026-11-20T03:34Z, and the last sample "
        "was taken at 2026-11-20T04:34Z: commits in between, if there are any, are known from samples only, until "
        "ingest runs again."
    ),
]


def test_sentences_on_missing_data_are_expected_to_be_reworded_only() -> None:
    def unexpected(old: list[str], new: list[str]) -> int:
        return len(compared(report_document=({"missing": old}, {"missing": new})).unexpected)

    assert unexpected(OLD_SENTENCES, NEW_SENTENCES) == 0
    assert unexpected(OLD_SENTENCES, NEW_SENTENCES[:1]) == 1
    assert unexpected(OLD_SENTENCES, [NEW_SENTENCES[0], NEW_SENTENCES[1].replace("04:34Z", "05:34Z")]) == 1


# Samples of one log from 12:00 to 12:29, and from 20:00 to 20:29; the record at 20:05:30 has the offset of 20:05.
PAUSE: dict[str, list[Row]] = {
    "partition_offsets": [sample(minute, minute, "one") for minute in (*range(30), *range(480, 510))],
    "offset_commits": [commit(485, 485, "sample"), commit(485.5, 480)],
    "group_events": [],
}
AGE = {"time_lag_ms": 5_000, "time_lag_quality": "interpolated"}


@pytest.mark.parametrize("facts", [PAUSE], indirect=True)
@pytest.mark.usefixtures("facts")
class TestPause:
    def test_another_age_on_the_day_after_a_pause_is_expected(self) -> None:
        old = lag_row(1_440, 485, **AGE)

        assert compared(lag_history=(old, old | {"time_lag_ms": 6_000})).unexpected == []

    def test_another_age_on_the_day_of_the_pause_is_found(self) -> None:
        old = lag_row(500, 485, **AGE)

        assert len(compared(lag_history=(old, old | {"time_lag_ms": 6_000})).unexpected) == 1

    def test_an_age_that_is_lost_is_found(self) -> None:
        old = lag_row(1_440, 485, **AGE)
        lost = old | {"time_lag_ms": None, "time_lag_quality": "unknown"}

        assert len(compared(lag_history=(old, lost)).unexpected) == 1


def test_a_sample_right_before_the_first_record_contradicts_it() -> None:
    key = SeedFacts(PAUSE).keys["g", "t", 0]

    assert [*key.contradicted_samples()] == [at(485)]


def test_a_sample_that_shows_the_record_before_it_contradicts_nothing() -> None:
    commits = [commit(485, 480), commit(485.5, 480, "sample")]

    assert [*SeedFacts(PAUSE | {"offset_commits": commits}).keys["g", "t", 0].contradicted_samples()] == []


# A KIP-848 group, which becomes a streams group and then a KIP-848 group again.
KINDS: dict[str, list[Row]] = {
    "partition_offsets": [],
    "offset_commits": [],
    "group_events": [
        event(0, "ConsumerGroupMetadata", "group_epoch", epoch=1),
        event(10, "StreamsGroupMetadata", "group_epoch", epoch=1),
        event(20, "StreamsGroupMetadata", "group_removed"),
    ],
}


@pytest.mark.parametrize("facts", [KINDS], indirect=True)
@pytest.mark.usefixtures("facts")
class TestShareAndStreamsGroups:
    @pytest.mark.parametrize(
        ("protocol", "minutes", "count"), [("streams", 10, 0), ("streams", 11, 1), ("consumer", 10, 1)]
    )
    def test_new_rebalances_of_their_epochs_are_expected(self, protocol: str, minutes: int, count: int) -> None:
        row = rebalance(minutes, group_protocol=protocol)
        assert len(compared(rebalances=(None, row)).unexpected) == count
        assert len(compared(rebalances=(row, None)).unexpected) == 1

    @pytest.mark.parametrize(("minutes", "count"), [(10, 0), (11, 1)])
    def test_their_epoch_is_expected_to_end_an_open_rebalance(self, minutes: int, count: int) -> None:
        old = rebalance(0, ended_at=None, duration_ms=None, duration_quality="unknown")
        new = old | {"ended_at": at(minutes), "duration_ms": minutes * 60_000, "duration_quality": "bound"}
        assert len(compared(rebalances=(old, new)).unexpected) == count

    def test_a_number_of_rebalances_is_expected_to_be_known(self) -> None:
        day = {"day": datetime(2026, 11, 18, tzinfo=UTC), "rebalances": None, "rebalance_ms": None}
        counted = day | {"rebalances": 1, "rebalance_ms": 0}
        assert compared(group_daily=(day, counted)).unexpected == []
        assert len(compared(group_daily=(counted, day)).unexpected) == 1

    @pytest.mark.parametrize(("minutes", "state", "count"), [(21, "Dead", 0), (21, "Stable", 1), (5, "Dead", 1)])
    def test_a_removed_group_is_expected_to_be_dead(self, minutes: int, state: str, count: int) -> None:
        row = {**ROW, "evaluated_at": at(minutes), "state": "Empty"}
        assert len(compared(group_status=(row, row | {"state": state})).unexpected) == count

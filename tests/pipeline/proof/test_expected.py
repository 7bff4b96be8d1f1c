"""Which differences of lag, consumption and reports are expected, with hand-made facts of one group."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.pipeline.proof.causes import SeedFacts
from tests.pipeline.proof.handmade_rows import ROW, at, commit, compared, lag_row, sample
from tests.pipeline.proof.random_facts import Row

# The topic is recreated between the minutes 3 and 4; the records at 3.5 may be on either topic.
RECREATED: dict[str, list[Row]] = {
    "partition_offsets": [sample(minute, minute * 10 + 10, "one" if minute < 4 else "two") for minute in range(30)],
    "offset_commits": [commit(minute + 0.5, minute * 10) for minute in range(29) if minute != 4],
    "group_events": [],
}


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

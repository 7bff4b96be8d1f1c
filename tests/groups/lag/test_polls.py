"""The history of lag: it keeps what verdicts need, and its rates, trends and times follow from it."""

from __future__ import annotations

import pytest

from kafka_groups.groups.lag.polls import LAG_POINTS, Polls
from kafka_groups.model import OffsetRow
from kafka_groups.verdicts import Limits, Verdict


def row(
    committed: int | None, end: int | None, *, group: str = "g", partition: int = 0, start: int | None = 0
) -> OffsetRow:
    """Return a partition of a group."""
    return OffsetRow(group, "t", partition, None, committed, end, None, None, None, None, start, "")


def observed(*polls: tuple[int, int, int], members: int | None = None) -> Polls:
    """Return the history of one partition: time in seconds, committed offset, log end offset."""
    history = Polls()
    for at_s, committed, end in polls:
        history.observe([row(committed, end)], at_s * 1000, members)
    return history


def test_rates_and_the_time_until_the_lag_is_gone() -> None:
    pace = observed((0, 0, 1000), (10, 100, 1050)).paces()["g"]
    assert (pace.consume_rate, pace.produce_rate, pace.catch_up_ms) == (10.0, 5.0, 190_000)
    assert (pace.trend, pace.lags) == (-50, (1000, 950))


def test_one_poll_gives_no_rate() -> None:
    pace = observed((0, 0, 1000)).paces()["g"]
    assert (pace.consume_rate, pace.produce_rate, pace.catch_up_ms, pace.trend) == (None, None, None, None)


def test_a_group_that_is_slower_than_its_producers_never_catches_up() -> None:
    assert observed((0, 0, 1000), (10, 100, 2000)).paces()["g"].catch_up_ms is None


def test_a_group_that_does_not_move_has_the_rate_zero_and_the_time_of_its_last_move() -> None:
    history = observed((0, 5, 10), (10, 6, 20), (20, 6, 30), (30, 6, 40))
    assert history.moved_ms() == {"g": 10_000}
    pace = observed((0, 6, 10), (10, 6, 20)).paces()["g"]
    assert (pace.consume_rate, pace.produce_rate) == (0.0, 1.0)


def test_a_log_end_that_stays_lower_begins_a_new_history_with_the_first_poll_that_saw_it() -> None:
    history = observed((0, 90, 100), (10, 95, 110), (20, 3, 5), (30, 4, 6))
    partition = history.partitions["g", "t", 0]
    assert [(sample.offset, sample.at_ms) for sample in partition.moves] == [(3, 20_000), (4, 30_000)]
    assert (partition.last.end, partition.fallen) == (6, None)


@pytest.mark.parametrize("end", [110, 111])
def test_a_log_end_that_is_lower_for_one_poll_drops_nothing(end: int) -> None:
    polls = [(0, 90, 100), (10, 95, 110), (30, 97, end)]
    expected = observed(*polls).partitions["g", "t", 0]
    assert observed(*polls[:2], (20, 96, 50), *polls[2:]).partitions["g", "t", 0] == expected


def test_several_polls_with_a_lower_log_end_that_are_not_in_turn_drop_nothing() -> None:
    polls = [(at, 90 + at, 100 if at % 2 else 200 + at) for at in range(12)]
    history = observed((0, 90, 200), *polls[1:])
    assert history.partitions["g", "t", 0].moves[0].at_ms == 0


def test_a_poll_with_a_lower_log_end_adds_no_lag_in_total_and_changes_no_verdict() -> None:
    before, history = (observed((0, 10, 100), (10, 20, 110)) for _ in range(2))
    history.observe([row(20, 15)], 20_000)
    assert history.lags == before.lags
    assert history.paces() == before.paces()
    assert history.moved_ms() == {"g": 10_000}


def test_a_lower_log_end_that_is_polled_twice_at_one_time_is_one_poll() -> None:
    history = observed((0, 90, 100), (10, 3, 5), (10, 3, 5))
    assert history.partitions["g", "t", 0].moves[0].offset == 90


def test_a_poll_of_an_earlier_time_is_ignored() -> None:
    history = observed((10, 90, 100), (5, 80, 100))
    assert [sample.offset for sample in history.partitions["g", "t", 0].moves] == [90]
    assert history.lags["g"] == ((10_000, 10),)


def test_partitions_without_a_commit_or_a_log_end_have_no_history() -> None:
    history = Polls()
    history.observe([row(None, 5), row(5, None, partition=1)], 0)
    assert (history.partitions, history.paces()) == ({}, {})


def test_groups_that_are_gone_are_forgotten() -> None:
    history = Polls()
    history.observe([row(5, 9), row(5, 9, group="h")], 0)
    history.end_poll(["g", "h"], is_complete=True)
    history.observe([row(5, 9, group="h")], 1)
    history.end_poll(["h"], is_complete=True)
    assert (list(history.partitions), list(history.lags)) == ([("h", "t", 0)], ["h"])


def test_groups_that_an_incomplete_poll_did_not_read_are_kept() -> None:
    history = Polls()
    history.observe([row(5, 9), row(5, 9, group="h")], 0)
    history.end_poll(["g", "h"], is_complete=False)
    history.end_poll(["h"], is_complete=False)
    assert (list(history.partitions), list(history.lags)) == ([("g", "t", 0)], ["g"])


def test_commits_that_were_deleted_are_forgotten_and_those_that_could_not_be_read_are_kept() -> None:
    history = Polls()
    history.observe([row(5, 9, partition=at) for at in range(4)], 0)
    history.end_poll(["g"], is_complete=True)
    # The log end of partition 1 is unknown; the commit of partition 2 cannot be read; that of partition 3 was deleted.
    history.observe([row(5, 9), row(5, None, partition=1)], 1)
    history.end_poll(["g"], unread={("g", "t", 2)}, is_complete=True)
    assert [partition for _, _, partition in history.partitions] == [0, 1, 2]


def test_an_earlier_poll_with_a_lower_log_end_does_not_begin_a_new_history() -> None:
    history = observed((10, 90, 100), (5, 80, 90))
    assert history.partitions["g", "t", 0].last.at_ms == 10_000


def test_the_number_of_points_is_limited() -> None:
    history = observed(*((at, at, 2 * at) for at in range(100)))
    assert len(history.lags["g"]) == LAG_POINTS
    assert len(history.partitions["g", "t", 0].moves) == 12


def test_a_poll_with_an_unknown_log_end_adds_no_lag_in_total() -> None:
    history = Polls()
    for at_s, (end, other) in enumerate([(1000, 1000), (1000, None), (1000, 1000)]):
        history.observe([row(10, end), row(20, other, partition=1)], at_s * 1000)
    pace = history.paces()["g"]
    assert (pace.lags, pace.trend) == ((1970, 1970), 0)


def test_a_clock_that_was_set_back_begins_a_new_history() -> None:
    history = observed((1_000_000, 10, 100), (500, 20, 110), (510, 30, 120))
    pace = history.paces()["g"]
    assert (history.partitions["g", "t", 0].last.offset, pace.lags, pace.consume_rate) == (30, (90, 90), 1.0)


def test_a_poll_that_ends_a_moment_too_late_is_ignored() -> None:
    history = observed((100, 10, 100), (99, 20, 110))
    assert (history.partitions["g", "t", 0].last.offset, history.lags["g"]) == (10, ((100_000, 90),))


def test_a_group_that_reads_less_than_is_written_is_warned_of_after_half_an_hour() -> None:
    history, rules = Polls(), []
    for minute in range(90):
        history.observe([row(90 * minute, 100 * minute)], minute * 60_000, members=1)
        rules.append(history.paces()["g"].verdict.rule)
    assert rules[20] == "incomplete"
    assert rules[31:] == ["falling_behind"] * 59


def test_a_group_without_members_has_stopped_after_two_minutes_and_one_with_members_after_its_usual_wait() -> None:
    stopped: dict[int, int] = {}
    for members in (0, 1):
        history = observed(*((600 * at, 10 * at, 10 * at + 5) for at in range(10)), members=1)
        for at_s in range(0, 2_400, 60):
            history.observe([row(90, 95)], (5_400 + at_s) * 1_000, members)
            if history.paces()["g"].verdict.verdict == "STOP":
                stopped.setdefault(members, at_s)
    assert stopped == {0: 900, 1: 900}


def test_a_verdict_has_the_time_since_when_it_has_been_given() -> None:
    history = Polls()
    since = []
    for at_s in (0, 60, 120, 180, 240):
        history.observe([row(10, 20)], at_s * 1_000, members=0)
        since.append((history.paces()["g"].verdict.verdict, history.paces()["g"].verdict.since_ms))
    assert since == [("UNKNOWN", 0), ("UNKNOWN", 0), ("STOP", 120_000), ("STOP", 120_000), ("STOP", 120_000)]


def test_limits_decide_when_a_group_has_stopped() -> None:
    history = Polls(limits=Limits(stop_after_ms=600_000))
    verdicts = []
    for minute in range(12):
        history.observe([row(10, 20)], minute * 60_000, members=0)
        verdicts.append(history.paces()["g"].verdict.verdict)
    assert verdicts == ["UNKNOWN"] * 10 + ["STOP"] * 2


def test_a_partition_whose_log_end_becomes_unknown_is_unknown_until_it_is_known_again() -> None:
    history = observed((0, 5, 5), (60, 6, 6))
    assert history.paces()["g"].verdict.rule == "no_lag"
    for at_s in (120, 180):
        history.observe([row(6, None)], at_s * 1_000)
    assert history.paces()["g"].verdict == Verdict("UNKNOWN", "lag_unknown", 120_000)
    history.observe([row(7, 7)], 240_000)
    assert history.paces()["g"].verdict == Verdict("OK", "no_lag", 240_000)


def test_a_group_has_the_verdict_of_its_worst_partition() -> None:
    history = Polls()
    for minute in range(5):
        history.observe([row(minute, minute), row(5, 9, partition=1)], minute * 60_000, members=0)
    assert history.paces()["g"].verdict == Verdict("STOP", "stopped", 120_000)


def test_rates_are_those_of_the_last_polls() -> None:
    fast = [(at, 100 * at, 10_000) for at in range(20)]
    slow = [(20 + at, 2_000 + at, 10_000) for at in range(12)]
    assert observed(*fast, *slow).paces()["g"].consume_rate == 1.0


def test_a_group_of_an_emptied_log_has_lost_data_and_nothing_left_to_read() -> None:
    history = Polls()
    for minute in range(20):
        history.observe([row(10, 100, start=100)], minute * 60_000)
    pace = history.paces()["g"]
    assert (pace.verdict.verdict, pace.verdict.rule) == ("WARN", "losing_data")
    # The lag stays the one of the column.
    assert pace.lags[-1] == 90


def test_a_group_that_does_not_move_while_its_log_is_deleted_has_stopped_until_nothing_is_left() -> None:
    history, rules = Polls(), []
    for minute in range(20):
        history.observe([row(10, 100, start=min(100, 5 * minute + 20))], minute * 60_000)
        rules.append(history.paces()["g"].verdict.rule)
    assert rules == ["losing_data"] * 15 + ["stopped_unseen"] + ["losing_data"] * 4


def test_a_commit_above_the_log_end_gives_no_verdict() -> None:
    history = Polls()
    for minute in range(20):
        history.observe([row(5000, 600), row(600, 600, partition=1)], minute * 60_000)
    verdict = history.paces()["g"].verdict
    assert (verdict.verdict, verdict.rule) == ("UNKNOWN", "lag_unknown")


def poll_offsets(polls: Polls, *polled: tuple[int, int, int]) -> list[tuple[int, int]]:
    """Return the offsets before and after each reset that polls of offset, log end and members have shown."""
    seen = []
    for place, (offset, end, members) in enumerate(polled):
        polls.observe([row(offset, end)], at_ms=1_000 * place, members=members)
        polls.end_poll(["g"], is_complete=True)
        seen += [(reset.offset_before, reset.offset_after) for reset in polls.resets]
    return seen


def test_a_fall_next_to_a_poll_without_members_is_a_reset_once() -> None:
    assert poll_offsets(Polls(), (50, 90, 1), (20, 90, 0), (20, 90, 0), (10, 90, 1), (5, 90, 1)) == [(50, 20), (20, 10)]


def test_a_reset_with_a_stale_log_end_is_seen_with_the_next_one() -> None:
    assert poll_offsets(Polls(), (50, 90, 0), (20, 80, 0), (20, 95, 0)) == [(50, 20)]


def test_a_commit_on_a_recreated_topic_is_no_reset() -> None:
    assert poll_offsets(Polls(), (50, 90, 0), (0, 10, 0), (5, 20, 0), (2, 20, 0)) == [(5, 2)]


def test_a_verdict_lasts_over_the_recreation_of_a_topic_as_in_history() -> None:
    read = observed((0, 500, 500), (60, 500, 500), (120, 3, 3), (180, 5, 5))
    assert read.paces()["g"].verdict == Verdict("OK", "no_lag", 0)
    stopped = observed((0, 400, 500), (1_200, 400, 500), (1_260, 3, 8), (1_320, 3, 9))
    assert stopped.paces()["g"].verdict == Verdict("UNKNOWN", "incomplete", 1_260_000)

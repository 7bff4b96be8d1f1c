"""Polls of share groups, whose progress no offset shows: they are forgotten, and a group may change its kind."""

from __future__ import annotations

from kafka_groups.groups.lag.polls import Polls
from kafka_groups.model import OffsetRow
from kafka_groups.verdicts import Verdict

JUDGED = Verdict("UNKNOWN", "out_of_order")


def poll_share(polls: Polls, at_s: int, *, group: str = "g", lag: int = 5) -> None:
    """Poll a share group."""
    polls.observe_judged(group, lag, at_s * 1_000, JUDGED)
    polls.end_poll([group], is_complete=False)


def poll_consumer(polls: Polls, at_s: int) -> None:
    """Poll a consumer group with the lag 0."""
    polls.observe([OffsetRow("g", "t", 0, None, 9, 9, 0, None, None, None, 0, "")], at_s * 1_000)
    polls.end_poll(["g"], is_complete=False)


def test_a_share_group_that_becomes_a_consumer_group_begins_again() -> None:
    polls = Polls()
    poll_share(polls, 0)
    poll_share(polls, 1)
    assert polls.paces()["g"].verdict == JUDGED
    poll_consumer(polls, 2)
    pace = polls.paces()["g"]
    assert (pace.verdict.rule, pace.lags) == ("no_lag", (0,))


def test_a_consumer_group_that_becomes_a_share_group_begins_again() -> None:
    polls = Polls()
    poll_consumer(polls, 0)
    poll_share(polls, 1)
    poll_share(polls, 2, lag=7)
    assert polls.paces()["g"].lags == (5, 7)
    assert polls.partitions == {}


def test_a_change_of_kind_between_runs_begins_again_too() -> None:
    polls = Polls()
    poll_consumer(polls, 0)
    later = Polls(partitions=polls.partitions, lags=polls.lags)
    poll_share(later, 1)
    assert later.lags == {"g": ((1_000, 5),)}
    latest = Polls(partitions=later.partitions, lags=later.lags)
    poll_consumer(latest, 2)
    assert latest.lags == {"g": ((2_000, 0),)}


def test_the_lags_of_a_deleted_share_group_are_forgotten() -> None:
    polls = Polls()
    poll_share(polls, 0, group="old")
    polls.observe_judged("new", 5, 1_000, JUDGED)
    polls.end_poll(["new"], is_complete=True)
    assert (list(polls.lags), list(polls.paces())) == (["new"], ["new"])


def test_the_lags_of_a_share_group_that_another_poll_did_not_read_are_kept() -> None:
    polls = Polls()
    poll_share(polls, 0)
    poll_share(polls, 1, group="h")
    assert list(polls.lags) == ["g", "h"]
    polls.end_poll(["g"], is_complete=False)
    assert list(polls.lags) == ["h"]

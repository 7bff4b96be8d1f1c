"""Waiting for a condition: when it ends, how often it reads, and what a failed reading means."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from kafka_groups.conditions import FieldType, parse_condition
from kafka_groups.errors import AuthenticationFailedError, ConnectionFailedError
from kafka_groups.groups.lag.lag_row import LagKey
from kafka_groups.groups.lag.reading import LagReading
from kafka_groups.groups.lag.summary import GroupSummary, summarize_lag
from kafka_groups.groups.wait import WaitOutcome, wait_until
from kafka_groups.model import GroupDescription, OffsetRow
from kafka_groups.settings import parse_duration
from tests.fakes.fake_admin import failure

CAUGHT_UP = parse_condition("lag<=0", {"lag": FieldType.NUMBER}, parse_duration=parse_duration)


def summary(group: str, lag: int) -> GroupSummary:
    """Return a group with one partition that is so far behind."""
    row = OffsetRow(group, "t", 0, None, 0, lag, lag, None, None, None, 0, "")
    return summarize_lag(GroupDescription(group, "Classic", "Empty", "", None), [row], LagKey.GROUP)


def reading(**lags: int) -> LagReading:
    """Return a reading of these groups."""
    groups = tuple(summary(group, lag) for group, lag in lags.items())
    return LagReading(groups, (), (), anything_read=bool(lags))


class Clock:
    """A clock that only pauses move."""

    def __init__(self) -> None:
        self.now = 100.0
        self.pauses: list[float] = []

    def pause(self, seconds: float) -> None:
        """Move the clock."""
        self.pauses.append(seconds)
        self.now += seconds


def wait(
    readings: Sequence[LagReading | Exception], *, named: Sequence[str] = (), limit_s: float | None = 60
) -> tuple[WaitOutcome, Clock]:
    """Wait with these readings; the last one is repeated."""
    clock = Clock()
    remaining = list(readings)

    def read(_remaining_s: float | None) -> LagReading:
        found = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        if isinstance(found, Exception):
            raise found
        return found

    pause: Callable[[float], None] = clock.pause
    outcome = wait_until(read, CAUGHT_UP, named=named, limit_s=limit_s, clock=lambda: clock.now, pause=pause)
    return outcome, clock


def test_a_condition_that_holds_ends_the_wait_at_once() -> None:
    outcome, clock = wait([reading(a=0, b=0)])
    assert (outcome.unfulfilled, clock.pauses) == ((), [])


def test_the_wait_ends_when_the_condition_holds_for_all_groups() -> None:
    outcome, clock = wait([reading(a=5, b=0), reading(a=1, b=0), reading(a=0, b=0)])
    assert (outcome.unfulfilled, clock.pauses) == ((), [1.0, 1.5])


def test_the_interval_grows_to_ten_seconds_and_the_last_reading_is_at_the_limit() -> None:
    outcome, clock = wait([reading(a=5)], limit_s=60)
    assert outcome.unfulfilled == ("a",)
    assert clock.pauses[:6] == [1.0, 1.5, 2.25, 3.375, 5.0625, 7.59375]
    assert max(clock.pauses) == 10.0
    assert clock.now == 160.0


def test_without_a_limit_the_wait_goes_on() -> None:
    outcome, clock = wait([reading(a=5)] * 1000 + [reading(a=0)], limit_s=None)
    assert (outcome.unfulfilled, len(clock.pauses)) == ((), 1000)


def test_a_named_group_that_is_absent_does_not_fulfil_the_condition() -> None:
    missing = reading(a=0)._replace(failures=(failure("GROUP_ID_NOT_FOUND", code=69, group="b"),))
    outcome, _ = wait([missing], named=("a", "b"), limit_s=1)
    assert outcome.unfulfilled == ("b",)


def test_a_group_that_cannot_be_read_does_not_fulfil_the_condition() -> None:
    outcome, _ = wait([reading(a=0)._replace(failures=(failure(group="b"),))], limit_s=1)
    assert outcome.unfulfilled == ("b",)


@pytest.mark.parametrize(
    ("condition", "is_fulfilled"), [("lag<=5", False), ("state==Empty", True), ("lag<=5 or state==Empty", True)]
)
def test_an_unknown_log_end_does_not_fulfil_a_condition_on_the_lag(condition: str, is_fulfilled: bool) -> None:
    known = summary("a", 5).total
    unknown = reading()._replace(groups=(GroupSummary(known._replace(note=("data_loss", "incomplete")), ()),))
    fields = {"lag": FieldType.NUMBER, "state": FieldType.TEXT}
    parsed = parse_condition(condition, fields, parse_duration=parse_duration)
    clock = Clock()
    outcome = wait_until(lambda _: unknown, parsed, named=(), limit_s=1, clock=lambda: clock.now, pause=clock.pause)
    assert outcome.is_fulfilled is is_fulfilled


@pytest.mark.parametrize(
    ("condition", "is_fulfilled"),
    [
        ("lag<=0", False),
        ("readable_lag<=0", False),
        ("partitions_behind==0", False),
        ("lag<=0 or note==caught_up", False),
        ("lag<=0 and note!=data_loss", False),
        ("state==Empty", True),
        ("lag<=0 or state==Empty", True),
        ("lag<=0 or note==beyond_end", True),
        ("lag<=0 and note!=BEYOND_END", False),
    ],
)
def test_a_commit_above_the_log_end_fulfils_a_condition_on_the_lag_only_if_it_compares_that_note(
    condition: str, is_fulfilled: bool
) -> None:
    group = GroupDescription("g", "Classic", "Empty", "", None)
    rows = [OffsetRow("g", "t", 0, None, 5000, 600, -4400, None, None, None, 0, "")]
    recreated = LagReading((summarize_lag(group, rows, LagKey.GROUP),), (), (), anything_read=True)
    numbers = dict.fromkeys(("lag", "readable_lag", "partitions_behind"), FieldType.NUMBER)
    fields = {**numbers, "state": FieldType.TEXT, "note": FieldType.TEXT}
    parsed = parse_condition(condition, fields, parse_duration=parse_duration)
    clock = Clock()
    outcome = wait_until(lambda _: recreated, parsed, named=(), limit_s=1, clock=lambda: clock.now, pause=clock.pause)
    assert outcome.is_fulfilled is is_fulfilled
    assert bool(outcome.beyond_end) == (not is_fulfilled and "BEYOND_END" not in condition)


def test_a_broker_that_does_not_list_its_groups_does_not_end_the_wait() -> None:
    partial = reading(a=0)._replace(failures=(failure("TIMEOUT", code=None, broker=2),))
    outcome, clock = wait([partial, reading(a=0)])
    assert (outcome.is_fulfilled, len(clock.pauses)) == (True, 1)
    outcome, _ = wait([partial], limit_s=1)
    assert (outcome.is_fulfilled, outcome.unfulfilled) == (False, ())


def test_nothing_to_wait_for_ends_the_wait() -> None:
    outcome, clock = wait([reading()])
    assert (outcome.reading.groups, clock.pauses) == ((), [])


def test_a_cluster_that_restarts_does_not_end_the_wait() -> None:
    outcome, _ = wait([reading(a=5), ConnectionFailedError("no broker"), reading(a=0)])
    assert outcome.unfulfilled == ()
    assert outcome.last_error is None


def test_a_cluster_that_is_gone_at_the_limit_is_reported_with_the_last_reading() -> None:
    outcome, _ = wait([reading(a=5), ConnectionFailedError("no broker")], limit_s=3)
    assert outcome.unfulfilled == ("a",)
    assert isinstance(outcome.last_error, ConnectionFailedError)


@pytest.mark.parametrize(
    "readings",
    [[ConnectionFailedError("no broker"), reading(a=0)], [reading(a=5), AuthenticationFailedError("no"), reading(a=0)]],
)
def test_a_first_reading_that_fails_and_refused_credentials_end_the_wait(
    readings: Sequence[LagReading | Exception],
) -> None:
    with pytest.raises((ConnectionFailedError, AuthenticationFailedError)):
        wait(readings)


def test_a_reading_has_the_time_that_is_left() -> None:
    clock, left = Clock(), list[float | None]()

    def read(remaining_s: float | None) -> LagReading:
        left.append(remaining_s)
        return reading(a=1)

    wait_until(read, CAUGHT_UP, named=(), limit_s=3, clock=lambda: clock.now, pause=clock.pause)
    assert left == [3, 2.0, 0.5, 0.0]

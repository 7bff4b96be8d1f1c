"""Rebalances that polls see."""

from kafka_groups.causes.rebalances import (
    are_batch_runs,
    changed_polls,
    hanging_polls,
    holders_of,
    rebalances_without_changes,
)
from kafka_groups.model import GroupDescription, Member
from tests.causes.observed_group import ObservedGroup, description, line, member, time_of

_A = member("a", {"orders": [0]})
_B = member("b", {"orders": [1]})
_REBALANCE = description(_A, state="PreparingRebalance")


def _times_without_changes(*descriptions: GroupDescription) -> list[int]:
    return [poll.at_ms for poll in rebalances_without_changes(ObservedGroup(*descriptions).evidence.polls)]


def test_polls_with_other_members_are_changes() -> None:
    polls = ObservedGroup(description(_A), description(_A, _B), description(_A, _B), description(_A)).evidence.polls
    assert [poll.at_ms for poll in changed_polls(polls)] == [time_of(1), time_of(3)]


def test_a_rebalance_just_after_a_change_is_caused_by_it() -> None:
    assert _times_without_changes(description(_A, _B), description(_A), _REBALANCE) == []
    assert _times_without_changes(description(_A, _B), description(_A), description(_A), _REBALANCE) == [time_of(3)]


def test_partitions_that_change_hands_between_stable_polls_are_a_rebalance() -> None:
    before = description(_A, _B)
    after = description(_A._replace(assignment=_B.assignment), _B._replace(assignment=_A.assignment))
    assert _times_without_changes(before, before, after) == [time_of(2)]


def test_unreadable_assignments_and_empty_groups_show_no_rebalance() -> None:
    unreadable = description(_A._replace(assignment=None))
    assert _times_without_changes(description(_A), description(_A), unreadable) == []
    empty = [description(group_epoch=number) for number in range(6)]
    assert _times_without_changes(*empty) == []


def test_only_the_last_rebalance_without_a_break_hangs() -> None:
    group = ObservedGroup(_REBALANCE, description(_A), _REBALANCE, _REBALANCE)
    assert [poll.at_ms for poll in hanging_polls(group.evidence)] == [time_of(2), time_of(3)]
    assert hanging_polls(ObservedGroup(_REBALANCE, description(_A)).evidence) == []


def test_a_member_below_the_target_at_all_polls_holds_on() -> None:
    def observe(*epochs: int) -> list[Member]:
        members = [_A._replace(epoch=epoch, target_epoch=6) for epoch in epochs]
        return holders_of([*ObservedGroup(*[description(each) for each in members]).evidence.polls])

    assert [each.member_id for each in observe(5, 5)] == ["a-id"]
    assert observe(5, 6) == []


def test_runs_of_the_only_member_that_read_everything_are_those_of_a_batch_job() -> None:
    group = ObservedGroup(description(_A), description(), description(_A), description())
    group.partition("orders", 0, committed=[10, 10, 120, 120], ends=line(100, 10, 4))
    assert are_batch_runs(group.all_unexplained())
    group.partition("orders", 0, committed=[10, 10, 20, 20], ends=line(100, 10, 4))
    assert not are_batch_runs(group.all_unexplained())

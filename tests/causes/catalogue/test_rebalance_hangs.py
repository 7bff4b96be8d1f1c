"""A rebalance that does not end."""

from typing import Any

from kafka_groups.causes.catalogue.rebalance_hangs import find
from kafka_groups.causes.finding import Certainty, Since
from kafka_groups.model import Assignment, GroupDescription, Member, TopicPartition
from tests.causes.observed_group import ObservedGroup, description, line, member, texts_of, time_of


def _new_group(*members: Member, **changes: Any) -> GroupDescription:
    known: dict[str, Any] = {
        "type": "Consumer",
        "group_epoch": 6,
        "target_assignment_epoch": 6,
        "state": "Reconciling",
        **changes,
    }
    return description(*members)._replace(**known)


def _member(name: str, partitions: list[int], target: list[int], epoch: int) -> Member:
    aim = (Assignment("orders", tuple(target)),)
    return member(name, {"orders": partitions}, epoch=epoch, target_epoch=6, target_assignment=aim)


_HOLDER = _member("old", [0, 1], [0], 5)
_WAITING = _member("new", [], [1], 6)


def _observe(*descriptions: GroupDescription) -> ObservedGroup:
    group = ObservedGroup(*descriptions)
    for number in (0, 1):
        group.partition("orders", number, committed=[10] * len(descriptions), ends=line(20, 10, len(descriptions)))
    return group


def test_a_member_that_holds_on_to_a_partition_is_named_with_its_host() -> None:
    before = _new_group(_member("old", [0, 1], [0, 1], 5), group_epoch=5, state="Stable")
    group = _observe(before, *[_new_group(_HOLDER, _WAITING)] * 5)
    (finding,) = find(group.all_unexplained())
    assert finding.certainty is Certainty.CERTAIN
    assert finding.since == Since(time_of(0), time_of(1))
    assert finding.explains == {TopicPartition("orders", 1)}
    assert finding.facts[0].host == "/old"
    assert finding.facts[0].epoch == 5
    assert "waits for old on old: orders-1" in finding.summary


def test_a_holder_whose_revocation_is_pending_owns_the_partition_no_more() -> None:
    pending = _member("old", [0], [0], 5)
    (finding,) = find(_observe(*[_new_group(pending, _WAITING)] * 6).all_unexplained())
    assert "old on old stays below epoch 6" in texts_of(finding)


def test_a_rebalance_of_fifteen_seconds_is_usual() -> None:
    before = _new_group(_member("old", [0, 1], [0, 1], 5), group_epoch=5, state="Stable")
    assert not [*find(_observe(*[before] * 2, *[_new_group(_HOLDER, _WAITING)] * 4).all_unexplained())]


def test_epochs_that_rise_are_a_storm_and_no_hanging_rebalance() -> None:
    polls = [_new_group(_HOLDER, _WAITING, group_epoch=6 + number) for number in range(6)]
    assert not [*find(_observe(*polls).all_unexplained())]


def test_members_at_the_target_epoch_hold_on_to_nothing() -> None:
    settled = _new_group(_member("old", [0], [0], 6), _member("new", [1], [1], 6))
    assert not [*find(_observe(*[settled] * 6).all_unexplained())]


def test_a_classic_group_that_prepares_a_rebalance_for_the_window_hangs() -> None:
    group = description(member("a"), member("b"), state="PreparingRebalance")
    (finding,) = find(_observe(*[group] * 6).all_unexplained())
    assert finding.certainty is Certainty.LIKELY
    assert "one of 2 members to join again" in finding.summary
    (finding,) = find(_observe(*[group] * 14).all_unexplained())
    assert finding.certainty is Certainty.STRONG


def test_a_classic_rebalance_with_members_that_come_and_go_does_not_hang() -> None:
    polls = [description(member("a", member_id=f"a{number}"), state="PreparingRebalance") for number in range(6)]
    assert not [*find(_observe(*polls).all_unexplained())]


def test_a_rebalance_that_was_stable_in_between_does_not_hang() -> None:
    rebalance = description(member("a"), state="PreparingRebalance")
    polls = [rebalance, rebalance, description(member("a", {"orders": [0, 1]})), rebalance, rebalance, rebalance]
    assert not [*find(_observe(*polls).all_unexplained())]

"""A group that rebalances again and again."""

from kafka_groups.causes.catalogue.rebalance_storm import find
from kafka_groups.causes.finding import Certainty
from kafka_groups.model import GroupDescription, Member
from tests.causes.observed_group import ObservedGroup, description, line, member

_STEADY = member("steady", {"orders": [0]})


def _observe(*descriptions: GroupDescription) -> ObservedGroup:
    group = ObservedGroup(*descriptions)
    count = len(descriptions)
    return group.partition("orders", 0, committed=line(20, 1, count), ends=line(50, 10, count))


def _with(*members: Member) -> GroupDescription:
    return description(_STEADY, *members)


def test_members_of_many_hosts_that_come_and_go_are_a_storm() -> None:
    (finding,) = find(_observe(*[_with(member(f"pod-{number}")) for number in range(6)]).all_unexplained())
    assert finding.certainty is Certainty.STRONG
    assert "pod-0 on pod-0, pod-1 on pod-1, pod-2 on pod-2 and 3 more came and went" in finding.summary


def test_a_member_that_comes_back_twice_is_a_storm() -> None:
    other = member("other", {"orders": [1]})
    polls = [_with(other), _with(), _with(other), _with(), _with(other), _with(other)]
    (finding,) = find(_observe(*polls).all_unexplained())
    assert "before 4 of 5 polls: other on other came and went" in finding.summary


def test_epochs_that_rise_with_the_same_members_are_a_storm() -> None:
    polls = [_with()._replace(group_epoch=10 + number) for number in range(6)]
    (finding,) = find(_observe(*polls).all_unexplained())
    assert "no member joined or left" in finding.summary
    assert [fact.epoch for fact in finding.facts] == [12, 13, 14, 15]


def test_states_that_alternate_with_the_same_members_are_a_storm() -> None:
    stable, rebalance = _with(), description(_STEADY, state="PreparingRebalance")
    group = _observe(stable, stable, rebalance, stable, rebalance, stable, rebalance)
    assert [*find(group.all_unexplained())]


def test_one_long_rebalance_is_no_storm() -> None:
    rebalance = description(_STEADY, state="PreparingRebalance")
    assert not [*find(_observe(_with(), _with(), *[rebalance] * 4).all_unexplained())]


def test_a_rolling_restart_is_no_storm() -> None:
    old = [member("pod", member_id=f"old-{number}", host=f"/old-{number}") for number in range(3)]
    new = [member("pod", member_id=f"new-{number}", host=f"/new-{number}") for number in range(3)]
    rolls = [old, [*old[1:], new[0]], old[1:] + new[:1], [old[2], *new[:2]], new, new]
    assert not [*find(_observe(*[_with(*members) for members in rolls]).all_unexplained())]


def test_a_scale_out_and_its_rising_epochs_are_no_storm() -> None:
    polls = [
        _with(*[member(f"pod-{pod}") for pod in range(number)])._replace(group_epoch=10 + number) for number in range(6)
    ]
    assert not [*find(_observe(*polls).all_unexplained())]


def test_two_epochs_that_rise_are_no_storm() -> None:
    epochs = (10, 10, 10, 11, 11, 12)
    polls = [_with()._replace(group_epoch=epoch) for epoch in epochs]
    assert not [*find(_observe(*polls).all_unexplained())]


def test_polls_without_known_members_show_no_storm() -> None:
    unknown = description(is_described=False)
    polls = [_with(), unknown, _with(), unknown, _with(), unknown, _with()]
    assert not [*find(_observe(*polls).all_unexplained())]

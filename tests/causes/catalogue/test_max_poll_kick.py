"""A member that leaves because its processing takes too long."""

from kafka_groups.causes.catalogue.max_poll_kick import find
from kafka_groups.causes.finding import Certainty
from kafka_groups.model import Member
from tests.causes.observed_group import ObservedGroup, description, line, member, texts_of


def _slow(number: int = 0) -> Member:
    return member("slow", {"orders": [0]}, member_id=f"slow-{number}")


def _observe(*polls: list[Member], committed: list[int] | None = None) -> ObservedGroup:
    group = ObservedGroup(*[description(*members) for members in polls])
    return group.partition("orders", 0, committed=committed or [20] * len(polls), ends=line(50, 10, len(polls)))


def test_a_client_that_leaves_twice_at_the_same_offsets_was_too_slow() -> None:
    group = _observe([_slow()], [_slow()], [], [_slow(1)], [_slow(1)], [], [_slow(2)])
    (finding,) = find(group.all_unexplained())
    assert finding.certainty is Certainty.LIKELY
    assert "slow on slow left 2 times" in finding.summary
    assert "orders-0" in finding.summary
    assert "max.poll.interval.ms" in texts_of(finding)


def test_a_member_id_that_comes_back_belongs_to_a_living_process() -> None:
    (finding,) = find(_observe([_slow()], [_slow()], [], [_slow()], [_slow()], [_slow()]).all_unexplained())
    assert finding.certainty is Certainty.LIKELY
    group = _observe([_slow()], [_slow()], [], [_slow()], [_slow()], [], [_slow()])
    (finding,) = find(group.all_unexplained())
    assert finding.certainty is Certainty.STRONG


def test_one_leave_and_one_new_member_id_are_a_restart() -> None:
    assert not [*find(_observe([_slow()], [_slow()], [], [_slow(1)], [_slow(1)], [_slow(1)]).all_unexplained())]


def test_a_client_that_commits_between_its_leaves_is_another_cause() -> None:
    committed = [20, 25, 25, 25, 30, 30, 30]
    group = _observe([_slow()], [_slow()], [], [_slow(1)], [_slow(1)], [], [_slow(2)], committed=committed)
    assert not [*find(group.all_unexplained())]


def test_a_new_member_beside_the_old_one_is_a_crash() -> None:
    group = _observe([_slow()], [_slow(), _slow(1)], [_slow(1)], [_slow(1), _slow(2)], [_slow(2)], [_slow(2)])
    assert not [*find(group.all_unexplained())]


def test_lives_of_one_poll_are_too_short_for_the_limit() -> None:
    group = _observe([_slow()], [], [_slow(1)], [], [_slow(2)], [], [_slow(3)])
    assert not [*find(group.all_unexplained())]


def test_a_client_that_left_nothing_unread_is_no_trouble() -> None:
    group = _observe([_slow()], [_slow()], [], [_slow(1)], [_slow(1)], [], [_slow(2)], committed=[200] * 7)
    assert not [*find(group.all_unexplained())]

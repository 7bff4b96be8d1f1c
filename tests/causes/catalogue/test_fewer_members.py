"""A group that reads less since members left."""

from kafka_groups.causes.catalogue.fewer_members import find
from kafka_groups.causes.finding import Certainty, Since
from kafka_groups.model import GroupDescription
from tests.causes.observed_group import ObservedGroup, description, line, member, time_of

_A = member("a", {"orders": [0]})
_B = member("b", {"orders": [1]})
_FALL = [*[description(_A, _B)] * 3, *[description(_A)] * 5]


def _observe(*descriptions: GroupDescription, committed: list[int]) -> ObservedGroup:
    count = len(descriptions)
    return ObservedGroup(*descriptions).partition("orders", 0, committed=committed, ends=line(100, 100, count))


def test_a_rate_that_fell_with_the_members_is_explained_by_them() -> None:
    group = _observe(*_FALL, committed=[100, 200, 300, 340, 390, 440, 490, 540])
    (finding,) = find(group.all_unexplained())
    assert finding.certainty is Certainty.STRONG
    assert finding.since == Since(time_of(2), time_of(3))
    assert finding.summary.startswith(
        "1 of 2 members are left, and the group reads 10.0 records a second in place of 20.0"
    )
    assert finding.facts[0].host == "/b"


def test_a_rate_that_fell_more_than_the_members_is_only_likely() -> None:
    (finding,) = find(_observe(*_FALL, committed=[100, 200, 300, 300, 301, 302, 303, 304]).all_unexplained())
    assert finding.certainty is Certainty.LIKELY


def test_a_scale_in_that_keeps_up_is_no_trouble() -> None:
    assert not [*find(_observe(*_FALL, committed=line(100, 100, 8)).all_unexplained())]


def test_a_group_that_was_as_slow_before_has_another_cause() -> None:
    assert not [*find(_observe(*_FALL, committed=line(20, 50, 8)).all_unexplained())]


def test_a_member_that_is_back_is_not_missing() -> None:
    polls = [*[description(_A, _B)] * 3, *[description(_A)] * 3, *[description(_A, _B)] * 2]
    assert not [*find(_observe(*polls, committed=[100, 200, 300, 340, 390, 440, 490, 540]).all_unexplained())]


def test_ten_seconds_of_a_restart_are_too_short() -> None:
    polls = [*[description(_A, _B)] * 6, *[description(_A)] * 2]
    assert not [*find(_observe(*polls, committed=[100, 200, 300, 400, 500, 600, 610, 620]).all_unexplained())]

"""Who joined a group and who left it between polls."""

from kafka_groups.causes.finding import Since
from kafka_groups.causes.membership import (
    comes_back,
    describe_members,
    has_committed,
    life_fact,
    lives_by_client,
    lives_of,
    overlap,
    topics_of_members,
)
from kafka_groups.model import Failure
from tests.causes.observed_group import ObservedGroup, description, line, member, time_of

_A = member("a", {"orders": [0]})
_B = member("b", {"orders": [1]})


def test_a_life_is_bounded_by_the_polls_around_it() -> None:
    evidence = ObservedGroup(description(_A), description(_A, _B), description(_A, _B), description(_A)).evidence
    b, a = lives_of(evidence.polls)
    assert (b.joined, b.left, b.is_short) == (Since(time_of(0), time_of(1)), Since(time_of(2), time_of(3)), True)
    assert (a.joined, a.left, a.is_short) == (None, None, False)
    assert life_fact(b).text.startswith("b on b was a member from ")


def test_a_member_that_comes_back_has_two_lives() -> None:
    lives = lives_of(ObservedGroup(description(_A), description(), description(_A)).evidence.polls)
    assert len(lives) == 2
    assert comes_back(lives)
    assert not overlap(lives)


def test_members_of_one_client_at_the_same_poll_overlap() -> None:
    other = _A._replace(member_id="other")
    lives = lives_of(ObservedGroup(description(_A), description(_A, other), description(other)).evidence.polls)
    assert overlap(lives_by_client(lives)["a", "/a"])


def test_a_life_keeps_the_assignment_that_a_rebalance_hides() -> None:
    rebalance = description(_A._replace(assignment=()), state="PreparingRebalance")
    (life,) = lives_of(ObservedGroup(description(_A), rebalance).evidence.polls)
    assert life.member.assignment == _A.assignment


def test_a_commit_counts_only_for_the_member_of_that_time() -> None:
    group = ObservedGroup(*[description(_A)] * 2, *[description()] * 4)
    group.partition("orders", 0, committed=[10, 10, 20, 30, 40, 50], ends=line(100, 10))
    (life,) = lives_of(group.evidence.polls)
    assert not has_committed(group.evidence, life)
    group.partition("orders", 0, committed=[10, 20, 20, 20, 20, 20], ends=line(100, 10))
    assert has_committed(group.evidence, life)


def test_topics_are_known_only_of_a_stable_group_with_readable_members() -> None:
    assert topics_of_members(description(_A, _B)) == frozenset({"orders"})
    assert topics_of_members(description(_A, state="PreparingRebalance")) is None
    assert topics_of_members(description(_A, member("c", assignment=None))) is None
    assert topics_of_members(description(_A, unnamed_topics={"id": Failure(None, "X", "")})) is None
    assert topics_of_members(description()) is None


def test_the_command_line_quotes_the_group() -> None:
    evidence = ObservedGroup(description(_A, group="my group")).evidence
    expected = "kafka-groups describe --group 'my group' --members --verbose --bootstrap-server b1:9092"
    assert describe_members(evidence) == expected

"""Commits that go backwards."""

from kafka_groups.causes.catalogue.rewind import find
from kafka_groups.causes.evidence import TopicPoll
from kafka_groups.causes.finding import Certainty, Since
from tests.causes.observed_group import ObservedGroup, description, member, texts_of, time_of

BACK = [900, 900, 900, 100, 100, 120]


def _group(*, members: str = "yyyyyy", epochs: list[int | None], committed: list[int] = BACK) -> ObservedGroup:
    owner = member("app", {"orders": [0]})
    group = ObservedGroup(*(description(owner) if each == "y" else description() for each in members))
    return group.partition("orders", 0, committed=committed, ends=[1000] * 6, leader_epoch=epochs)


def test_a_reset_without_members_and_epoch_is_an_administrator() -> None:
    (finding,) = find(_group(members="ynnnny", epochs=[3, 3, 3, None, None, 3]).all_unexplained())
    assert finding.certainty is Certainty.CERTAIN
    assert finding.summary == "An administrator reset the offsets of orders-0: 800 records are read again."
    assert finding.since == Since(time_of(2), time_of(3))


def test_a_lower_commit_of_a_member_is_likely_late_or_a_seek() -> None:
    (finding,) = find(_group(epochs=[3] * 6).all_unexplained())
    assert finding.certainty is Certainty.LIKELY
    assert "seek" in texts_of(finding)


def test_a_lower_commit_that_was_read_again_already_is_no_trouble() -> None:
    group = _group(epochs=[3] * 6, committed=[900, 900, 890, 950, 960, 970])
    assert not [*find(group.all_unexplained())]


def test_a_recreated_topic_is_no_rewind() -> None:
    group = _group(epochs=[3] * 6)
    group.with_evidence(topics={"orders": (TopicPoll(time_of(0), "a", 1), TopicPoll(time_of(5), "b", 1))})
    assert not [*find(group.all_unexplained())]


def test_unknown_commits_are_no_rewind() -> None:
    group = ObservedGroup(*[description()] * 3).partition("orders", 0, committed=[9, None, None], ends=[10] * 3)
    assert not [*find(group.all_unexplained())]


def test_a_commit_that_goes_on_is_no_rewind() -> None:
    assert not [*find(_group(epochs=[3] * 6, committed=[1, 2, 3, 4, 5, 6]).all_unexplained())]


def test_a_group_that_always_commits_without_epochs_leaves_open_who_reset() -> None:
    (finding,) = find(_group(members="nnnnnn", epochs=[None] * 6).all_unexplained())
    assert finding.certainty is Certainty.CERTAIN
    assert finding.summary.startswith("Somebody reset the offsets")


def test_unknown_members_may_have_committed_lower_offsets() -> None:
    group = _group(members="nnnnnn", epochs=[3, 3, 3, None, None, None])
    polls = tuple(poll._replace(group=poll.group._replace(is_described=False)) for poll in group.evidence.polls)
    (finding,) = find(group.with_evidence(polls=polls).all_unexplained())
    assert finding.certainty is Certainty.LIKELY

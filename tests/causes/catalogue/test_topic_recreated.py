"""A topic that was deleted and recreated."""

from collections.abc import Sequence

from kafka_groups.causes.catalogue.topic_recreated import find
from kafka_groups.causes.evidence import TopicPoll
from kafka_groups.causes.finding import Certainty, Since
from kafka_groups.model import TopicPartition
from tests.causes.observed_group import ObservedGroup, description, line, member, texts_of, time_of

KEY = TopicPartition("orders", 0)


def _group(ids: Sequence[str | None], *, committed: Sequence[int | None], ends: Sequence[int | None]) -> ObservedGroup:
    group = ObservedGroup(*[description(member("app", {"orders": [0]}))] * 6)
    polls = tuple(TopicPoll(time_of(number), each, 1) for number, each in enumerate(ids))
    return group.partition("orders", 0, committed=committed, ends=ends).with_evidence(topics={"orders": polls})


def test_another_topic_id_is_certain_and_bounds_the_time() -> None:
    group = _group(["a", "a", "b", "b", "b", "b"], committed=[500] * 6, ends=[500, 500, 1, 3, 5, 7])
    (finding,) = find(group.all_unexplained())
    assert finding.certainty is Certainty.CERTAIN
    assert finding.since == Since(time_of(1), time_of(2))
    assert finding.explains == {KEY}
    assert finding.next_command == "kafka-groups reset g --topic orders --to-earliest"
    assert "commit on orders-0 is 500, and its log ends at 7" in texts_of(finding)


def test_commits_above_the_log_end_are_likely_those_of_an_older_topic() -> None:
    group = _group([None] * 6, committed=[500] * 6, ends=[1, 3, 5, 7, 9, 11])
    (finding,) = find(group.all_unexplained())
    assert finding.certainty is Certainty.LIKELY
    assert finding.since is None


def test_a_commit_that_is_once_above_a_log_end_shows_nothing() -> None:
    group = _group(["a"] * 6, committed=line(100, 10), ends=[*line(100, 10, 5), 149])
    assert not [*find(group.all_unexplained())]


def test_a_log_start_above_the_commit_with_the_same_id_is_retention() -> None:
    group = _group(["a"] * 6, committed=[10] * 6, ends=line(100, 10))
    assert not [*find(group.all_unexplained())]


def test_a_topic_that_does_not_exist_was_not_recreated() -> None:
    group = _group(["a"] * 5, committed=[500] * 6, ends=[500] * 5 + [1])
    deleted = TopicPoll(time_of(5), None, 0, exists=False)
    topics = {"orders": (*group.evidence.topics["orders"], deleted)}
    assert not [*find(group.with_evidence(topics=topics).all_unexplained())]


def test_unknown_log_ends_and_commits_show_nothing() -> None:
    ids = [None, "a", "a", None, "a", "a"]
    without_commits = _group(ids, committed=[None] * 6, ends=line(0, 1))
    without_ends = _group(ids, committed=[500] * 6, ends=[None] * 6)
    assert not [*find(without_commits.all_unexplained())]
    assert not [*find(without_ends.all_unexplained())]

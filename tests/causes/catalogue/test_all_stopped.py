"""A group whose members are alive, and whose commits do not move."""

from kafka_groups.causes.catalogue.all_stopped import find
from kafka_groups.causes.finding import Certainty
from tests.causes.observed_group import ObservedGroup, description, line, member, texts_of


def _group(*, committed: list[int], waits_s: int = 180, polls: int = 6) -> ObservedGroup:
    owner = member("app", {"orders": [0, 1]})
    return (
        ObservedGroup(*[description(owner)] * polls)
        .partition("orders", 0, committed=committed, ends=line(2000, 10, polls))
        .log_times("orders", 0, (waits_s, 1100), (3600, 10))
        .partition("orders", 1, committed=[5] * polls, ends=[5] * polls)
    )


def test_members_whose_commits_do_not_move_for_minutes_have_stopped() -> None:
    (finding,) = find(_group(committed=[1000] * 6).all_unexplained())
    assert finding.certainty is Certainty.LIKELY
    assert "keeps its 1 member: they do not process, or their commits fail" in finding.summary
    assert "1,050 unread records" in finding.summary
    assert finding.lag == 1050


def test_a_pause_of_less_than_two_minutes_is_no_trouble() -> None:
    assert not [*find(_group(committed=[1000] * 6, waits_s=90).all_unexplained())]


def test_a_stop_after_regular_commits_is_strong() -> None:
    committed = [*line(1000, 10, 10), *[1090] * 30]
    (finding,) = find(_group(committed=committed, polls=40).all_unexplained())
    assert finding.certainty is Certainty.STRONG
    assert finding.since is not None
    assert finding.since.earliest_ms is not None


def test_a_commit_that_moves_once_refutes_it() -> None:
    assert not [*find(_group(committed=[900] * 3 + [1000] * 3).all_unexplained())]


def test_a_group_without_members_or_in_a_rebalance_has_not_stopped() -> None:
    for state in (description(), description(member("app"), state="PreparingRebalance")):
        group = ObservedGroup(*[state] * 6).partition("orders", 0, committed=[10] * 6, ends=line(200, 10))
        group.log_times("orders", 0, (600, 100))
        assert not [*find(group.all_unexplained())]


def test_new_members_have_not_stopped_yet() -> None:
    group = _group(committed=[1000] * 6)
    group.with_evidence(
        polls=(group.evidence.polls[0]._replace(group=description(member("old"))), *group.evidence.polls[1:])
    )
    assert not [*find(group.all_unexplained())]


def test_without_earlier_log_ends_nothing_is_known_of_the_wait() -> None:
    assert not [*find(_group(committed=[1000] * 6).with_evidence(log_times={}).all_unexplained())]


def test_both_readings_of_a_stop_are_in_its_sentences() -> None:
    (finding,) = find(_group(committed=[1000] * 6).all_unexplained())
    assert "a commit that fails" in texts_of(finding)


def test_partitions_that_no_member_owns_have_not_stopped() -> None:
    group = _group(committed=[2100] * 6)
    group.partition("old", 0, committed=[10] * 6, ends=[500] * 6).log_times("old", 0, (3600, 500))
    assert not [*find(group.all_unexplained())]

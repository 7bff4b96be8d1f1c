"""A lag that is younger than a commit interval."""

from collections.abc import Sequence

from kafka_groups.causes.catalogue.commit_interval import find
from kafka_groups.causes.finding import Certainty
from tests.causes.observed_group import ObservedGroup, description, line, member


def _group(committed: Sequence[int | None]) -> ObservedGroup:
    group = ObservedGroup(*[description(member("app", {"orders": [0]}))] * 6)
    return group.partition("orders", 0, committed=committed, ends=line(1000, 100))


def test_a_reader_that_commits_all_at_each_poll_has_no_old_lag() -> None:
    (finding,) = find(_group(line(950, 100)).all_unexplained())
    assert finding.certainty is Certainty.STRONG
    assert "50 unread records of orders-0 are younger than the time between two commits, 5 s" in finding.summary


def test_a_commit_after_a_longer_pause_is_likely_its_interval() -> None:
    (finding,) = find(_group([900] * 3 + [1290] * 3).all_unexplained())
    assert finding.certainty is Certainty.LIKELY


def test_commits_that_leave_old_records_are_not_explained() -> None:
    assert not [*find(_group(line(500, 100)).all_unexplained())]


def test_a_commit_that_does_not_move_is_not_explained() -> None:
    assert not [*find(_group([1000] * 6).all_unexplained())]


def test_unknown_commits_are_not_explained() -> None:
    assert not [*find(_group([None] * 6).all_unexplained())]

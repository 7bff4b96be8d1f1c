"""A share group without members."""

from kafka_groups.causes.catalogue.share_nobody_consumes import CAUSE, find
from kafka_groups.causes.finding import Certainty, Since
from tests.causes.observed_group import description, line, texts_of, time_of
from tests.causes.share_group import share_group


def test_a_share_group_without_members_names_who_left_and_when() -> None:
    group = share_group(starts=[10] * 6, ends=line(20, 5), lags=line(10, 5), members=(1, 1, 0, 0, 0, 0))
    (finding,) = find(group.all_unexplained())
    assert finding.certainty is Certainty.CERTAIN
    assert finding.since == Since(time_of(1), time_of(2))
    assert finding.lag == 35
    assert "app0 on app0 left before" in texts_of(finding)
    assert CAUSE.applies_to(group.evidence.kind)


def test_a_share_group_with_members_is_consumed() -> None:
    group = share_group(starts=[10] * 6, ends=line(20, 5), lags=line(10, 5))
    assert not [*find(group.all_unexplained())]


def test_an_empty_share_group_that_has_read_everything_is_no_trouble() -> None:
    group = share_group(starts=[20] * 6, ends=[20] * 6, lags=[0] * 6, members=(0,) * 6)
    assert not [*find(group.all_unexplained())]


def test_an_unknown_lag_of_an_empty_share_group_shows_nothing() -> None:
    group = share_group(starts=[10] * 6, ends=[20] * 6, lags=[None] * 6, members=(0,) * 6)
    assert not [*find(group.all_unexplained())]


def test_the_cause_does_not_apply_to_groups_with_commits() -> None:
    group = share_group(starts=[10] * 6, ends=[20] * 6, lags=[10] * 6)
    others = group.evidence._replace(polls=tuple(poll._replace(group=description()) for poll in group.evidence.polls))
    assert not CAUSE.applies_to(others.kind)

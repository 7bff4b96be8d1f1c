"""Share groups that deliver fewer records than are written."""

from kafka_groups.causes.catalogue.share_slow import find
from kafka_groups.causes.finding import Certainty, Since
from tests.causes.observed_group import START_MS, ObservedGroup, line, texts_of
from tests.causes.share_group import share_group


def _with_old_records(group: ObservedGroup) -> ObservedGroup:
    return group.log_times("orders", 0, (300, 50), (60, 900))


def test_fewer_final_deliveries_than_writes_of_old_records_are_strong() -> None:
    group = _with_old_records(share_group(starts=line(100, 50), ends=line(1000, 100), lags=line(880, 50)))
    (finding,) = find(group.all_unexplained())
    assert finding.certainty is Certainty.STRONG
    assert finding.since == Since(START_MS - 300_000, START_MS - 60_000)
    assert "10.0 records/s of orders-0, and 20.0 records/s are written: 2.0 times" in finding.summary
    assert "Add members" in texts_of(finding)


def test_a_group_that_acknowledges_nothing_is_likely() -> None:
    group = _with_old_records(share_group(starts=[100] * 6, ends=line(1000, 100), lags=line(900, 100)))
    (finding,) = find(group.all_unexplained())
    assert finding.certainty is Certainty.LIKELY
    assert "none is acknowledged" in finding.summary


def test_a_group_that_catches_up_is_not_slow() -> None:
    group = _with_old_records(share_group(starts=line(100, 150), ends=line(1000, 100), lags=line(900, -50)))
    assert not [*find(group.all_unexplained())]


def test_records_that_were_just_written_are_a_burst() -> None:
    group = share_group(starts=line(950, 50), ends=line(1000, 100), lags=line(50, 50))
    group.log_times("orders", 0, (300, 900), (60, 940))
    assert not [*find(group.all_unexplained())]


def test_without_members_or_writes_a_group_is_not_slow() -> None:
    empty = share_group(starts=line(100, 50), ends=line(1000, 100), lags=line(880, 50), members=(0,) * 6)
    quiet = share_group(starts=[100] * 6, ends=[1000] * 6, lags=[880] * 6)
    assert not [*find(_with_old_records(empty).all_unexplained())]
    assert not [*find(_with_old_records(quiet).all_unexplained())]


def test_unknown_lags_show_no_slow_group() -> None:
    group = share_group(starts=line(100, 50), ends=line(1000, 100), lags=[None] * 6)
    assert not [*find(_with_old_records(group).all_unexplained())]

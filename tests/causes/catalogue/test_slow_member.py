"""A member that is behind on all of its partitions, while others keep up."""

from kafka_groups.causes.catalogue.slow_member import find
from kafka_groups.causes.finding import Certainty
from kafka_groups.model import TopicPartition
from tests.causes.observed_group import ObservedGroup, description, line, member


def _group(slow: list[list[int]], fast: list[list[int]], *, hosts: tuple[str, ...] = ("a", "b", "c")) -> ObservedGroup:
    members = [
        member(host, {"orders": [2 * number, 2 * number + 1]}, member_id=f"{number}")
        for number, host in enumerate(hosts)
    ]
    group = ObservedGroup(*[description(*members)] * 6)
    for number, committed in enumerate([*slow, *fast]):
        group.partition("orders", number, committed=committed, ends=line(10_000, 100))
        group.log_times("orders", number, (60, 8800), (300, 4000))
    return group


SLOW = line(3000, 30)
FAST = line(9990, 100)


def test_a_member_behind_on_all_its_partitions_is_slow() -> None:
    (finding,) = find(_group([SLOW] * 2, [FAST] * 4).all_unexplained())
    assert finding.certainty is Certainty.STRONG
    assert finding.explains == {TopicPartition("orders", 0), TopicPartition("orders", 1)}
    assert finding.summary == (
        "a on a: 12 records/s read of the 40 records/s that are written to orders-0, orders-1. Others keep up, "
        "and the median of them reads 40 records/s."
    )
    assert finding.facts[0].host == "/a"


def test_a_member_that_reads_one_of_its_partitions_well_is_not_slow() -> None:
    assert not [*find(_group([SLOW, FAST], [FAST] * 4).all_unexplained())]


def test_a_group_that_is_slow_on_all_members_has_no_slow_one() -> None:
    assert not [*find(_group([SLOW] * 4, [SLOW] * 2).all_unexplained())]


def test_members_on_one_host_are_one_finding() -> None:
    hosts = ("a", "a", "b", "c", "d")
    (finding,) = find(_group([SLOW] * 4, [FAST] * 6, hosts=hosts).all_unexplained())
    assert len(finding.explains) == 4


def test_members_that_changed_while_polls_watched_are_not_judged() -> None:
    group = _group([SLOW] * 2, [FAST] * 4)
    before = group.evidence.polls[0]._replace(group=description(member("old")))
    assert not [*find(group.with_evidence(polls=(before, *group.evidence.polls[1:])).all_unexplained())]


def test_a_lag_that_grows_at_each_commit_shows_a_slow_member_without_earlier_log_ends() -> None:
    assert [*find(_group([SLOW] * 2, [FAST] * 4).with_evidence(log_times={}).all_unexplained())]


def test_a_member_that_reads_nothing_is_likely_slow_beside_ones_that_move() -> None:
    (finding,) = find(_group([[3000] * 6] * 2, [FAST] * 4).all_unexplained())
    assert finding.certainty is Certainty.LIKELY


def test_others_that_do_not_move_are_no_measure_of_a_slow_member() -> None:
    still = [[10_600] * 6] * 4
    assert not [*find(_group([[3000] * 6] * 2, still).all_unexplained())]

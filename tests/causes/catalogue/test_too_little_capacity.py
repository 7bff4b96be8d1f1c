"""A group that reads less than is written."""

from kafka_groups.causes.catalogue import catching_up
from kafka_groups.causes.catalogue.too_little_capacity import find
from kafka_groups.causes.finding import Certainty
from tests.causes.observed_group import ObservedGroup, description, line, member


def _group(*, reads: int, members: int = 2) -> ObservedGroup:
    owners = [member(f"m{n}", {"orders": range(n, 4, members)}) for n in range(members)]
    group = ObservedGroup(*[description(*owners)] * 6)
    for number in range(4):
        group.partition("orders", number, committed=line(5_000, reads), ends=line(10_000, 100))
        group.log_times("orders", number, (60, 8_800), (300, 4_000))
    return group


def test_a_group_that_reads_half_of_what_is_written_needs_twice_its_capacity() -> None:
    (finding,) = find(_group(reads=50).all_unexplained())
    assert finding.summary == (
        "The group reads 40 records/s of 80 records/s that are written to 4 partitions: "
        "it needs 2.0 times its capacity."
    )
    assert finding.certainty is Certainty.STRONG
    assert finding.next_step == "Add members: 4 partitions allow 2.0 times the 2 members of now."


def test_members_alone_may_not_suffice() -> None:
    (finding,) = find(_group(reads=20).all_unexplained())
    assert "not enough alone" in finding.next_step


def test_a_member_for_each_partition_leaves_no_gain_by_members() -> None:
    (finding,) = find(_group(reads=50, members=4).all_unexplained())
    assert "a member of its own" in finding.next_step


def test_a_group_behind_that_reads_as_much_as_is_written_is_not_slow() -> None:
    assert not [*find(_group(reads=100).all_unexplained())]


def test_a_group_that_reads_nothing_has_no_factor() -> None:
    assert not [*find(_group(reads=0).all_unexplained())]


def test_a_lag_that_grows_at_each_commit_needs_no_earlier_log_ends() -> None:
    assert [*find(_group(reads=50).with_evidence(log_times={}).all_unexplained())]


def _read_in_turn(shrinking_reads: int) -> ObservedGroup:
    """Return a group whose member reads one of four partitions while polls watch, which is not a minute behind yet."""
    group = ObservedGroup(*[description(member("app", {"orders": range(4)}))] * 6)
    group.partition("orders", 0, committed=line(9_500, shrinking_reads), ends=line(10_000, 100))
    group.log_times("orders", 0, (60, 8_800), (300, 4_000))
    for number in range(1, 4):
        group.partition("orders", number, committed=line(7_000, 1), ends=line(10_000, 100))
        group.log_times("orders", number, (60, 8_800), (300, 4_000))
    return group


def test_a_member_that_reads_its_partitions_in_turn_is_judged_by_all_of_them() -> None:
    group = _read_in_turn(180).all_unexplained()
    (finding,) = find(group)
    assert "to 4 partitions: it needs 2.2 times its capacity" in finding.summary
    assert not [*catching_up.find(group)]


def test_a_member_that_catches_up_on_the_sum_of_its_partitions_has_enough_capacity() -> None:
    assert not [*find(_read_in_turn(420).all_unexplained())]


def _two_partitions(waiting_s: int, *reads: int) -> ObservedGroup:
    """Return a group whose member reads one of two partitions faster; the record at the other's commit waits."""
    group = ObservedGroup(*[description(member("app", {"orders": range(2)}))] * 6)
    group.partition("orders", 0, committed=line(9_300, reads[0]), ends=line(10_000, 100))
    group.partition("orders", 1, committed=line(9_000, reads[1]), ends=line(10_000, 100))
    group.log_times("orders", 0, (60, 8_800), (300, 4_000))
    return group.log_times("orders", 1, (waiting_s, 9_200), (300, 4_000))


def test_a_member_behind_on_half_of_its_partitions_is_judged_by_all_of_them() -> None:
    (finding,) = find(_two_partitions(90, 120, 1).all_unexplained())
    assert "to 2 partitions: it needs 1.7 times its capacity" in finding.summary


def test_a_member_that_is_slower_but_no_minute_behind_may_have_a_burst() -> None:
    assert not [*find(_two_partitions(20, 100, 55).all_unexplained())]

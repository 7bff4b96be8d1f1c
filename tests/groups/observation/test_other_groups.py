"""Other groups: which ones are observed beside the selected ones."""

from __future__ import annotations

from kafka_groups.admin.api import TimePlan
from kafka_groups.causes.evidence import Need
from kafka_groups.groups.observation.other_groups import MOST_GROUPS, choose_others
from kafka_groups.model import TopicPartition
from tests.fakes.reactions import drops
from tests.fakes.scripted_cluster import Group, ScriptedCluster
from tests.groups.observation.observed_cluster import evidence_of, observed_cluster, observer_of, poll


def test_other_groups_have_their_coordinator_and_the_lag_of_each_poll() -> None:
    others = {other.group: other for other in evidence_of(observed_cluster(), "billing", polls=2).others}
    assert sorted(others) == ["checkout", "pay"]
    assert others["pay"].coordinator == 2
    assert [each.lag for each in others["pay"].partitions[TopicPartition("payments", 0)]] == [97, 97]


def test_selected_groups_are_compared_with_each_other() -> None:
    with observed_cluster() as cluster, cluster.admin() as admin:
        observer = observer_of(admin, "billing", "checkout")
        poll(observer, admin)
        evidence = observer.evidence()
    assert [sorted(other.group for other in evidence[name].others) for name in ("billing", "checkout")] == [
        ["checkout", "pay"],
        ["billing", "pay"],
    ]


def test_a_group_without_commits_is_not_compared() -> None:
    cluster = observed_cluster()
    cluster.groups["new"] = Group(coordinator=1)
    cluster.groups["sampler"] = Group(coordinator=1, type="Share", protocol_type="share")
    assert [other.group for other in evidence_of(cluster, "billing").others] == ["checkout", "pay"]


def test_half_of_a_sample_has_the_coordinator_of_the_selected_group() -> None:
    groups = {f"near-{number:03}": Group(coordinator=1) for number in range(400)}
    groups |= {f"far-{number:03}": Group(coordinator=2) for number in range(400)}
    groups["g"] = Group(coordinator=1)
    with ScriptedCluster(brokers=2, groups=groups) as cluster, cluster.admin() as admin:
        others = choose_others(admin, ["g"], TimePlan())
    chosen = [name.partition("-")[0] for name in others.coordinators]
    assert (chosen.count("near"), chosen.count("far"), others.total) == (MOST_GROUPS // 2, MOST_GROUPS // 2, 800)
    (note,) = others.notes()
    assert note.text == "200 of 800 other groups are compared, those of the same coordinators first."


def test_a_listing_that_fails_leaves_other_groups_unseen() -> None:
    cluster = observed_cluster()
    cluster.script("ListGroups", *[drops] * 20, brokers=[2])
    assert Need.OTHER_GROUPS in evidence_of(cluster, "billing").unseen

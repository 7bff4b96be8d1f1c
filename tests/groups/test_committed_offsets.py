"""Committed offsets of selected groups: the time that waiting for open transactions may take."""

from __future__ import annotations

from kafka_groups.admin.api import TimePlan
from kafka_groups.groups.committed_offsets import list_group_offsets, offset_steps
from kafka_groups.groups.selection import Selection
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster

_UNSTABLE = 88


def test_waiting_for_open_transactions_takes_most_of_the_time() -> None:
    groups = {
        "open": Group(commits={("t", 0): Commit(offset=1, error=_UNSTABLE)}),
        "closed": Group(commits={("t", 0): 1}),
    }
    with ScriptedCluster(brokers=1, groups=groups) as cluster, cluster.admin(timeout_s=1.2) as admin:
        selection = Selection(groups=("closed", "open"), named=frozenset(groups))
        started = cluster.clock()
        plan = TimePlan(admin.deadline(), offset_steps(has_topics=False, require_stable=True))
        listed = list_group_offsets(admin, selection, require_stable=True, plan=plan)
        assert 1.0 < cluster.clock() - started < 1.5
    assert [failure.name for failure in listed.failures] == ["UNSTABLE_OFFSET_COMMIT"]

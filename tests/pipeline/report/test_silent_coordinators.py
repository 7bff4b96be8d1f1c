"""Reports on samples of three brokers, one of which stops listing its groups: only its own groups are outdated."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kafka_groups.pipeline.facts.decode.partitioner import partition_for
from kafka_groups.pipeline.facts.sample import sample
from kafka_groups.pipeline.report.history import GroupHistory
from kafka_groups.pipeline.report.history_reader import read_history
from kafka_groups.pipeline.store import Storage
from tests.fakes.scripted_cluster import Group, ScriptedCluster
from tests.pipeline.build.builds import build_here

START_MS = 1_790_000_000_000
MINUTE_MS = 60_000
SAMPLES = 21
SILENT_SINCE = 5
# By the partition of `__consumer_offsets` that has its records: the leader of 0 always responds, that of 1 goes silent.
LEADERS = {0: 1, 1: 3}
HEARD = next(name for name in ("a", "b", "c", "d", "e") if partition_for(name, len(LEADERS)) == 0)
UNHEARD = next(name for name in ("v", "w", "x", "y", "z") if partition_for(name, len(LEADERS)) == 1)


def refuse(_request: object, response: dict[str, Any]) -> dict[str, Any]:
    """Return a response without groups, with an error."""
    return response | {"error_code": 31, "groups": []}


def report_on_samples(storage: Storage, topics: dict[str, dict[int, int]]) -> dict[str, GroupHistory]:
    """Take a sample each minute, and return the groups of the report by id. Broker 3 goes silent after five samples."""
    with ScriptedCluster(topics=topics) as cluster:
        for number in range(SAMPLES):
            cluster.ends["orders", 0] = 100 + 10 * number
            for name, coordinator in ((HEARD, LEADERS[0]), (UNHEARD, LEADERS[1])):
                commits = {("orders", 0): 90 + 10 * number}
                cluster.groups[name] = Group(coordinator=coordinator, commits=commits, state="Empty")
            if number >= SILENT_SINCE:
                cluster.script("ListGroups", refuse, brokers=[3])
            with cluster.admin() as admin:
                sample(admin, storage, now_ms=partial(int, START_MS + number * MINUTE_MS))
    build_here(storage)
    until_ms = START_MS + SAMPLES * MINUTE_MS
    return {group.group: group for group in read_history(storage, since_ms=START_MS, until_ms=until_ms).groups}


@pytest.mark.slow
@pytest.mark.parametrize("is_topic_described", [True, False])
def test_only_groups_of_the_silent_coordinator_are_outdated(storage: Storage, *, is_topic_described: bool) -> None:
    topics = {"orders": {0: 2}, **({"__consumer_offsets": LEADERS} if is_topic_described else {})}

    groups = report_on_samples(storage, topics)

    assert (groups[HEARD].lag, groups[HEARD].lag_quality) == (10, "exact")
    assert (groups[HEARD].consume_rate or 0) > 0
    assert groups[UNHEARD].lag_quality == "outdated"
    assert groups[UNHEARD].consume_rate is None

"""The lag of share groups, which their coordinators compute."""

from __future__ import annotations

import pytest

from kafka_groups.groups.lag.lag_row import LagKey, LagRow
from kafka_groups.groups.lag.measurement import measure_lag, summarize
from kafka_groups.groups.selection import Selectors
from tests.fakes.scripted_cluster import Group, ScriptedCluster

STARTS = {("t", 0): 40, ("t", 1): 90}


def lag_of(lags: dict[tuple[str, int], int], starts: dict[tuple[str, int], int] | None = None) -> LagRow:
    """Return the total of a share group on a topic of three partitions with the log ends 100."""
    groups = {"g": Group(type="Share", protocol_type="share", commits=starts or STARTS, lags=lags)}
    with (
        ScriptedCluster(brokers=1, groups=groups, topics={"t": {0: 1, 1: 1, 2: 1}}) as cluster,
        cluster.admin() as admin,
    ):
        (group,) = summarize(measure_lag(admin, Selectors(named=("g",)))).groups
        return group.total


def test_the_lag_is_not_the_distance_from_the_start_offset() -> None:
    total = lag_of({("t", 0): 3, ("t", 1): 0})
    assert (total.lag, total.partitions_behind, total.uncommitted_partitions, total.note) == (3, 1, 0, ())
    assert (total.retention_margin, total.retention_margin_percent) == (40, 40.0)


def test_an_unknown_lag_is_not_zero() -> None:
    total = lag_of({})
    assert (total.lag, total.note) == (None, ("incomplete",))


def test_an_unknown_start_offset_is_incomplete() -> None:
    total = lag_of({("t", 0): 3}, {("t", 0): 40, ("t", 1): -1})
    assert (total.lag, total.uncommitted_partitions, total.note) == (3, 1, ("incomplete",))


@pytest.mark.parametrize("by", [LagKey.TOPIC, LagKey.PARTITION])
def test_a_partition_that_is_not_initialized_is_no_part_of_the_group(by: LagKey) -> None:
    groups = {"g": Group(type="Share", protocol_type="share", commits=STARTS, lags={("t", 0): 3, ("t", 1): 0})}
    with (
        ScriptedCluster(brokers=1, groups=groups, topics={"t": {0: 1, 1: 1, 2: 1}}) as cluster,
        cluster.admin() as admin,
    ):
        (group,) = summarize(measure_lag(admin, Selectors(named=("g",))), by).groups
    assert {row.partition for row in group.rows} == ({0, 1} if by is LagKey.PARTITION else {None})
    assert sum(row.lag or 0 for row in group.rows) == 3

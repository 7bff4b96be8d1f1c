"""Builds of simulated clusters against the oracle and against what happened in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipeline.fact_rows import at, commit, ends
from tests.pipeline.oracle.comparison import build_tables, compare_clusters, compare_tables
from tests.pipeline.oracle.oracle_evidence import gather_evidence, order_records
from tests.pipeline.oracle.oracle_lag import lag_rows
from tests.pipeline.oracle.simulated_clusters import simulate_cluster
from tests.pipeline.oracle.simulated_logs import DataPartition, OffsetsPartition, Segment, coordinator_partition


@pytest.mark.parametrize("seed", [2, 3, 6])
def test_tables_of_a_simulated_cluster_are_those_that_docs_describe(seed: int) -> None:
    """Two clusters with one clock for all, and one with several that is built day after day."""
    assert compare_clusters(seed, 1) == []


def test_coordinators_with_different_clocks_have_their_true_history() -> None:
    """Around midnight they move from a broker whose clock is ahead, so that generations and commits change places."""
    assert compare_clusters(23, 1) == []


def test_a_recreated_topic_has_no_lag_across_its_logs() -> None:
    assert compare_clusters(22, 1) == []


def test_the_comparison_finds_a_row_that_was_changed(tmp_path: Path) -> None:
    cluster = simulate_cluster(2)
    tables = build_tables(tmp_path, cluster)
    place = len(tables["lag_history"]) // 2
    tables["lag_history"][place]["lag"] += 1
    tables["group_daily"][-1]["records_consumed"] += 1
    tables["rebalances"].pop()

    differences = compare_tables(cluster, tables)

    assert {difference.split()[0] for difference in differences} >= {"lag_history", "group_daily", "rebalances"}


def test_a_simulated_cluster_is_the_same_each_time() -> None:
    first, second = simulate_cluster(7), simulate_cluster(7)

    assert first.facts == second.facts
    assert [group.rebalances for group in first.groups] == [group.rebalances for group in second.groups]


def test_the_partition_of_a_group_is_that_of_java() -> None:
    """The hash codes of these names are 3556498 and -1106363674."""
    assert [coordinator_partition(name, 50) for name in ("test", "length")] == [48, 24]


def test_records_follow_the_log_and_not_their_times() -> None:
    rows = [commit(60, 1, source=1), commit(5, 2, source=2), commit(70, 3, source=3)]

    ordered = order_records(rows[::-1])

    assert [record.offset for record in ordered] == [1, 2, 3]
    assert [record.ordered_at for record in ordered] == [at(60), at(60), at(70)]


def test_a_row_of_the_oracle_is_the_one_computed_by_hand() -> None:
    facts = {
        "offset_commits": [commit(0, 10, source=1), commit(60, 40, source=2)],
        "partition_offsets": [ends(30, 20, start=5), ends(90, 50, start=5)],
    }

    first, second = lag_rows(gather_evidence(facts), ("g", "t", 0))

    assert (first.lag, first.retention_margin, first.consume_rate) == (10, 5, None)
    assert (second.lag, second.retention_margin, second.consume_rate, second.produce_rate) == (10, 35, 0.5, 0.5)


def test_compaction_keeps_the_newest_record_of_each_key() -> None:
    partition = OffsetsPartition(0, simulate_cluster(2).brokers[0])
    for key in ("a", "b", "a", "b"):
        partition.append(0, (key,), "group_events", {}, is_tombstone=key == "b")

    partition.compact(10, until=3, tombstone_age_ms=100)

    assert [record.offset for record in partition.read()] == [1, 2, 3]
    assert [*partition.gaps(partition.records, 0)] == [(0, 0)]


def test_the_time_of_a_record_is_that_of_the_log_that_has_it() -> None:
    """Ten records a second, of which those from 50 on were lost after ten seconds and written again."""
    log = DataPartition("t", 0, simulate_cluster(2).brokers[0], [Segment(0, 0, 10.0, "id")])
    log.truncate(10_000, 50)

    assert [log.end_at(ms) for ms in (10_000, 11_000)] == [50, 60]
    assert [log.produced_at(offset, 11_000) for offset in (0, 49, 50, 59, 60)] == [100, 5_000, 10_100, 11_000, None]

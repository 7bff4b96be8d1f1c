"""Comparison of a build with the oracle and with the truth of simulated clusters.

`compare_clusters` is what a proof calls: it returns a sentence for each difference, so an empty list is a success.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.pipeline.build.builds import build_here, read
from tests.pipeline.fact_rows import new_storage, put_all
from tests.pipeline.oracle.oracle_days import group_days, topic_days
from tests.pipeline.oracle.oracle_evidence import Evidence, ReaderKey, Row, gather_evidence
from tests.pipeline.oracle.oracle_groups import StatusRow, status_rows
from tests.pipeline.oracle.oracle_lag import LagRow, lag_rows, last_commit
from tests.pipeline.oracle.oracle_verdicts import compare_verdicts
from tests.pipeline.oracle.row_sums import Tables, compare_sums, compare_values
from tests.pipeline.oracle.simulated_clusters import simulate_cluster
from tests.pipeline.oracle.simulated_facts import SimulatedCluster
from tests.pipeline.oracle.true_members import compare_members, compare_rebalances
from tests.pipeline.oracle.true_offsets import compare_commits, compare_consumption, compare_time_lag

_TABLES: Final = ("lag_history", "group_status", "rebalances", "group_daily", "topic_daily")
_TIMES: Final = {"offset_commits": "commit_time", "group_events": "record_time", "partition_offsets": "observed_at"}


def compare_clusters(first_seed: int, count: int) -> list[str]:
    """Build the clusters of `count` seeds and return their differences, each a line that begins with its seed."""
    differences = []
    for seed in range(first_seed, first_seed + count):
        cluster = simulate_cluster(seed)
        with tempfile.TemporaryDirectory() as directory:
            tables = build_tables(Path(directory), cluster)
        differences += [f"seed {seed}: {difference}" for difference in compare_tables(cluster, tables)]
    return differences


def build_tables(directory: Path, cluster: SimulatedCluster) -> dict[str, list[Row]]:
    """Return the derived tables of a cluster. Every fourth one is built day after day, the others at once."""
    storage = new_storage(directory)
    if cluster.seed % 4 == 3:
        days = {row[_TIMES[name]].date() for name in _TIMES for row in cluster.facts.get(name, ())}
        for day in sorted(days):
            put_all(storage, f"of-{day}", {name: rows_of_day(rows, name, day) for name, rows in cluster.facts.items()})
            build_here(storage)
    else:
        put_all(storage, "all", cluster.facts)
        build_here(storage)
    return {name: read(storage, name) for name in _TABLES}


def rows_of_day(rows: Sequence[Row], table: str, day: Any) -> list[Row]:
    """Return the rows of a fact table that belong to a day."""
    time = {"sample_runs": "sampled_at", "ingest_gaps": "found_at"}.get(table) or _TIMES[table]
    return [row for row in rows if row[time].date() == day]


def compare_tables(cluster: SimulatedCluster, tables: Tables) -> list[str]:
    """Return the differences of one cluster.

    Where the clocks of brokers differ, the truth bounds what rows may have; where they agree, the oracle has the rows.
    """
    differences = [*compare_sums(tables), *compare_consumption(cluster, tables["group_daily"])]
    differences += compare_commits(cluster, tables["lag_history"])
    differences += compare_time_lag(cluster, tables["lag_history"])
    if cluster.is_fully_read:
        differences += compare_rebalances(cluster, tables["rebalances"])
        differences += compare_members(cluster, tables["group_status"])
    if not cluster.has_skew:
        differences += compare_rows(gather_evidence(cluster.facts), tables, is_lossy=cluster.is_lossy)
    return differences


def compare_rows(evidence: Evidence, tables: Tables, *, is_lossy: bool) -> list[str]:
    """Return the differences between the rows of the oracle and those of the build."""
    lags = {key: [*lag_rows(evidence, key)] for key in evidence.readers()}
    doubtful = {key for key in lags if is_doubtful(evidence, key)}
    certain = {key: rows for key, rows in lags.items() if key not in doubtful}
    statuses = [*status_rows(evidence, lags)]
    doubtful_groups = {key[0] for key in doubtful}
    return [
        *compare_lag(lags, tables["lag_history"]),
        *compare_verdicts(evidence, certain, tables["lag_history"]),
        *compare_status([row for row in statuses if row.group not in doubtful_groups], tables["group_status"]),
        *compare_days(evidence, statuses, tables, doubtful_groups, is_lossy=is_lossy),
    ]


def is_doubtful(evidence: Evidence, key: ReaderKey) -> bool:
    """Return whether a sample ever missed the commit of a reader without a record that says why."""
    commits = [last_commit(evidence, key, run["sampled_at"]) for run in evidence.runs]
    return any(commit is not None and commit.is_doubtful for commit in commits)


def compare_lag(lags: Mapping[ReaderKey, Sequence[LagRow]], rows: Sequence[Row]) -> Iterator[str]:
    """Yield the differences of lag_history; a row of a commit that a sample missed since may be absent."""
    expected = {(*key, row.end.at): row for key, own in lags.items() for row in own}
    built = {(row["group"], row["topic"], row["partition"], row["observed_at"]): row for row in rows}
    for key in sorted(expected.keys() | built.keys()):
        name = f"lag_history {key[0]} {key[1]}-{key[2]} at {key[3]:%d %H:%M:%S}"
        row, built_row = expected.get(key), built.get(key)
        if row is None:
            assert built_row is not None
            yield f"{name}: the build has a row with the commit {built_row['committed_offset']}, which is no evidence"
        elif built_row is None:
            if not row.commit.is_doubtful:
                yield f"{name}: the build has no row, and the commit is {row.commit.offset}"
        else:
            yield from compare_lag_row(name, row, built_row)


def compare_lag_row(name: str, row: LagRow, built: Row) -> Iterator[str]:
    """Yield the differences of one row."""
    expected = {
        "committed_offset": row.commit.offset,
        "log_end_offset": row.end.end,
        "lag": row.lag,
        "retention_margin": row.retention_margin,
        "consume_rate": row.consume_rate,
        "produce_rate": row.produce_rate,
    }
    if row.spans_two_logs:
        # It is not documented whether a rate of commits may span a recreation that no commit has followed yet.
        del expected["consume_rate"]
    yield from compare_values(name, expected, built)
    if built["commit_time"] not in row.commit.times or built["commit_origin"] not in row.commit.origins:
        source = f"commit_time {built['commit_time']} from {built['commit_origin']}"
        yield f"{name}: {source} is neither the record's nor the sample's"


def compare_status(statuses: Sequence[StatusRow], rows: Sequence[Row]) -> Iterator[str]:
    """Yield the differences of group_status: which rows there are, their partitions and their lag."""
    built = {(row["group"], row["evaluated_at"]): row for row in rows}
    for status in statuses:
        name = f"group_status {status.group} at {status.at:%d %H:%M:%S}"
        if (status.group, status.at) not in built:
            yield f"{name}: the build has no row"
        else:
            expected = {"partitions": status.partitions, "lag": status.lag}
            yield from compare_values(name, expected, built[status.group, status.at])


def compare_days(
    evidence: Evidence, statuses: Sequence[StatusRow], tables: Tables, doubtful: set[str], *, is_lossy: bool
) -> Iterator[str]:
    """Yield the differences of group_daily and topic_daily.

    Where records were compacted, it is not documented which samples stand for them in records_consumed and skew.
    """
    days = sorted({row["date"] for row in tables["group_daily"]})
    built = {(row["group"], row["date"]): row for row in tables["group_daily"]}
    uncertain = {"records_consumed", "skew"} if is_lossy else set()
    for (group, day), numbers in group_days(evidence, statuses, days).items():
        expected = {name: numbers[name] for name in numbers if name not in uncertain}
        row = built.get((group, day))
        if row is None:
            if expected["commits"]:
                yield f"group_daily {group} on {day}: the build has no row"
        elif group not in doubtful:
            yield from compare_values(f"group_daily {group} on {day}", expected, row)
    topics = {(row["topic"], row["date"]): row for row in tables["topic_daily"]}
    uncertain = {"groups_with_commits"} if doubtful else set()
    for (topic, day), numbers in topic_days(evidence, days).items():
        expected = {name: numbers[name] for name in numbers if name not in uncertain}
        if (topic, day) in topics:
            yield from compare_values(f"topic_daily {topic} on {day}", expected, topics[topic, day])

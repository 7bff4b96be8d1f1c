"""The verdicts of a build: what is no evidence, and that a group has the verdict of its worst partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from kafka_groups.pipeline.transform.engine import LocalEngine
from kafka_groups.pipeline.transform.run import transform
from kafka_groups.verdicts import Rules
from tests.pipeline.proof import rows_of
from tests.pipeline.fact_rows import Row, commit, ends, new_storage, put_all

TODAY = date(2026, 11, 20)


def statuses(directory: Path, facts: Mapping[str, Sequence[Row]]) -> list[dict[str, Any]]:
    storage = new_storage(directory)
    put_all(storage, "b", facts)
    transform(LocalEngine(), storage, [TODAY], rules=Rules(), lookback_days=7)
    return sorted(rows_of(storage, "group_status").values(), key=lambda row: (row["evaluated_at"], row["topic"] or ""))


def test_one_ingest_and_one_sample_are_no_evidence(tmp_path: Path) -> None:
    commits = [commit(60 * n - 600, 100 * n, source=n) for n in range(10)]
    found = statuses(tmp_path, {"offset_commits": commits, "partition_offsets": [ends(0, 5_000)]})
    assert {(row["topic"], row["verdict"], row["rule"]) for row in found} == {
        ("t", "UNKNOWN", "lag_unknown"),
        (None, "UNKNOWN", "lag_unknown"),
    }


def test_a_group_that_committed_once_long_ago_and_has_lag_has_stopped(tmp_path: Path) -> None:
    logs = [ends(60 * n, 1_000 + n) for n in range(16)]
    found = statuses(tmp_path, {"offset_commits": [commit(0, 10, source=1)], "partition_offsets": logs})
    rules = [row["rule"] for row in found if row["topic"] is None]
    assert rules == ["incomplete"] * 11 + ["stopped"] * 5


def test_a_group_has_the_verdict_of_its_worst_partition(tmp_path: Path) -> None:
    healthy = [commit(30 * n, 300 * n, source=n, partition=1) for n in range(60)]
    stalled = [commit(30 * n, 5, source=100 + n) for n in range(60)]
    logs = [ends(60 * n + 1, 600 * n + 20, partition=place) for n in range(30) for place in (0, 1)]
    found = statuses(tmp_path, {"offset_commits": healthy + stalled, "partition_offsets": logs})
    last = [row for row in found if row["evaluated_at"] == found[-1]["evaluated_at"]]
    assert {(row["partition"], row["verdict"]) for row in last} == {(None, "STALL"), (0, "STALL"), (1, "OK")}


def test_a_healthy_group_is_no_warning_and_one_that_reads_nine_of_ten_records_is(tmp_path: Path) -> None:
    def reader(group: str, share: float, place: int) -> list[Row]:
        own = {"group": group, "topic": "s"}
        return [commit(n, int(share * 100 * n), source=10_000 * place + n, **own) for n in range(1, 1_800)]

    logs = [ends(60 * n, 6_000 * n + 50, topic="s") for n in range(30)]
    facts = {"offset_commits": reader("healthy", 1.0, 1) + reader("slow", 0.9, 2), "partition_offsets": logs}
    found = [row for row in statuses(tmp_path, facts) if row["topic"] is None]
    assert {row["verdict"] for row in found if row["group"] == "healthy"} == {"UNKNOWN", "OK"}
    slow = [row["verdict"] for row in found if row["group"] == "slow"]
    assert set(slow[:7]) == {"UNKNOWN", "WARN"}
    assert set(slow[7:]) == {"WARN"}

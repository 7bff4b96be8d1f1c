"""The order of a report, what a sum of partitions may promise, and which groups a selection excludes."""

from __future__ import annotations

from typing import Any, Final

import pytest

from kafka_groups.pipeline.report.deletions import Deletion
from kafka_groups.pipeline.report.history import GroupHistory, History
from kafka_groups.pipeline.report.history_reader import read_history
from kafka_groups.pipeline.report.known_groups import KnownGroup
from kafka_groups.pipeline.report.last_rows import LastDay, LastStatus
from kafka_groups.pipeline.report.period import GroupKey
from kafka_groups.pipeline.report.summaries import severity_order, summarize
from tests.pipeline.build.builds import build_here
from tests.pipeline.fact_rows import NOON, commit, ends, new_storage, put_all

START: Final = int(NOON.timestamp() * 1_000)
DAY: Final = 86_400
RUNS: Final = range(0, 301, 60)


STATUS: Final = LastStatus(
    cluster_id="c",
    group="g",
    evaluated_ms=1,
    first_ms=1,
    has_unknown_time_lag=False,
    is_last=True,
    is_newest_of_cluster=True,
    rule=None,
    verdict_since_ms=None,
    lag=None,
    state=None,
    member_count=None,
    partitions=1,
    time_lag_ms=None,
    time_lag_quality="unknown",
    consume_rate=None,
    produce_rate=None,
    catch_up_ms=None,
)
DAY_ROW: Final = LastDay("c", "g", day_ms=0, last_commit_ms=0, partitions=1, is_idle=False, existing_partitions=1)


def summary(
    name: str, *, deleted_ms: int | None = None, is_idle: bool = False, unknown_partitions: int = 0, **status: Any
) -> GroupHistory:
    return summarize(
        KnownGroup(
            key=GroupKey("c", name),
            status=STATUS._replace(**status),
            day=DAY_ROW._replace(is_idle=is_idle),
            deletion=None if deleted_ms is None else Deletion(deleted_ms, is_bound=False),
            is_judged="rule" in status,
            unknown_partitions=unknown_partitions,
        )
    )


def test_the_worst_verdict_comes_first_however_small_its_lag() -> None:
    rules = ("stopped", "rewound", "stalled", "falling_behind", "incomplete", "keeping_up")
    judged = [summary(rule, rule=rule, lag=lag) for lag, rule in enumerate(rules, 1)]
    others = [summary("not judged"), summary("deleted", deleted_ms=2)]

    found = sorted([*reversed(others), *reversed(judged)], key=severity_order)

    assert [one.group for one in found] == [*rules, "not judged", "deleted"]


def test_unused_groups_come_after_all_others_but_deleted_ones() -> None:
    late, no_verdict = summary("late", rule="falling_behind", lag=3), summary("no verdict")
    unused = summary("unused", rule="stopped", lag=900, is_idle=True, state="Empty")
    busy = summary("busy", rule="keeping_up", lag=900, is_idle=True, state="Stable")
    deleted = summary("deleted", deleted_ms=2)
    found = sorted([deleted, unused, no_verdict, busy, late], key=severity_order)
    assert [one.group for one in found] == ["late", "busy", "no verdict", "unused", "deleted"]
    assert [one.is_unused for one in found] == [False, False, False, True, False]


def test_groups_of_one_verdict_are_ordered_by_lag() -> None:
    lags = [summary(str(lag), rule="stopped", lag=lag) for lag in (5, 70, 6)]

    assert [one.lag for one in sorted(lags, key=severity_order)] == [70, 6, 5]


@pytest.mark.parametrize(
    ("quality", "longest_ms", "unknown", "expected"),
    [
        ("interpolated", 5, 0, (5, "interpolated")),
        ("lower_bound", 5, 0, (5, "lower_bound")),
        ("unknown", 5, 0, (5, "lower_bound")),
        ("unknown", 0, 0, (None, "unknown")),
        ("unknown", None, 0, (None, "unknown")),
        ("data_loss", 5, 0, (5, "data_loss")),
        ("exact", 5, 1, (5, "lower_bound")),
        ("exact", 0, 1, (None, "unknown")),
        ("data_loss", 5, 1, (5, "data_loss")),
    ],
)
def test_an_unknown_time_lag_makes_that_of_the_group_a_lower_bound(
    quality: str, longest_ms: int | None, unknown: int, expected: tuple[int | None, str]
) -> None:
    one = summary(
        "g", rule="stopped", lag=1, time_lag_ms=longest_ms, time_lag_quality=quality, unknown_partitions=unknown
    )

    assert (one.time_lag_ms, one.time_lag_quality) == expected


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> History:
    """A report on three groups by id, without `also idle`."""
    storage = new_storage(tmp_path_factory.mktemp("order"))
    gap = {"cluster_id": "c", "first_offset": 0, "reason": "deleted", "found_at": NOON}
    put_all(
        storage,
        "b",
        {
            "offset_commits": [
                # 10 records a second of 5 that are written.
                *(commit(at, 10 * at, source=at, group="closes up") for at in RUNS),
                *(commit(at, 10 * at, source=1_000 + at, group="in part") for at in RUNS),
                *(commit(at, 3, source=2_000 + at, group="in part", partition=1) for at in RUNS),
                *(commit(-2 * DAY, 3, source=3_000, group=name, topic="u") for name in ("idle", "also idle")),
            ],
            "partition_offsets": [
                *(ends(at, 5_000 + 5 * at) for at in RUNS),
                *(ends(at, 50, partition=1) for at in RUNS),
            ],
            "ingest_gaps": [
                gap | {"source_partition": part, "last_offset": missing - 1, "missing": missing}
                for part, missing in ((1, 7), (2, 120), (3, 30))
            ],
        },
    )
    build_here(storage)
    names = ("closes up", "in part", "idle")
    return read_history(storage, since_ms=START, until_ms=START + RUNS[-1] * 1_000, groups=names)


def test_a_group_has_caught_up_only_when_all_of_its_partitions_have(reported: History) -> None:
    caught_up_ms = {group.group: group.catch_up_ms for group in reported.groups}

    # 5,000 + 1,500 - 3,000 records are left, and 5 a second are gained.
    assert (caught_up_ms["closes up"], caught_up_ms["in part"]) == (700_000, None)


def test_only_the_selected_groups_have_findings(reported: History) -> None:
    assert [(finding.kind, finding.group) for finding in reported.findings] == [("idle_group", "idle")]


def test_the_largest_gap_is_reported_first(reported: History) -> None:
    assert [sentence.partition(" of ")[0] for sentence in reported.gaps] == [
        "Partition 2",
        "Partition 3",
        "Partition 1",
    ]

"""In which order things are told, what a sum of partitions may promise, and whom a selection leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from kafka_groups.history import History
from kafka_groups.pipeline.reporting import report
from kafka_groups.pipeline.reporting.gone import Gone
from kafka_groups.pipeline.reporting.standing import Standing
from tests.pipeline.fact_rows import NOON, commit, ends, new_storage, put_all
from tests.pipeline.transform.builds import build_here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START: Final = int(NOON.timestamp() * 1_000)
DAY: Final = 86_400
ROUNDS: Final = range(0, 301, 60)


def test_the_worst_verdict_comes_first_however_small_its_lag() -> None:
    rules = ("rewound", "stalled", "stopped", "falling_behind", "incomplete", "keeping_up")
    judged = [Standing(key=("c", rule), evaluated_ms=1, rule=rule, lag=lag) for lag, rule in enumerate(rules, 1)]
    others = [
        Standing(key=("c", "not judged")),
        Standing(key=("c", "removed"), evaluated_ms=1, gone=Gone(at_ms=2, is_bound=False)),
    ]

    told = sorted([*reversed(others), *reversed(judged)], key=Standing.badness)

    assert [one.key[1] for one in told] == [*rules, "not judged", "removed"]


def test_of_one_verdict_the_largest_lag_comes_first() -> None:
    lags = [Standing(key=("c", str(lag)), evaluated_ms=1, rule="stopped", lag=lag) for lag in (5, 70, 6)]

    assert [one.lag for one in sorted(lags, key=Standing.badness)] == [70, 6, 5]


@pytest.mark.parametrize(
    ("qualities", "known_ms", "told"),
    [
        (["exact", "interpolated"], 5, (5, "interpolated")),
        (["exact", "lower_bound"], 5, (5, "lower_bound")),
        (["exact", "unknown"], 5, (5, "lower_bound")),
        (["exact", "unknown"], 0, (None, "unknown")),
        (["unknown"], None, (None, "unknown")),
        (["data_loss", "unknown"], 5, (5, "data_loss")),
    ],
)
def test_where_the_time_lag_of_a_partition_is_unknown_that_of_the_others_is_a_lower_bound(
    qualities: list[str], known_ms: int | None, told: tuple[int | None, str]
) -> None:
    one = Standing(key=("c", "g"), last={"time_lag_ms": known_ms, "qualities": qualities})

    assert one.time_lag() == told


@pytest.fixture(scope="module")
def told(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> History:
    """Of three groups that are named, and not of `also idle`."""
    storage = new_storage(tmp_path_factory.mktemp("order"))
    gap = {"cluster_id": "c", "from_offset": 0, "reason": "deleted", "found_at": NOON}
    put_all(
        storage,
        "b",
        {
            "offset_commits": [
                # 10 records a second of 5 that are written.
                *(commit(at, 10 * at, source=at, group="closes up") for at in ROUNDS),
                *(commit(at, 10 * at, source=1_000 + at, group="in part") for at in ROUNDS),
                *(commit(at, 3, source=2_000 + at, group="in part", partition=1) for at in ROUNDS),
                *(commit(-2 * DAY, 3, source=3_000, group=name, topic="u") for name in ("idle", "also idle")),
            ],
            "partition_offsets": [
                *(ends(at, 5_000 + 5 * at) for at in ROUNDS),
                *(ends(at, 50, partition=1) for at in ROUNDS),
            ],
            "ingest_gaps": [
                gap | {"source_partition": part, "until_offset": missing - 1, "missing": missing}
                for part, missing in ((1, 7), (2, 120), (3, 30))
            ],
        },
    )
    build_here(storage)
    names = ("closes up", "in part", "idle")
    return report(spark, storage, since_ms=START, until_ms=START + ROUNDS[-1] * 1_000, groups=names)


@pytest.mark.spark
def test_a_group_has_caught_up_only_when_all_of_its_partitions_have(told: History) -> None:
    caught_up_ms = {group.group: group.catch_up_ms for group in told.groups}

    # 5,000 + 1,500 - 3,000 records are left, and 5 a second are gained.
    assert (caught_up_ms["closes up"], caught_up_ms["in part"]) == (700_000, None)


@pytest.mark.spark
def test_there_are_findings_of_the_selected_groups_alone(told: History) -> None:
    assert [(finding.kind, finding.group) for finding in told.findings] == [("idle_group", "idle")]


@pytest.mark.spark
def test_the_largest_gap_is_told_first(told: History) -> None:
    assert [sentence.partition(" of ")[0] for sentence in told.gaps] == ["Partition 2", "Partition 3", "Partition 1"]

"""Hours in which nothing was sampled, rates of some partitions only, rebalances that began before the period."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pytest

from kafka_groups.pipeline.facts.decode.partitioner import partition_for
from kafka_groups.pipeline.report.history import GroupHistory, History
from kafka_groups.pipeline.report.history_reader import read_history
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import OFFSETS_TOPIC
from tests.pipeline.build.builds import build_here
from tests.pipeline.fact_rows import NOON, Row, commit, ends, event, new_storage, put_all

START: Final = int(NOON.timestamp() * 1_000)
MINUTE, HOUR = 60, 3_600
# Nobody samples in the three hours between.
BEFORE: Final = range(0, 31 * MINUTE, MINUTE)
AFTER: Final = range(4 * HOUR, 4 * HOUR + 21 * MINUTE, MINUTE)
END: Final = AFTER[-1]
FRESH_MS: Final = 600_000


def of(cluster: str, rows: Iterable[Row]) -> list[Row]:
    return [row | {"cluster_id": cluster} for row in rows]


def generation(seconds: float, number: int, *names: str) -> Row:
    """Return a generation of static members. Its rebalance may have begun at any time after the last one ended."""
    members = [{"member_id": name, "group_instance_id": name, "rebalance_timeout_ms": 60_000} for name in names]
    return event(seconds, "generation", "GroupMetadata", source=number, group="g", epoch=number, members=members)


def coordinators() -> Iterable[Row]:
    """Yield log ends of eight partitions; one of them has no leader from the sixth sample on."""
    away = partition_for("stale", 8)
    assert away != partition_for("heard", 8)
    for at in AFTER:
        for number in range(8):
            end = None if number == away and at >= AFTER[5] else 100
            yield ends(at, end, topic=OFFSETS_TOPIC, partition=number)


COMMITS: Final = [
    *of("gap", [commit(1, 0, source=1)]),
    # Partition 1 was rewound five minutes before the end.
    *of("rewound", (commit(at, 10 * at, source=1 + at) for at in AFTER)),
    *of("rewound", (commit(at, 10 * at, source=90_000 + at, partition=1) for at in AFTER if at < END - 5 * MINUTE)),
    *of("rewound", [commit(END - 5 * MINUTE, 5, source=200_000, partition=1)]),
    *of("static", [commit(1, 5, source=1)]),
    # Partition 1 is a million behind, and has no leader in the last quarter of an hour.
    # The coordinator of the one does not respond in the last quarter of an hour, that of the other always.
    *of("away", (commit(at, at, group="heard") for at in AFTER)),
    *of("away", (commit(at, at, group="stale") for at in AFTER[:5])),
    *of("read", (commit(at, at, source=1 + at, group="stale") for at in AFTER)),
    *of("silent", (commit(at, at, source=1 + at) for at in AFTER)),
    *of("silent", (commit(at, 10, source=90_000 + at, partition=1) for at in AFTER)),
    *of("silent", [commit(AFTER[0], 10, source=200_000, topic="dropped")]),
]
ENDS: Final = [
    *of("gap", (ends(at, 0) for at in BEFORE)),
    *of("gap", (ends(at, 100) for at in AFTER)),
    *of("rewound", (ends(at, 10 * at + 50, partition=partition) for at in AFTER for partition in (0, 1))),
    *of("static", (ends(at, 9) for at in (*BEFORE, *AFTER))),
    *(row for cluster in ("away", "read") for row in of(cluster, (ends(at, at) for at in AFTER))),
    *(row for cluster in ("away", "read") for row in of(cluster, coordinators())),
    *of("silent", (ends(at, at) for at in AFTER)),
    *of("silent", (ends(at, 1_000_000 if at < AFTER[5] else None, partition=1) for at in AFTER)),
]
EVENTS: Final = of(
    "static", [generation(5, 1, "a"), generation(20 * MINUTE, 2, "a", "b"), generation(END - 60, 3, "a", "b", "c")]
)


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Storage:
    made = new_storage(tmp_path_factory.mktemp("tables"))
    put_all(made, "b", {"offset_commits": COMMITS, "partition_offsets": ENDS, "group_events": EVENTS})
    build_here(made)
    return made


@pytest.fixture(scope="module")
def reported(storage: Storage) -> History:
    return read_history(storage, since_ms=START - HOUR * 1_000, until_ms=START + END * 1_000)


def group_of(reported: History, cluster: str) -> GroupHistory:
    (found,) = (group for group in reported.groups if group.cluster_id == cluster)
    return found


def test_a_point_without_a_lag_is_added_in_a_data_gap(
    reported: History,
) -> None:
    points = group_of(reported, "gap").points
    unknown = [index for index, point in enumerate(points) if point.lag is None]
    assert len(unknown) == 1
    last, gap, first = points[unknown[0] - 1 : unknown[0] + 2]
    assert (last.at_ms, gap.at_ms) == (START + BEFORE[-1] * 1_000, last.at_ms + FRESH_MS)
    assert (first.at_ms, first.lag, gap.time_lag_ms) == (START + AFTER[0] * 1_000, 100, None)


def test_the_start_of_a_lag_after_a_data_gap_is_a_bound(reported: History) -> None:
    group = group_of(reported, "gap")
    assert (group.lagging_since_ms, group.lagging_since_is_bound) == (START + AFTER[0] * 1_000, True)


def test_a_rate_that_is_not_known_of_a_partition_is_not_known_of_its_group(reported: History) -> None:
    group = group_of(reported, "rewound")
    assert group.consume_rate is None
    assert group.produce_rate == pytest.approx(20)


def test_a_rebalance_that_ended_in_the_period_may_have_begun_before_it(storage: Storage, reported: History) -> None:
    assert [turn.generation for turn in group_of(reported, "static").rebalances or ()] == [1, 2, 3]
    late = read_history(storage, since_ms=START + (END - 5 * MINUTE) * 1_000, until_ms=START + END * 1_000)
    (turn,) = group_of(late, "static").rebalances or ()
    assert (turn.generation, turn.started_ms) == (3, START + 20 * MINUTE * 1_000)
    assert turn.started_ms < late.from_ms < (turn.ended_ms or 0)


def test_partitions_that_lag_does_not_include_are_reported(reported: History) -> None:
    """The group also committed on a topic that no sample has."""
    group = group_of(reported, "silent")
    assert (group.lag, group.lag_quality, group.verdict) == (0, "lower_bound", "OK")
    assert (group.consume_rate, group.produce_rate, group.catch_up_ms) == (None, None, None)
    assert (group.time_lag_ms, group.time_lag_quality) == (None, "unknown")
    assert [sentence for sentence in reported.missing if "do not include" in sentence] == [
        (
            "Cluster silent: 1 group has partitions without a known log end offset for ten minutes, which lag and "
            "verdict do not include: g (2 of 3)."
        )
    ]


def test_the_lag_of_partitions_counts_until_their_broker_is_silent(storage: Storage) -> None:
    until = START + (AFTER[5] + 2 * MINUTE) * 1_000
    reported = read_history(storage, since_ms=START, until_ms=until)
    group = group_of(reported, "silent")
    assert ((group.lag or 0) > 900_000, group.lag_quality) == (True, "exact")
    assert [sentence for sentence in reported.missing if "do not include" in sentence] == []


def test_groups_of_a_silent_coordinator_are_outdated_without_ingest(reported: History) -> None:
    """Their last sampled commits stay the same while log ends rise."""
    (stale,) = (group for group in reported.groups if (group.cluster_id, group.group) == ("away", "stale"))
    assert ((stale.lag or 0) > 0, stale.lag_quality) == (True, "outdated")
    assert (stale.time_lag_ms, stale.time_lag_quality, stale.consume_rate) == (None, "unknown", None)
    others = [group for group in reported.groups if group.cluster_id in {"away", "read"} and group != stale]
    assert [(group.group, group.lag_quality) for group in others] == [("heard", "exact"), ("stale", "exact")]
    assert [sentence for sentence in reported.missing if "coordinator" in sentence] == [
        (
            "Cluster away: the coordinator of 1 group did not respond to samples for ten minutes, so lag and verdict "
            "are derived from older commits: stale."
        )
    ]

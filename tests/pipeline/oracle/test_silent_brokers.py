"""Hand-made histories in which the sampler cannot reach one broker of several, or nothing is left to read."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from kafka_groups.pipeline.facts.source.position import Position
from kafka_groups.pipeline.facts.source.table_positions import commit_batch, read_position
from kafka_groups.pipeline.report.history import GroupHistory, History
from kafka_groups.pipeline.report.history_reader import read_history
from kafka_groups.pipeline.tables import OFFSETS_TOPIC
from tests.pipeline.build.builds import build_here
from tests.pipeline.fact_rows import NOON, Row, at, commit, ends, event, new_storage, put_all
from tests.pipeline.oracle.simulated_logs import coordinator_partition

MINUTE: Final = 60
START_MS: Final = int(NOON.timestamp() * 1_000)
SAMPLES: Final = range(0, 40 * MINUTE, MINUTE)
# From this sample on the sampler cannot reach the broker.
SILENT_FROM: Final = 20 * MINUTE
COORDINATORS: Final = 8
HEARD, UNHEARD = "heard", "stale"


def test_the_two_groups_have_different_coordinators() -> None:
    assert coordinator_partition(HEARD, COORDINATORS) != coordinator_partition(UNHEARD, COORDINATORS)


def log_end(seconds: int, end: int | None, **others: Any) -> Row:
    """Return a sampled log end; if it is None, the log start is unknown, too."""
    return ends(seconds + 0.1, end, start=None if end is None else 0, **others)


def coordinators(seconds: int, *, hides_all: bool) -> list[Row]:
    """Return log ends of `__consumer_offsets`: unknown if the leader is silent, or with `hides_all` for all of them."""
    silent = coordinator_partition(UNHEARD, COORDINATORS)
    is_silent = seconds >= SILENT_FROM
    return [
        log_end(
            seconds,
            None if is_silent and (hides_all or number == silent) else 1_000,
            topic=OFFSETS_TOPIC,
            partition=number,
        )
        for number in range(COORDINATORS)
    ]


def facts_of(*, hides_all: bool, moves: bool = True) -> dict[str, list[Row]]:
    """Return samples of two groups on two partitions, of which the silent broker leads partition 1.

    The coordinator of `heard` responds to every sample, that of `stale` does not respond from SILENT_FROM on.
    """
    facts: dict[str, list[Row]] = {"offset_commits": [], "partition_offsets": [], "group_events": [], "sample_runs": []}
    for seconds in SAMPLES:
        responding = [HEARD] if seconds >= SILENT_FROM else [HEARD, UNHEARD]
        for group in responding:
            offset = 10 * seconds if moves else 7
            facts["offset_commits"] += [commit(seconds, offset, group=group, partition=part) for part in (0, 1)]
            listing = event(seconds, "state_seen", "Snapshot", source=0, group=group, origin="sample")
            facts["group_events"].append(listing | {"source_partition": None, "source_offset": None, "state": "Stable"})
        end = 10 * seconds + 50
        facts["partition_offsets"] += [
            log_end(seconds, end),
            log_end(seconds, None if seconds >= SILENT_FROM else end, partition=1),
            *coordinators(seconds, hides_all=hides_all),
        ]
        run = {"cluster_id": "c", "sample": f"s{seconds}", "groups_at": at(seconds), "commits_at": at(seconds)}
        counts = {"groups": len(responding), "commits": 2 * len(responding), "partitions": 2 + COORDINATORS}
        failures = 0 if seconds < SILENT_FROM else 3
        facts["sample_runs"].append(run | counts | {"sampled_at": at(seconds + 0.1), "failures": failures})
    return facts


def reported(directory: Path, facts: dict[str, list[Row]]) -> History:
    storage = new_storage(directory)
    put_all(storage, "b", facts)
    build_here(storage)
    return read_history(storage, since_ms=START_MS, until_ms=START_MS + (SAMPLES[-1] + MINUTE) * 1_000)


def group_of(history: History, name: str) -> GroupHistory:
    (group,) = [group for group in history.groups if group.group == name]
    return group


def test_a_group_whose_coordinator_does_not_respond_is_outdated(tmp_path: Path) -> None:
    group = group_of(reported(tmp_path, facts_of(hides_all=False)), UNHEARD)

    assert group.lag_quality == "outdated"


@pytest.mark.parametrize("moves", [True, False], ids=["that moves", "that stands still"])
def test_a_group_whose_coordinator_responds_is_not_outdated(tmp_path: Path, moves: bool) -> None:
    """Of its two partitions one has no log end, so that its lag is a lower bound."""
    group = group_of(reported(tmp_path, facts_of(hides_all=False, moves=moves)), HEARD)

    assert group.lag_quality == "lower_bound"


@pytest.mark.parametrize("moves", [True, False], ids=["that moves", "that stands still"])
def test_one_silent_broker_makes_no_other_coordinator_silent(tmp_path: Path, moves: bool) -> None:
    """In such a sample all log ends of `__consumer_offsets` are null, but the group's commits are in it."""
    group = group_of(reported(tmp_path, facts_of(hides_all=True, moves=moves)), HEARD)

    assert group.lag_quality == "lower_bound"


def test_the_time_lag_of_a_partition_with_a_log_end_is_known(tmp_path: Path) -> None:
    """Partition 0 was read until five seconds before each sample; partition 1 is not known."""
    group = group_of(reported(tmp_path, facts_of(hides_all=False)), HEARD)

    assert (group.lag, group.time_lag_ms) == (50, 5_000)


def quiet_cluster(log_end_of_coordinator: int) -> dict[str, list[Row]]:
    """Return two commits, ingested at noon, and samples that saw them for 40 minutes on one broker."""
    own = coordinator_partition(HEARD, COORDINATORS)
    commits = [
        commit(0, 7, source=partition, group=HEARD, partition=partition) | {"source_partition": own}
        for partition in (0, 1)
    ]
    facts: dict[str, list[Row]] = {"offset_commits": commits, "partition_offsets": []}
    for seconds in SAMPLES:
        facts["offset_commits"] += [commit(seconds + 1, 7, group=HEARD, partition=partition) for partition in (0, 1)]
        facts["partition_offsets"] += [
            *(ends(seconds + 2, 100, partition=partition) for partition in (0, 1)),
            *(
                ends(seconds + 2, log_end_of_coordinator if number == own else 0, topic=OFFSETS_TOPIC, partition=number)
                for number in range(COORDINATORS)
            ),
        ]
    return facts


def missing_of(directory: Path, facts: dict[str, list[Row]]) -> list[str]:
    """Return the sentences of a build and a report on commits that wait for an ingest, which ended after record 1."""
    storage = new_storage(directory)
    put_all(storage, "b", facts)
    ends_read = dict.fromkeys(range(COORDINATORS), 0) | {coordinator_partition(HEARD, COORDINATORS): 2}
    commit_batch(storage, [], "c", read_position(storage, "c", None, list(ends_read)), Position(None, ends_read))
    sentences = [*build_here(storage).missing]
    sentences += read_history(storage, since_ms=START_MS, until_ms=START_MS + (SAMPLES[-1] + MINUTE) * 1_000).missing
    return [sentence for sentence in sentences if "until ingest" in sentence]


def test_a_cluster_with_records_that_were_not_ingested_has_missing_commits(tmp_path: Path) -> None:
    assert missing_of(tmp_path, quiet_cluster(9)) != []


def test_a_quiet_cluster_that_was_ingested_has_no_missing_commits(tmp_path: Path) -> None:
    """Each sample's log end of `__consumer_offsets` is the offset after the last record that was ingested."""
    assert missing_of(tmp_path, quiet_cluster(2)) == []

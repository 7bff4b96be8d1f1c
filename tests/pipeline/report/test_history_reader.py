"""What a report says of a period, from tables that were built for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_groups.pipeline.report.history import History
from kafka_groups.pipeline.report.history_reader import read_history
from kafka_groups.pipeline.report.limits import GroupLimit
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import OFFSET_COMMITS
from tests.pipeline.build.builds import build_here
from tests.pipeline.fact_rows import NOON, commit, ends, event, new_storage, put_all

START = int(NOON.timestamp() * 1_000)
HOUR = 3_600_000
STEP = 300


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Storage:
    made = new_storage(tmp_path_factory.mktemp("tables"))
    put_all(
        made,
        "b",
        {
            "offset_commits": [
                *(commit(STEP * step, 100 * step, source=step, group="fine") for step in range(1, 9)),
                *(commit(STEP * step, 50 * step, source=20 + step, group="slow") for step in range(1, 9)),
                commit(STEP * 8 - 1, 3, source=40, group="single"),
            ],
            "partition_offsets": [
                # None as low as 3: the group with a single commit was never seen to have caught up.
                *(ends(STEP * step, 100 * step) for step in range(1, 9)),
                *(ends(STEP * step, step, topic="unread") for step in range(9)),
                *(ends(STEP * step, step, topic="__of_kafka") for step in range(9)),
            ],
            "group_events": [
                event(40, "generation", "GroupMetadata", source=60, group="slow", epoch=1, members=[{"member_id": "a"}])
            ],
            "ingest_gaps": [
                {"cluster_id": "c", "source_partition": 3, "first_offset": 0, "last_offset": 119, "missing": 120}
                | {"reason": "deleted", "found_at": NOON},
                *(
                    {"cluster_id": "c", "source_partition": place, "first_offset": 7, "last_offset": 1_006}
                    | {"missing": 1_000, "reason": "compacted", "found_at": NOON}
                    for place in (1, 1, 2)
                ),
            ],
        },
    )
    build_here(made)
    return made


@pytest.fixture(scope="module")
def reported(storage: Storage) -> History:
    return read_history(storage, since_ms=START, until_ms=START + HOUR, now_ms=5)


def test_the_worst_group_comes_first(reported: History) -> None:
    assert [(group.group, group.verdict, group.rule) for group in reported.groups] == [
        ("slow", "WARN", "falling_behind"),
        ("single", "UNKNOWN", "incomplete"),
        ("fine", "OK", "no_lag"),
    ]
    assert (reported.groups_in_all, reported.clusters, reported.made_ms) == (3, ("c",), 5)


def test_a_group_has_its_points_its_rebalances_and_since_when_it_lags(reported: History) -> None:
    slow = reported.groups[0]

    assert [point.lag for point in slow.points] == [50, 100, 150, 200, 250, 300, 350, 400]
    assert slow.points[0].at_ms == slow.lagging_since_ms == START + STEP * 1_000
    assert slow.lagging_since_is_bound
    assert (slow.lag, slow.state, slow.member_count, slow.catch_up_ms) == (400, "Stable", 1, None)
    assert [(rebalance.generation, rebalance.joined) for rebalance in slow.rebalances or ()] == [(1, 1)]
    assert slow.time_lag_quality == "interpolated"
    assert abs((slow.time_lag_ms or 0) - 4 * STEP * 1_000) <= 1_000


def test_findings_and_data_gaps_are_reported_in_sentences(reported: History) -> None:
    assert [(finding.kind, finding.topic) for finding in reported.findings] == [("unread_topic", "unread")]
    assert reported.gaps == (
        "Partition 3 of __consumer_offsets: 120 offsets from 0 to 119 were deleted before they were read.",
        (
            "2,000 offsets of __consumer_offsets had no record when they were read: compaction had removed it, or "
            "it was a transaction marker or part of an aborted transaction."
        ),
    )
    assert reported.missing == (
        "Nothing was sampled since 2026-11-20T12:40Z, or build has not run since: lag and verdicts are from that time.",
        (
            "The time lag of 1 group is unknown for a part of the period, because no log end offset is known from "
            "before their commits: slow."
        ),
    )


def test_only_the_selected_groups_are_reported(storage: Storage) -> None:
    limit = GroupLimit(1)
    chosen = read_history(storage, since_ms=START, until_ms=START + HOUR, match="s.*", groups=["fine"], shown=limit)

    assert [group.group for group in chosen.groups] == ["slow"]
    assert chosen.groups_in_all == 3


def test_groups_that_are_not_drawn_have_no_points(storage: Storage) -> None:
    reported = read_history(storage, since_ms=START, until_ms=START + HOUR, drawn=GroupLimit(1))

    assert [bool(group.points) for group in reported.groups] == [True, *[False] * (len(reported.groups) - 1)]
    assert any(group.lagging_since_ms is not None for group in reported.groups[1:])


def test_named_groups_are_shown_beyond_the_limit(storage: Storage) -> None:
    limit = GroupLimit(1, frozenset({"fine", "slow"}))
    reported = read_history(storage, since_ms=START, until_ms=START + HOUR, match=".*", shown=limit)

    assert [group.group for group in reported.groups] == ["slow", "single", "fine"]


def test_a_period_without_rows_has_a_sentence_on_the_next_step(storage: Storage) -> None:
    empty = read_history(storage, since_ms=0, until_ms=HOUR)

    assert (empty.groups, empty.findings, len(empty.missing)) == ((), (), 1)


def test_samples_after_commits_that_were_read_do_not_hide_them(tmp_path: Path) -> None:
    made = new_storage(tmp_path)
    put_all(made, "read", {"offset_commits": [commit(30, 10, source=1)]})
    sampled = [commit(60 * step, 10) for step in range(1, 4)]
    put_all(made, "sampled", {"offset_commits": sampled, "partition_offsets": [ends(60, 20), ends(120, 20)]})
    build_here(made)

    def reported() -> str:
        return " ".join(read_history(made, since_ms=START, until_ms=START + HOUR).missing)

    assert "No commits were read" not in reported()
    (read,) = [file for file in made.files(OFFSET_COMMITS) if file.batch == "read"]
    made.swap(OFFSET_COMMITS, [read], [], keeps_rows=True)
    assert "No commits were read from __consumer_offsets: verdicts are derived from samples" in reported()

"""Groups that were deleted, or whose commits were: a cluster for each way to learn of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pytest

from kafka_groups.pipeline.report.history import GroupHistory, History
from kafka_groups.pipeline.report.history_reader import read_history
from kafka_groups.pipeline.store import Storage
from tests.pipeline.build.builds import build_here
from tests.pipeline.fact_rows import NOON, Row, commit, ends, event, new_storage, put_all

START: Final = int(NOON.timestamp() * 1_000)
MINUTE: Final = 60
RUNS: Final = range(0, 60 * MINUTE, MINUTE)
END: Final = START + RUNS[-1] * 1_000
CLASSIC: Final = "GroupMetadata"


def of(cluster: str, rows: Iterable[Row]) -> list[Row]:
    return [row | {"cluster_id": cluster} for row in rows]


def listed(seconds: float, group: str) -> Row:
    """Return a row of a sample that lists the group."""
    row = event(seconds, "state_seen", "Snapshot", source=0, group=group, state="Stable", members=[{"member_id": "m"}])
    return row | {"origin": "sample", "source_partition": None, "source_offset": None}


def other_group(cluster: str, *, source: int | None = None) -> list[Row]:
    """Return commits of another group, which continues and reads nothing from topic t."""
    return of(
        cluster,
        (commit(at, 5, source=None if source is None else source + at, group="other", topic="u") for at in RUNS),
    )


def commits() -> list[Row]:
    return [
        *of("expired", [commit(0, 10, source=1), commit(300, None, source=2)]),
        *other_group("expired", source=100),
        *of("expired in part", (commit(at, at, source=10 + at) for at in RUNS)),
        *of("expired in part", [commit(0, 10, source=1, partition=1), commit(3_500, None, source=2, partition=1)]),
        *of("sampled", (commit(at - 0.1, 10) for at in range(0, 300, MINUTE))),
        *of("sampled", (commit(at - 0.1, 10, group="hiccup") for at in RUNS if at not in (600, 660))),
        *other_group("sampled"),
        *of("away", (commit(at - 0.1, 10) for at in range(0, 300, MINUTE))),
        *of("coordinator away", (commit(at - 0.1, 10) for at in range(0, 300, MINUTE))),
        *of("lone", (commit(at - 0.1, 10) for at in range(0, 300, MINUTE))),
        # It assigned its partitions itself: its commits have records, and it has none.
        *of("simple", [commit(0, 10, source=1), commit(250, None, source=2)]),
        *other_group("simple", source=100),
        *of("short", (commit(at - 0.1, 10) for at in range(0, 300, MINUTE))),
        # Ingest is behind; the group's last record is a commit.
        *of("behind", [commit(0, 10, source=1), commit(250, 10)]),
        *other_group("behind"),
        *of("read", [commit(0, 10, source=1)]),
        # Sampled on and on, with nothing to report.
        *of("alone", [commit(0, 10, source=1), commit(300, None, source=2)]),
        *other_group("read", source=100),
        *of("clocks", [commit(0, 10, source=1), commit(60, None, source=2), commit(80, 10)]),
        *other_group("clocks", source=100),
    ]


def log_ends() -> list[Row]:
    clusters = ("expired", "sampled", "behind", "read", "clocks", "lone", "simple")
    return [
        *(row for cluster in clusters for row in of(cluster, (ends(at, 50) for at in RUNS))),
        *(row for cluster in clusters for row in of(cluster, (ends(at, 5, topic="u") for at in RUNS))),
        *of("away", (ends(at, 50 if at < 300 else None) for at in RUNS)),
        *of("coordinator away", (ends(at, 50) for at in RUNS)),
        *of(
            "coordinator away",
            (ends(at, 50 if at < 300 else None, topic="__consumer_offsets") for at in RUNS),
        ),
        *of("sampled", (ends(at, 50, topic="__consumer_offsets") for at in RUNS)),
        *of("sampled", (ends(at, None, topic="never tells") for at in RUNS)),
        *of("short", (ends(at, 50 if at <= 420 else None) for at in RUNS)),
        *of("alone", (ends(at, 50) for at in RUNS)),
        *of("expired in part", (ends(at, at) for at in RUNS)),
        *of("expired in part", (ends(at, 10 + at, partition=1) for at in RUNS if at != RUNS[-1])),
    ]


def events() -> list[Row]:
    return [
        *of("sampled", (listed(at - 0.2, "g") for at in range(0, 300, MINUTE))),
        *of("sampled", (listed(at - 0.2, "hiccup") for at in RUNS if at not in (600, 660))),
        *of("away", (listed(at - 0.2, "g") for at in range(0, 300, MINUTE))),
        *of("away", (listed(at - 0.2, "other") for at in RUNS)),
        *of("coordinator away", (listed(at - 0.2, "g") for at in range(0, 300, MINUTE))),
        *of("coordinator away", (listed(at - 0.2, "other") for at in RUNS)),
        *of("lone", (listed(at - 0.2, "g") for at in range(0, 300, MINUTE))),
        *of("simple", (listed(at - 0.2, "g") for at in range(0, 300, MINUTE))),
        *of("read", [listed(at - 0.2, "shared") | {"group_type": "Share"} for at in RUNS]),
        *of("short", (listed(at - 0.2, "g") for at in range(0, 300, MINUTE))),
        *of("short", (listed(at - 0.2, "other") for at in RUNS)),
        *(
            row
            for name in ("sampled", "behind", "read", "clocks", "simple")
            for row in of(name, (listed(at - 0.2, "other") for at in RUNS))
        ),
        *of("behind", [listed(250, "g")]),
        # A broker that does not respond, say: the records, read until the end, know of no deletion.
        *of("read", [listed(250, "g")]),
        # The sampler's clock is ahead.
        *of("clocks", [event(60, "group_removed", CLASSIC, source=3, is_tombstone=True), listed(80, "g")]),
    ]


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Storage:
    made = new_storage(tmp_path_factory.mktemp("tables"))
    put_all(made, "b", {"offset_commits": commits(), "partition_offsets": log_ends(), "group_events": events()})
    build_here(made)
    return made


@pytest.fixture(scope="module")
def reported(storage: Storage) -> History:
    return read_history(storage, since_ms=START, until_ms=END, now_ms=5)


def named(history: History, cluster: str, name: str = "g") -> GroupHistory:
    """Return the group with this id on this cluster."""
    return next(group for group in history.groups if (group.cluster_id, group.group) == (cluster, name))


def test_a_group_whose_commits_were_all_removed_is_not_judged(reported: History) -> None:
    expired = named(reported, "expired")
    assert (expired.verdict, expired.rule, expired.lag, expired.time_lag_ms) == (None, None, None, None)
    assert (expired.evaluated_ms, expired.deleted_ms, expired.lagging_since_ms) == (None, None, None)
    assert expired.points[-1].lag == 40
    judged = [group.verdict is not None for group in reported.groups]
    assert judged == sorted(judged, reverse=True)


def test_a_group_is_judged_before_its_commits_are_removed(storage: Storage) -> None:
    before = named(read_history(storage, since_ms=START, until_ms=START + 280_000), "expired")
    assert (before.verdict, before.lag, before.evaluated_ms) == ("UNKNOWN", 40, START + 240_000)


def test_a_partition_counts_until_its_commit_is_removed(reported: History) -> None:
    """The last sample, forty seconds after the deletion, lacks partition 1; the one before has it."""
    part = named(reported, "expired in part")
    assert (part.lag, part.time_lag_ms, part.points[-1].time_lag_ms) == (0, 0, 0)
    assert part.points[-2].time_lag_ms != 0
    assert part.produce_rate == pytest.approx(1.0)


def test_the_first_sample_without_a_group_bounds_the_time_of_its_removal(reported: History) -> None:
    """Every coordinator listed its groups. A partition without any log end offset does not matter."""
    deleted = named(reported, "sampled")
    assert (deleted.deleted_ms, deleted.deleted_is_bound) == (START + 300_000, True)
    assert (deleted.state, deleted.member_count, deleted.lag, deleted.verdict) == ("Dead", 0, None, None)
    assert [finding for finding in reported.findings if (finding.cluster_id, finding.group) == ("sampled", "g")] == []


def test_a_group_that_was_the_only_one_is_removed_by_samples_that_list_none(reported: History) -> None:
    deleted = named(reported, "lone")
    assert (deleted.deleted_ms, deleted.deleted_is_bound) == (START + 300_000, True)


def test_a_group_without_records_of_its_own_is_removed_once_its_commits_were(reported: History) -> None:
    """Brokers before 4.0 write no tombstone for such a group, so that records need not show its deletion."""
    deleted = named(reported, "simple")
    assert (deleted.deleted_ms, deleted.deleted_is_bound) == (START + 300_000, True)


def test_rebalances_that_nothing_would_show_are_not_known(reported: History) -> None:
    assert named(reported, "sampled", "other").rebalances is None
    assert named(reported, "read", "shared").rebalances == ()
    assert named(reported, "read", "other").rebalances == ()


def test_samples_without_a_broker_remove_no_group(reported: History) -> None:
    assert named(reported, "away").deleted_ms is None


def test_samples_without_a_coordinator_remove_no_group(reported: History) -> None:
    assert named(reported, "coordinator away").deleted_ms is None


def test_two_samples_without_a_group_within_ten_minutes_show_no_deletion(reported: History, storage: Storage) -> None:
    assert named(reported, "sampled", "hiccup").deleted_ms is None
    during = read_history(storage, since_ms=START, until_ms=START + 680_000)
    assert named(during, "sampled", "hiccup").deleted_ms is None


def test_incomplete_samples_do_not_count_to_the_ten_minutes(reported: History) -> None:
    """A broker that loads its groups does not list them, and later another one is unavailable for long."""
    assert named(reported, "short").deleted_ms is None


def test_samples_without_a_commit_have_a_sentence_of_their_own(reported: History) -> None:
    assert (
        "Cluster alone: no group has had a commit since 2026-11-20T12:04Z, or build has not run since: "
        "lag and verdicts are from that time."
    ) in reported.missing
    assert [sentence for sentence in reported.missing if "nothing was sampled" in sentence] == []


def test_where_records_are_read_they_show_what_was_removed(reported: History) -> None:
    behind, read = named(reported, "behind"), named(reported, "read")
    assert (behind.deleted_ms, behind.deleted_is_bound) == (START + 360_000, True)
    assert read.deleted_ms is None


def test_a_sampler_whose_clock_is_ahead_does_not_undo_a_deletion(reported: History) -> None:
    clocks = named(reported, "clocks")
    assert (clocks.deleted_ms, clocks.deleted_is_bound) == (START + 60_000, False)

"""Groups that nobody reads with, groups whose commits went at midnight, and samples that were not finished."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kafka_groups.pipeline.report.history import History
from kafka_groups.pipeline.report.history_reader import read_history
from kafka_groups.pipeline.store import Storage
from tests.pipeline.build.builds import build_here
from tests.pipeline.fact_rows import NOON, Row, commit, ends, event, new_storage, put_all

START: Final = int(NOON.timestamp() * 1_000)
DAY, HOUR, MINUTE = 86_400, 3_600, 60


def seen(seconds: float, group: str, state: str) -> Row:
    """Return a row of a sample that lists the group."""
    row = event(seconds, "state_seen", "Snapshot", source=0, group=group, state=state)
    return row | {"origin": "sample", "source_partition": None, "source_offset": None, "members": []}


def until(storage: Storage, seconds: int) -> History:
    return read_history(storage, since_ms=START - DAY * 1_000, until_ms=START + seconds * 1_000)


def test_an_empty_group_without_commits_for_a_day_is_unused_and_comes_last(tmp_path: Path) -> None:
    storage = new_storage(tmp_path)
    times = range(0, 20 * MINUTE, MINUTE)
    commits = [
        *(commit(-2 * DAY, 5, source=n, group=group) for n, group in enumerate(("unused", "member away"))),
        *(commit(at, at, source=10 + at, group="late") for at in times),
    ]
    facts = {
        "offset_commits": commits,
        "partition_offsets": [ends(at + 1, 5_000) for at in times],
        "group_events": [seen(0, "unused", "Empty"), seen(0, "member away", "Stable"), seen(0, "late", "Empty")],
    }
    put_all(storage, "b", facts)
    build_here(storage)

    groups = until(storage, 20 * MINUTE).groups

    assert [(one.group, one.is_unused) for one in groups if one.is_unused] == [("unused", True)]
    assert groups[-1].group == "unused"
    assert groups[-1].lag == 4_995


def test_a_group_whose_commits_were_removed_after_midnight_has_no_verdict(tmp_path: Path) -> None:
    storage = new_storage(tmp_path)
    last_hours = range(11 * HOUR, 12 * HOUR - MINUTE, 10 * MINUTE)
    night = range(12 * HOUR, 13 * HOUR, 10 * MINUTE)
    commits = [commit(at, 5, source=at, group="removed") for at in last_hours]
    commits += [commit(at + 1, 5, source=at + 1, group="stays") for at in (*last_hours, *night)]
    # Before the first sample of the new day.
    commits.append(commit(12 * HOUR, None, source=90_000, group="removed"))
    logs = [ends(at + 2, 500) for at in (*last_hours, *night)]
    put_all(storage, "b", {"offset_commits": commits, "partition_offsets": logs})
    build_here(storage)

    groups = {one.group: one for one in until(storage, 13 * HOUR).groups}

    assert (groups["removed"].verdict, groups["removed"].lag) == (None, None)
    assert groups["stays"].lag == 495


def test_rows_of_a_sample_that_was_not_finished_are_in_no_report(tmp_path: Path) -> None:
    storage = new_storage(tmp_path)
    put_all(storage, "b", {"offset_commits": [commit(0, 5, source=1)], "partition_offsets": [ends(1, 50)]})
    put_all(storage, "sample-20261120T120000Z-lost", {"group_events": [seen(30, "phantom", "Stable")]})
    finished = "sample-20261120T120100Z-done"
    put_all(storage, finished, {"group_events": [seen(60, "real", "Stable")]})
    put_all(storage, finished, {"sample_runs": [{"cluster_id": "c", "sample": finished, "sampled_at": NOON}]})
    build_here(storage)

    assert {one.group for one in until(storage, HOUR).groups} == {"g", "real"}

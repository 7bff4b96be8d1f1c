"""The tasks of groups in a report, from records and samples in the tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kafka_groups.pipeline.report.history import GroupHistory
from kafka_groups.pipeline.report.history_reader import read_history
from kafka_groups.pipeline.report.member_tasks import CONNECTOR, Client, Task
from tests.pipeline.build.builds import build_here
from tests.pipeline.fact_rows import NOON, Row, at, event, new_storage, put_all

START = int(NOON.timestamp() * 1_000)


def worker(name: str, tasks: Sequence[int] | None, *, has_connector: bool = False) -> Row:
    """Return a worker that runs tasks of one connector; None if its tasks are unknown."""
    runs = None if tasks is None else [{"connector": "file", "has_connector": has_connector, "tasks": [*tasks]}]
    return {"member_id": name, "url": f"http://{name}/", "connectors": runs, "scheduled_delay_ms": 0}


def generation(seconds: float, source: int, *workers: Row) -> Row:
    members = [{"member_id": own["member_id"], "client_id": "c-1", "client_host": "/h"} for own in workers]
    kind = "generation" if workers else "group_emptied"
    own = {"epoch": source, "protocol_type": "connect", "members": members, "workers": [*workers]}
    return event(seconds, kind, "GroupMetadata", source=source, **own)


def sample(seconds: float, *workers: Row) -> list[Row]:
    """Return the group's row in a sample at that time."""
    return [
        {
            "cluster_id": "c",
            "origin": "sample",
            "record_time": at(seconds),
            "group": "g",
            "record_name": "Snapshot",
            "event_type": "state_seen",
            "group_type": "Classic",
            "state": "Stable",
            "workers": [*workers],
        }
    ]


def reported(directory: Path, events: Sequence[Row], *, until: int = 3_600) -> GroupHistory:
    storage = new_storage(directory)
    times = sorted({row["record_time"] for row in events if row["origin"] == "sample"})
    runs = [{"cluster_id": "c", "sample": "b", "groups_at": t, "commits_at": t, "sampled_at": t} for t in times]
    put_all(storage, "b", {"group_events": events, "sample_runs": runs})
    build_here(storage)
    (group,) = read_history(storage, since_ms=START, until_ms=START + until * 1_000).groups
    return group


def running(group: GroupHistory) -> dict[str, set[tuple[str, int]]]:
    assert group.tasks is not None
    return {member.member_id: {task[1:] for task in member.tasks} for member in group.tasks.members}


def changes(group: GroupHistory) -> list[tuple[int, str, list[Task], list[Task]]]:
    assert group.tasks is not None
    return [
        ((change.at_ms - START) // 1_000, change.member_id, sorted(change.gained), sorted(change.lost))
        for change in group.tasks.changes
    ]


def test_workers_and_the_changes_of_their_tasks_follow_from_records(tmp_path: Path) -> None:
    rows = [
        generation(10, 1, worker("a", [0, 1], has_connector=True)),
        generation(20, 2, worker("a", [0], has_connector=True), worker("b", [1])),
        generation(30, 3, worker("b", [0, 1], has_connector=True)),
    ]
    group = reported(tmp_path, rows)
    assert running(group) == {"b": {("file", CONNECTOR), ("file", 0), ("file", 1)}}
    assert changes(group) == [
        (20, "a", [], [("", "file", 1)]),
        (20, "b", [("", "file", 1)], []),
        (30, "a", [], [("", "file", CONNECTOR), ("", "file", 0)]),
        (30, "b", [("", "file", CONNECTOR), ("", "file", 0)], []),
    ]
    assert group.tasks is not None
    assert group.tasks.members[0].client == Client("c-1", "/h", "http://b/")


def test_an_empty_or_removed_group_runs_nothing(tmp_path: Path) -> None:
    removal = event(20, "group_removed", "GroupMetadata", source=2, is_tombstone=True)
    emptied = generation(20, 2)
    for name, last in (("removed", removal), ("emptied", emptied)):
        group = reported(tmp_path / name, [generation(10, 1, worker("a", [0])), last])
        assert (running(group), changes(group)) == ({}, [(20, "a", [], [("", "file", 0)])])


def test_a_consumer_group_has_no_tasks(tmp_path: Path) -> None:
    members = [{"member_id": "m", "client_id": "c-1", "client_host": "/h"}]
    rows = [event(10, "generation", "GroupMetadata", source=1, epoch=1, members=members)]
    assert reported(tmp_path, rows).tasks is None


def streams(seconds: float, source: int, name: str, *active: int, standby: Sequence[int] = (), before: int = 2) -> Row:
    """Return the current assignment of a member of a streams group, whose epoch before was `before`."""
    roles = {
        role: [{"subtopology": "0", "partitions": [*own]}] if own else []
        for role, own in (("active", active), ("standby", standby), ("warmup", ()))
    }
    own = {"epoch": 3, "previous_epoch": before, "member_id": name, "tasks": [{"member_id": name, **roles}]}
    return event(seconds, "member_assignment", "StreamsGroupCurrentMemberAssignment", source=source, **own)


def metadata(seconds: float, source: int, name: str, **own: Any) -> Row:
    return event(seconds, "member_metadata", "StreamsGroupMemberMetadata", source=source, member_id=name, **own)


def test_tasks_of_streams_groups_follow_member_by_member(tmp_path: Path) -> None:
    rows = [
        streams(10, 1, "a", 0, 1),
        metadata(20, 2, "b", client_id="c-2", client_host="/h2"),
        streams(20, 3, "b", before=0),
        streams(30, 4, "a", 0, standby=[1]),
        streams(40, 5, "b", 1, before=3),
        event(50, "member_left", "StreamsGroupMemberMetadata", source=6, member_id="a", is_tombstone=True),
    ]
    group = reported(tmp_path, rows)
    assert running(group) == {"b": {("0", 1)}}
    assert changes(group) == [
        (30, "a", [("standby", "0", 1)], [("active", "0", 1)]),
        (40, "b", [("active", "0", 1)], []),
        (50, "a", [], [("active", "0", 0), ("standby", "0", 1)]),
    ]
    assert group.tasks is not None
    assert (group.tasks.has_roles, group.tasks.members[0].client) == (True, Client("c-2", "/h2"))


def test_a_target_assignment_is_not_yet_what_a_member_runs(tmp_path: Path) -> None:
    target = streams(20, 2, "a", 0, 1) | {"event_type": "target_assignment", "previous_epoch": None}
    group = reported(tmp_path, [streams(10, 1, "a", 0), target])
    assert (running(group), changes(group)) == ({"a": {("0", 0)}}, [])


def test_a_sample_shows_the_tasks_of_all_members_of_a_streams_group(tmp_path: Path) -> None:
    own = {"tasks": [*streams(0, 0, "a", 0)["tasks"], *streams(0, 0, "b", 1)["tasks"]], "workers": None}
    (row,) = sample(10)
    group = reported(tmp_path, [row | own])
    assert running(group) == {"a": {("0", 0)}, "b": {("0", 1)}}
    assert group.tasks is not None
    assert {member.since_is_bound for member in group.tasks.members} == {True}


def test_a_sample_between_records_undoes_no_change(tmp_path: Path) -> None:
    """The clock of the sampler is ahead, so that its sample of the first record seems to be later than the second."""
    first, second = (generation(10, 1, worker("a", [0])), generation(20, 2, worker("a", [1])))
    group = reported(tmp_path, [first, second, generation(60, 3, worker("a", [1])), *sample(25, worker("a", [0]))])
    assert running(group) == {"a": {("file", 1)}}
    assert [change[0] for change in changes(group)] == [20]


def test_samples_show_tasks_before_and_after_the_records(tmp_path: Path) -> None:
    rows: list[Any] = [
        *sample(5, worker("a", [0])),
        generation(10, 1, worker("a", [0, 1])),
        *sample(400, worker("a", [2])),
        *sample(500, worker("a", None)),
    ]
    group = reported(tmp_path, rows)
    assert running(group) == {"a": {("file", 2)}}
    assert [change[0] for change in changes(group)] == [10, 400]


NEXT_DAY = 86_400


def reported_next_day(directory: Path, events: Sequence[Row]) -> GroupHistory:
    """Return the group in a report on the second day, in whose first hour it commits once."""
    storage = new_storage(directory)
    commit = {"cluster_id": "c", "group": "g", "topic": "t", "partition": 0, "committed_offset": 5}
    times = {"commit_time": at(NEXT_DAY + 60), "record_time": at(NEXT_DAY + 60)}
    offsets = [{**commit, **times, "origin": "log", "source_partition": 0, "source_offset": 900}]
    put_all(storage, "b", {"group_events": events, "offset_commits": offsets})
    build_here(storage)
    since_ms = START + NEXT_DAY * 1_000
    (group,) = read_history(storage, since_ms=since_ms, until_ms=since_ms + 3_600_000).groups
    return group


def test_a_member_without_a_row_in_the_period_has_its_last_tasks_before_it(tmp_path: Path) -> None:
    rows = [
        streams(10, 1, "a", 0, 1),
        streams(20, 2, "a", 0),
        streams(30, 3, "b", 1, before=0),
        streams(40, 4, "c", 2),
        event(50, "member_left", "StreamsGroupMemberMetadata", source=5, member_id="c", is_tombstone=True),
        streams(NEXT_DAY + 30, 6, "b", 1, 2),
    ]
    group = reported_next_day(tmp_path, rows)
    assert running(group) == {"a": {("0", 0)}, "b": {("0", 1), ("0", 2)}}
    assert changes(group) == [(NEXT_DAY + 30, "b", [("active", "0", 2)], [])]
    assert group.tasks is not None
    (before,) = group.tasks.members_before(START + NEXT_DAY * 1_000)
    assert (before.member_id, before.since_ms, before.since_is_bound) == ("a", START + 20_000, False)


def test_a_sample_before_the_period_shows_members_that_wrote_nothing_since(tmp_path: Path) -> None:
    own = {"tasks": [*streams(0, 0, "a", 0)["tasks"], *streams(0, 0, "b", 1)["tasks"]], "workers": None}
    rows = [row | own for seconds in (10, 70) for row in sample(seconds)]
    group = reported_next_day(tmp_path, rows)
    assert running(group) == {"a": {("0", 0)}, "b": {("0", 1)}}
    assert group.tasks is not None
    assert {member.last_row_ms for member in group.tasks.members} == {START + 70_000}


def test_a_group_that_was_removed_before_the_period_runs_nothing_of_it(tmp_path: Path) -> None:
    removal = event(20, "group_removed", "StreamsGroupMetadata", source=2, is_tombstone=True)
    group = reported_next_day(tmp_path, [streams(10, 1, "a", 0), removal, streams(NEXT_DAY, 3, "b", 1, before=0)])
    assert running(group) == {"b": {("0", 1)}}


def test_a_member_whose_tasks_no_row_shows_is_unknown(tmp_path: Path) -> None:
    rows = [streams(10, 1, "a", 0), metadata(20, 2, "b", client_id="c-2", client_host="/h2")]
    group = reported(tmp_path, rows)
    assert group.tasks is not None
    assert (running(group), group.tasks.unknown_members) == ({"a": {("0", 0)}}, ("b",))

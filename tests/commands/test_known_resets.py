"""`lag --polls` and resets: a commit that this tool set back is a note, one that went back by itself is a rewind."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.commands import known_resets
from kafka_groups.commands.known_resets import note_resets
from kafka_groups.groups.lag.resets import KnownReset
from tests.commands.change_commands import journal_files
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, member

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


@pytest.fixture
def polls(cluster: FakeCluster, tmp_path: Path) -> str:
    """Return a file of polls that does not exist, and a cluster with an id."""
    cluster.admin.cluster_id.side_effect = lambda **_: "cluster-1"
    return str(tmp_path / "polls")


def poll(cluster: FakeCluster, polls: str, committed: int) -> str:
    """Return the rule of a group with a member, whose commit is polled now."""
    cluster.add("g", state="Stable", members=[member("m", {"t": (0,)})], commits={("t", 0): committed})
    cluster.end("t", 1_000, starts=(0,))
    (row,) = [json.loads(line) for line in run("lag", "g", "--polls", polls, "--format", "ndjson").stdout.splitlines()]
    return str(row["rule"])


def test_a_commit_that_goes_back_while_members_are_there_is_a_rewind(cluster: FakeCluster, polls: str) -> None:
    assert poll(cluster, polls, 500) == "incomplete"
    assert poll(cluster, polls, 300) == "rewound"


def reset_to_300(cluster: FakeCluster) -> None:
    """Reset the group, which is empty and has committed 500."""
    cluster.add("g", state="Empty", commits={("t", 0): 500})
    assert run("reset", "g", "--topic", "t", "--to-offset", "300", "--execute", "--yes").exit_code == 0


@pytest.mark.parametrize(("committed", "rule"), [(300, "incomplete"), (100, "rewound")])
def test_a_recorded_reset_explains_its_own_commit_and_none_below(
    cluster: FakeCluster, polls: str, committed: int, rule: str
) -> None:
    assert poll(cluster, polls, 500) == "incomplete"
    reset_to_300(cluster)
    assert poll(cluster, polls, committed) == rule


def test_a_reset_of_another_cluster_explains_nothing(cluster: FakeCluster, polls: str) -> None:
    assert poll(cluster, polls, 500) == "incomplete"
    cluster.admin.cluster_id.side_effect = lambda **_: "cluster-2"
    reset_to_300(cluster)
    cluster.admin.cluster_id.side_effect = lambda **_: "cluster-1"
    assert poll(cluster, polls, 300) == "rewound"


def test_a_damaged_record_leaves_the_others(cluster: FakeCluster, polls: str) -> None:
    assert poll(cluster, polls, 500) == "incomplete"
    reset_to_300(cluster)
    (record,) = journal_files()
    record.with_stem(f"{record.stem}z").write_text("damaged\n")
    assert poll(cluster, polls, 300) == "incomplete"


def test_a_named_group_that_was_deleted_begins_again(cluster: FakeCluster, polls: str) -> None:
    assert poll(cluster, polls, 500) == "incomplete"
    for known in (cluster.listings, cluster.descriptions, cluster.offsets):
        known.pop("g")
    assert run("lag", "g", "--polls", polls).exit_code == 1
    assert poll(cluster, polls, 50) == "incomplete"


def poll_notes(cluster: FakeCluster, polls: str, *committed: int, members: int = 1) -> list[dict[str, str]]:
    """Return the notes in the JSON document of a poll that sees a group with these commits, and check stderr."""
    present = [member("m", {"t": tuple(range(len(committed)))})] if members else []
    state = "Stable" if members else "Empty"
    cluster.add("g", state=state, members=present, commits={("t", n): offset for n, offset in enumerate(committed)})
    cluster.end("t", *[1_000 for _ in committed], starts=[0 for _ in committed])
    result = run("lag", "g", "--polls", polls, "--format", "json", "--fail-if", "verdict==REWIND or verdict==STOP")
    assert result.exit_code == 0
    notes: list[dict[str, str]] = json.loads(result.stdout)["notes"]
    assert [note["text"] for note in notes] == result.stderr.splitlines()
    return notes


def test_a_recorded_reset_is_a_note_with_its_run_and_offsets(cluster: FakeCluster, polls: str) -> None:
    assert poll_notes(cluster, polls, 500) == []
    cluster.add("g", state="Empty", commits={("t", 0): 500})
    assert run("reset", "g", "--topic", "t", "--to-offset", "300", "--execute", "--yes").exit_code == 0
    (record,) = journal_files()
    (note,) = poll_notes(cluster, polls, 300)
    assert (note["kind"], note["group"]) == ("known_reset", "g")
    times = r"between 20\S+Z and 20\S+Z"
    assert re.fullmatch(
        rf"Group 'g': its offset on t-0 from 500 to 300 was set back {times}\. Run {record.stem} of the journal did "
        r"this: it is a reset, and no REWIND\.",
        note["text"],
    )
    assert poll_notes(cluster, polls, 300) == []


def test_a_reset_without_members_is_one_note_for_all_partitions(cluster: FakeCluster, polls: str) -> None:
    assert poll_notes(cluster, polls, 500, 400, 300, members=0) == []
    (note,) = poll_notes(cluster, polls, 10, 400, 20, members=0)
    assert "its offsets on 2 partitions, such as t-0 from 500 to 10, were set back between " in note["text"]
    assert "A poll saw the group without members, so no consumer did this" in note["text"]


def test_a_watch_notes_a_known_reset_in_the_poll_that_sees_it(cluster: FakeCluster, polls: str) -> None:
    assert poll_notes(cluster, polls, 500, members=0) == []
    cluster.add("g", state="Empty", commits={("t", 0): 40})
    result = run("lag", "g", "--polls", polls, "--watch", "1ms", "--samples", "3", "--format", "ndjson")
    assert result.exit_code == 0
    assert result.stderr.count("its offset on t-0 from 500 to 40 was set back") == 1
    assert poll_notes(cluster, polls, 40, members=0) == []


def test_notes_on_many_groups_are_counted_beyond_the_first_ones() -> None:
    resets = [KnownReset(f"g{number}", "t", 0, 9_000, 5, 0, 60_000, None) for number in range(8)]
    notes = note_resets(resets)
    assert [note.subject for note in notes] == ["g0", "g1", "g2", "g3", "g4", None]
    assert "t-0 from 9,000 to 5 was set back between 1970-01-01T00:00:00Z and 1970-01-01T00:01:00Z." in notes[0].text
    assert notes[-1].text == "Offsets of 3 more groups were set back by known resets."


def test_the_journal_is_read_once_for_all_commits_of_a_poll(
    cluster: FakeCluster, polls: str, mocker: MockerFixture
) -> None:
    read = mocker.spy(known_resets, "list_ids")
    for offset in (500, 300):
        cluster.add(
            "g", state="Stable", members=[member("m", {"t": (0, 1)})], commits={("t", n): offset for n in (0, 1)}
        )
        cluster.end("t", 1_000, 1_000, starts=(0, 0))
        assert run("lag", "--polls", polls).exit_code == 0
    assert read.call_count == 1

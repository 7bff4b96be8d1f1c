"""Changes of share groups on the command line: the tables of consumer groups, the journal, files and undo."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from kafka_groups.changes.change import Action
from kafka_groups.changes.plan_file import read_plan
from tests.commands.change_commands import EXECUTE, changes, journal_files, last_run
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster

LOST = (
    "This discards the delivery state of 1 share group, and undo cannot restore it: acknowledged records beyond the "
    "start offset are delivered again, and delivery counts begin again."
)
RESET = ("reset", "s", "--all-topics", "--shift-by", "-4")


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add the share group `s` with start offsets on both partitions of `t`."""
    cluster.add("s", kind="Share", protocol_type="share", commits={("t", 0): 60, ("t", 1): 7})
    cluster.end("t", 100, 100, starts=(5, 5))


def starts(cluster: FakeCluster) -> dict[int, int | None]:
    """Return the start offsets of `s` by partition."""
    return {key.partition: start and start.offset for key, start in cluster.offsets["s"].items()}


def test_a_reset_prints_the_table_of_consumer_groups(cluster: FakeCluster) -> None:
    outcome = run(*RESET)
    assert outcome.stdout == dedent("""\
        GROUP  TOPIC  PARTITION  CURRENT-OFFSET  NEW-OFFSET  DELTA  NOTE
        s      t              0              60          56     -4  -
        s      t              1               7           5     -2  clamped from 3 to the log start offset
        """)
    summary = "1 group, 2 partitions, 6 records to read again, 0 records to skip."
    assert outcome.stderr.splitlines()[:2] == [LOST, summary]
    assert changes(cluster) == []


def test_a_reset_is_recorded_and_undone(cluster: FakeCluster) -> None:
    assert run(*RESET, *EXECUTE).exit_code == 0
    assert starts(cluster) == {0: 56, 1: 5}
    recorded = last_run().plan.changes
    assert {(change.action, change.group_type) for change in recorded} == {(Action.SHARE_OFFSET, "Share")}
    outcome = run("undo", *EXECUTE)
    assert (outcome.exit_code, starts(cluster)) == (0, {0: 60, 1: 7})
    assert "acknowledged records beyond the start offset are delivered again" in outcome.stderr
    assert "Restored commits have the time" not in outcome.stderr
    assert [call.operation for call in cluster.changes] == ["alter_share_group_offsets"] * 2


def test_a_deleted_group_comes_back_with_its_start_offsets(cluster: FakeCluster) -> None:
    outcome = run("delete", "s", *EXECUTE)
    assert (outcome.exit_code, outcome.stdout) == (0, "GROUP  STATUS\ns      done\n")
    assert (LOST in outcome.stderr, "1 group with 2 start offsets." in outcome.stderr) == (True, True)
    outcome = run("undo", *EXECUTE)
    assert (outcome.exit_code, starts(cluster), cluster.listings["s"].type) == (0, {0: 60, 1: 7}, "Share")
    assert "as a classic group" not in outcome.stderr


def test_start_offsets_of_a_topic_are_deleted_and_come_back(cluster: FakeCluster) -> None:
    outcome = run("delete-offsets", "s", "--topic", "t", *EXECUTE)
    assert outcome.stdout == dedent("""\
        GROUP  TOPIC  PARTITION  STATUS
        s      t              0  done
        s      t              1  done
        """)
    assert starts(cluster) == {}
    assert (run("undo", *EXECUTE).exit_code, starts(cluster)) == (0, {0: 60, 1: 7})


def test_a_part_of_a_topic_is_refused(cluster: FakeCluster) -> None:
    outcome = run("delete-offsets", "s", "--topic", "t:0", *EXECUTE)
    assert (outcome.exit_code, outcome.stdout.splitlines()[1:]) == (1, ["s      t              0  refused"])
    assert "Kafka deletes start offsets of whole topics only" in outcome.stderr
    assert starts(cluster) == {0: 60, 1: 7}


def test_a_plan_is_a_file_that_reset_executes(cluster: FakeCluster, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    run(*RESET, "--export", str(file))
    plan = read_plan(file.read_text(), name="plan.json")
    assert [(change.action.value, change.committed_offset, change.new_offset) for change in plan.changes] == [
        ("share_offset", 60, 56),
        ("share_offset", 7, 5),
    ]
    assert (run("reset", "--from-file", str(file), *EXECUTE).exit_code, starts(cluster)) == (0, {0: 56, 1: 5})
    outcome = run("reset", "--from-file", str(file))
    assert "its start offset has changed since the plan, from 60 to 56" in outcome.stderr


def test_kafkas_csv_is_written_and_read(cluster: FakeCluster, tmp_path: Path) -> None:
    file = tmp_path / "offsets.csv"
    run("reset", "-g", "s", "--all-topics", "--shift-by", "-4", "--export", str(file))
    assert file.read_text() == "t,0,56\nt,1,5\n"
    assert run("reset", "-g", "s", "--from-file", str(file), *EXECUTE).exit_code == 0
    assert starts(cluster) == {0: 56, 1: 5}


def test_a_deletion_is_exported_with_the_type_of_the_group(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    run("delete", "s", "--export", str(file))
    keys = ("action", "group_type", "committed_offset", "metadata")
    listed = json.loads(file.read_text())["changes"]
    assert [tuple(change[key] for key in keys) for change in listed] == [
        ("delete_group", "Share", 60, None),
        ("delete_group", "Share", 7, None),
    ]
    assert run("delete", "--from-file", str(file), *EXECUTE).exit_code == 0
    assert len(journal_files()) == 1


def test_a_start_offset_that_is_set_again_cannot_be_undone(cluster: FakeCluster) -> None:
    outcome = run("reset", "s", "--all-topics", "--to-current", *EXECUTE)
    assert (outcome.exit_code, starts(cluster)) == (0, {0: 60, 1: 7})
    assert LOST in outcome.stderr
    assert outcome.stderr.splitlines()[-1].endswith("; it cannot be undone.")


def test_groups_of_both_kinds_are_reset_at_once(cluster: FakeCluster) -> None:
    cluster.add("c", commits={("t", 0): 60})
    outcome = run("reset", "--all-groups", "--all-topics", "--to-offset", "20", *EXECUTE)
    assert (outcome.exit_code, [call.operation for call in cluster.changes]) == (
        0,
        ["alter_consumer_group_offsets", "alter_share_group_offsets"],
    )
    assert {line.rpartition(" ")[2] for line in outcome.stdout.splitlines()[1:]} == {"done"}

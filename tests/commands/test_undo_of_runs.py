"""`kafka-groups undo --list`: the recorded runs with what became of each; a run that a broker may still finish."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.changes.journal_location import open_journal
from kafka_groups.commands.run_list import print_runs
from kafka_groups.model import CommittedOffset
from kafka_groups.rendering.screen import Screen
from tests.commands.change_commands import EXECUTE, journal_files
from tests.commands.recorded_changes import add_group, change, reset, statuses
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, failure, unreachable

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


@pytest.fixture(autouse=True)
def one_group(cluster: FakeCluster) -> None:
    add_group(cluster)


def test_the_list_needs_no_cluster(cluster: FakeCluster) -> None:
    first, second = reset(20), change("delete", "a")
    cluster.refuse(unreachable())
    lines = run("undo", "--list", bootstrap=None).stdout.splitlines()
    assert lines[0].split() == ["ID", "TIME", "COMMAND", "CLUSTER", "GROUPS", "ROWS", "STATUS"]
    rows = {line.split()[0]: line.split()[2:] for line in lines[1:]}
    assert rows == {
        second: ["delete", "fake", "a", "2", "done", "done"],
        first: ["reset", "fake", "a", "1", "done", "done"],
    }


@pytest.mark.parametrize("output", ["table", "json", "ndjson", "csv"])
def test_an_empty_list_is_a_note(output: str) -> None:
    outcome = run("undo", "--list", "--format", output, bootstrap=None)
    assert (outcome.exit_code, outcome.stderr) == (0, "No change is recorded.\n")
    assert output != "json" or json.loads(outcome.stdout)["runs"] == []


def test_the_list_has_at_most_three_groups_in_a_line(cluster: FakeCluster) -> None:
    names = [f"g{at}" for at in range(5)]
    for name in names:
        cluster.add(name, commits={("t", 0): 60})
    change("delete", *names)
    assert (
        run("undo", "--list", "--format", "csv", bootstrap=None)
        .stdout.splitlines()[1]
        .endswith('"g0,g1,g2,… (5)",5 done,done')
    )
    (row,) = json.loads(run("undo", "--list", "--format", "json", bootstrap=None).stdout)["runs"]
    assert (row["groups"], row["changes"], row["undoes"]) == (names, 5, None)


def test_the_list_counts_the_rows_of_a_run_by_status(cluster: FakeCluster) -> None:
    cluster.add("b")
    cluster.unchangeable["c"] = failure(group="c")
    cluster.add("c", commits={("t", 0): 60})
    # The commit of `b` that --shift-by starts from does not exist.
    assert run("reset", "a", "b", "c", "--topic", "t:0", "--shift-by", "1", *EXECUTE).exit_code == 3
    (line,) = run("undo", "--list", "--format", "csv", bootstrap=None).stdout.splitlines()[1:]
    assert line.endswith(',"a,b,c","1 done, 1 refused, 1 failed",partly done')
    (row,) = json.loads(run("undo", "--list", "--format", "json", bootstrap=None).stdout)["runs"]
    assert row["rows"] == {"planned": 0, "done": 1, "refused": 1, "failed": 1, "unknown": 0}
    assert (row["changes"], row["bootstrap_servers"]) == (2, ["b1:9092"])


def test_an_interrupted_run_has_rows_without_an_outcome() -> None:
    reset()
    (path,) = journal_files()
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))
    (line,) = run("undo", "--list", "--format", "csv", bootstrap=None).stdout.splitlines()[1:]
    assert line.endswith(",a,1 without outcome,unfinished")


def test_the_list_as_csv_controls_no_terminal(cluster: FakeCluster) -> None:
    cluster.add("a\x1b[2J", commits={("t", 0): 60})
    change("delete", "a\x1b[2J")
    for is_terminal, group in ((True, r"a\x1b[2J"), (False, "a\x1b[2J")):
        out = io.StringIO()
        streams: dict[str, Any] = {"out": out, "err": io.StringIO(), "err_is_terminal": False}
        print_runs(Screen(**streams, out_is_terminal=is_terminal, colour=False, width=80), open_journal(), "csv")
        (line,) = out.getvalue().splitlines()[1:]
        assert line.endswith(f",delete,fake,{group},1 done,done")


@pytest.mark.parametrize("extra", [("20260101-000000-a",), EXECUTE, ("--dry-run",), ("--export", "-"), ("--force",)])
def test_the_list_contradicts_options_of_a_change(extra: tuple[str, ...]) -> None:
    outcome = run("undo", "--list", *extra)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "--list only lists" in outcome.stderr


def test_a_file_that_is_no_journal_is_a_note_of_the_list() -> None:
    reset()
    (journal_files()[0].parent / "notes.txt").touch()
    outcome = run("undo", "--list", bootstrap=None)
    assert (outcome.exit_code, len(outcome.stdout.splitlines())) == (0, 2)
    assert "is not the record of a run; it was skipped" in outcome.stderr


@pytest.mark.parametrize(("late_min", "note", "status"), [(10, True, "unfinished"), (0, False, "undone")])
def test_a_broker_may_make_a_change_for_ten_minutes(
    cluster: FakeCluster, mocker: MockerFixture, *, late_min: int, note: bool, status: str
) -> None:
    mocker.patch("kafka_groups.changes.run_record._LATE", timedelta(minutes=late_min))
    run_id = reset()
    (path,) = journal_files()
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if '"done"' not in line))
    cluster.add("a", commits={("t", 0): CommittedOffset(60, 3, "note"), ("t", 1): 7})
    outcome = run("undo", *EXECUTE)
    assert ("undo it again ten minutes after it began" in outcome.stderr) is note
    assert statuses()[run_id] == status

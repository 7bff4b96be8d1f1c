"""The runs of a journal are read whatever happened while it was written."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.changes.change import Outcome, Status
from kafka_groups.changes.journal import begin_run
from kafka_groups.changes.plan_file import change_documents
from kafka_groups.changes.runs import RecordedOutcome, RunList, RunSummary, list_ids, list_runs, read_run
from kafka_groups.errors import JournalError
from kafka_groups.model import Failure
from tests.changes.plans import CHANGES, NOON, plan
from tests.changes.written_runs import BACK, DONE, FAILED, RESETS, UNKNOWN, Journal


@pytest.fixture
def runs(tmp_path: Path) -> Journal:
    return Journal(tmp_path)


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    begun = NOON + timedelta(microseconds=1)
    writer = begin_run(tmp_path, command="undo", plan=plan(*CHANGES), undoes="x", clock=lambda: begun)
    refusal = Failure(None, "REFUSED", "größer")
    writer.record([(0, Outcome(CHANGES[0], DONE, "note")), (2, Outcome(CHANGES[2], Status.REFUSED, "", refusal))])
    run = read_run(tmp_path, writer.id)
    assert (run.id, run.command, run.created_at, run.undoes) == (writer.id, "undo", begun, "x")
    assert run.plan == plan(*CHANGES)._replace(created_at=begun)
    assert run.outcomes == {
        0: RecordedOutcome(DONE, "", "note"),
        2: RecordedOutcome(Status.REFUSED, "größer", ""),
    }
    assert not run.is_finished
    assert run.made() == [CHANGES[0]]


def test_a_run_is_finished_with_all_outcomes_and_its_last_line(runs: Journal) -> None:
    whole, without_end = runs.run(RESETS, DONE, FAILED, UNKNOWN), runs.run(RESETS, DONE, DONE, DONE, finish=False)
    without_outcome = runs.run(RESETS, DONE, FAILED, DONE)
    path = runs.path(without_outcome)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if '"changes": [1, 1]' not in line), encoding="utf-8")
    ids = (whole, without_end, without_outcome)
    assert [read_run(runs.directory, each).is_finished for each in ids] == [True, False, False]
    assert [runs.status(each) for each in ids] == ["done", "unfinished", "unfinished"]


def test_the_last_of_several_outcomes_counts(runs: Journal) -> None:
    run_id = runs.run(RESETS[:1], UNKNOWN)
    with runs.path(run_id).open("a") as file:
        file.write('{"changes": [0, 0], "status": "done", "message": ""}\n')
    assert read_run(runs.directory, run_id).outcomes[0].status is DONE


def test_runs_are_listed_newest_first(runs: Journal) -> None:
    first = runs.run(RESETS)
    second = runs.run(BACK[:1], undoes=first)
    assert list_runs(runs.directory).runs == (
        RunSummary(second, NOON + timedelta(seconds=2), "undo", "cluster", ("a",), 1, "done", first, is_undoable=True),
        RunSummary(
            first, NOON + timedelta(seconds=1), "reset", "cluster", ("a", "b"), 3, "done", None, is_undoable=True
        ),
    )
    assert list_ids(runs.directory) == [second, first]


def test_runs_of_one_second_are_in_their_order(runs: Journal) -> None:
    ids = [runs.run(step=timedelta(milliseconds=1)) for _ in range(3)]
    assert ids == sorted(ids, reverse=True)
    assert [run.id for run in list_runs(runs.directory).runs] == ids[::-1]


def test_a_missing_directory_has_no_runs(tmp_path: Path) -> None:
    assert (list_runs(tmp_path / "x"), list_ids(tmp_path / "x")) == (RunList((), ()), [])
    with pytest.raises(JournalError, match="there is no run 'a' in "):
        read_run(tmp_path / "x", "a")


def test_a_directory_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(JournalError, match=r"cannot read the journal in .*: Not a directory; check its permissions"):
        list_runs(tmp_path / "file")


def test_a_journal_that_was_cut_at_any_byte_is_listed(runs: Journal) -> None:
    # No two outcomes that follow each other are equal, so each has a line.
    path = runs.path(runs.run(CHANGES, *islice(cycle((DONE, FAILED)), len(CHANGES))))
    content = path.read_bytes()
    lines = content.splitlines(keepends=True)
    begun_at, head_at = len(b"".join(lines[: 1 + len([*change_documents(CHANGES)])])), len(lines[0])
    for size in range(len(content) + 1):
        path.write_bytes(content[:size])
        runs_, notes, _ = list_runs(runs.directory)
        summary = runs_[0]
        assert (len(runs_), notes, summary.id) == (1, (), path.stem)
        assert summary.status == ("done" if size == len(content) else "unfinished")
        assert summary.command == ("reset" if size >= head_at else "")
        assert summary.changes == (len(CHANGES) if size >= begun_at else 0)
        if size >= begun_at:
            run = read_run(runs.directory, path.stem)
            assert run.plan.changes == CHANGES
            assert len(run.outcomes) == content[begun_at:size].count(b'"}\n')
        else:
            with pytest.raises(JournalError, match="it changed nothing; there is nothing to undo"):
                read_run(runs.directory, path.stem)


def test_a_run_that_ended_in_its_first_line_has_the_time_of_its_id(runs: Journal) -> None:
    path = runs.directory / "20261123-114502-a3f9c1.jsonl"
    path.write_bytes(b'{"schema"')
    begun = datetime(2026, 11, 23, 11, 45, 2, tzinfo=UTC)
    assert list_runs(runs.directory).runs == (RunSummary(path.stem, begun, "", "", (), 0, "unfinished", None),)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "x",
        "5",
        "null",
        "[]",
        '{"changes": 0, "status": "done"}',
        '{"changes": [0], "status": "done"}',
        '{"changes": [9, 9], "status": "done"}',
        '{"changes": [0, 2], "status": "done"}',
        '{"changes": [0, -1], "status": "done"}',
        '{"changes": [0.0, 0.0], "status": "done"}',
        '{"changes": [0, 0], "status": "odd"}',
        "[" * 100_000,
    ],
    ids=lambda line: line[:40],
)
def test_a_malformed_outcome_is_an_outcome_that_is_not_known(runs: Journal, line: str) -> None:
    run_id = runs.run(RESETS[:2], FAILED, DONE)
    path = runs.path(run_id)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:3], line, *lines[4:], ""]), encoding="utf-8")
    run = read_run(runs.directory, run_id)
    assert (list(run.outcomes), run.is_finished) == ([1], False)


def _replaced(**values: object) -> Any:
    return lambda document: {**document, **values}


@pytest.mark.parametrize(
    ("number", "change", "reason"),
    [
        (
            0,
            _replaced(schema="kafka-groups/journal/2"),
            'its schema is "kafka-groups/journal/2"; expected kafka-groups/',
        ),
        (0, lambda _: ["x"], "its schema is null; expected kafka-groups/journal/1"),
        (0, _replaced(id="20261123-120001-other"), "its first line is malformed"),
        (0, _replaced(changes=True), "its first line is malformed"),
        (0, _replaced(changes=-1), "its first line is malformed"),
        (0, _replaced(undoes=5), "its first line is malformed"),
        (0, _replaced(command=None), "its first line is malformed"),
        (0, _replaced(created_at="noon"), 'created_at is "noon"; it must be a time'),
        (2, _replaced(rows=[[-1, *[None] * 8]]), ", line 3.partition is -1; it must be a whole number"),
        (2, _replaced(rows=[[0]]), "its name or a line is malformed"),
        (2, _replaced(rows=[7]), "its name or a line is malformed"),
        (2, _replaced(rows=None), "; it must be an object with rows"),
        (2, lambda _: 5, ", line 3 is 5; it must be an object with rows"),
    ],
)
def test_a_malformed_journal_is_skipped_with_a_note(runs: Journal, number: int, change: Any, reason: str) -> None:
    broken, sound = runs.run(), runs.run()
    path = runs.path(broken)
    lines = path.read_text().splitlines()
    lines[number] = json.dumps(change(json.loads(lines[number])))
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    found = list_runs(runs.directory)
    assert [run.id for run in found.runs] == [sound]
    (note,) = found.notes
    assert note.startswith(str(path))
    assert reason in note
    assert note.endswith("; it was skipped")
    with pytest.raises(JournalError) as caught:
        read_run(runs.directory, broken)
    assert f"{caught.value}; it was skipped" == note


@pytest.mark.parametrize("content", [b"x\n", b"\xff\xfe\0\n", b"\n\n", b"[" * 100_000 + b"\n"])
def test_a_file_that_is_not_json_is_skipped_with_a_note(runs: Journal, content: bytes) -> None:
    path = runs.directory / "20261123-114502-a3f9c1.jsonl"
    path.write_bytes(content)
    note = f"{path} is not the journal of a run: its name or a line is malformed; it was skipped"
    assert list_runs(runs.directory) == RunList((), (note,), (path.stem,))


def test_other_files_are_skipped_with_a_note(runs: Journal) -> None:
    sound = runs.run()
    misnamed = runs.directory / "20261399-000000-a.jsonl"
    misnamed.touch()
    (runs.directory / "20261123-000000-a.jsonl").mkdir()
    (runs.directory / "notes.txt").touch()
    (runs.directory / f"{sound}.jsonl.bak").touch()
    found = list_runs(runs.directory)
    assert [run.id for run in found.runs] == [sound]
    assert found.notes == (
        f"{runs.directory}/20261123-000000-a.jsonl cannot be read: Is a directory; it was skipped",
        f"{runs.directory}/{sound}.jsonl.bak is not the journal of a run; it was skipped",
        f"{misnamed} is not the journal of a run: its name or a line is malformed; it was skipped",
        f"{runs.directory}/notes.txt is not the journal of a run; it was skipped",
    )


def test_the_start_of_an_id_is_enough_if_there_is_only_one(runs: Journal) -> None:
    first, second = runs.run(), runs.run()
    assert read_run(runs.directory, first[:-3]).id == first
    with pytest.raises(JournalError) as caught:
        read_run(runs.directory, "20261123-1200")
    assert str(caught.value) == (
        f"2 runs have ids that start with '20261123-1200' in {runs.directory}; `kafka-groups undo --list` lists the ids"
    )
    assert read_run(runs.directory, second).id == second


def test_an_id_that_another_one_starts_with_is_found(runs: Journal) -> None:
    tokens = iter(["a", "ab"])
    for _ in range(2):
        begin_run(runs.directory, command="reset", plan=plan(), clock=lambda: NOON, token=lambda: next(tokens))
    assert read_run(runs.directory, "20261123-120000-a").id == "20261123-120000-a"


@pytest.mark.parametrize("run_id", ["", "..", ".", "../x", "a/b", "/etc/passwd", "a\\b", "20261123*", "A", "a\n", "ä"])
def test_a_text_that_is_no_id_is_refused(runs: Journal, run_id: str) -> None:
    runs.run()
    with pytest.raises(JournalError, match="is not the id of a run"):
        read_run(runs.directory, run_id)


def test_an_id_without_a_run_is_an_error_with_the_next_step(runs: Journal) -> None:
    runs.run()
    with pytest.raises(JournalError) as caught:
        read_run(runs.directory, "20270101")
    assert str(caught.value) == (
        f"there is no run '20270101' in {runs.directory}; `kafka-groups undo --list` lists the ids"
    )


def test_a_misspelt_id_gets_the_nearest_one(runs: Journal) -> None:
    run_id = runs.run()
    with pytest.raises(JournalError) as caught:
        read_run(runs.directory, run_id.replace("-", "", 1))
    assert str(caught.value).endswith(f"`kafka-groups undo --list` lists the ids; did you mean '{run_id}'?")
    runs.run()
    with pytest.raises(JournalError, match="start with '2026'") as caught:
        read_run(runs.directory, "2026")
    assert "did you mean" not in str(caught.value)


def test_a_journal_that_is_damaged_is_named(runs: Journal) -> None:
    runs.run(RESETS)
    runs.path("20261123-130000-a3f9c1").write_text("{}\n")
    assert list_runs(runs.directory).damaged == ("20261123-130000-a3f9c1",)

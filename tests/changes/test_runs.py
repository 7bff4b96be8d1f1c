"""The runs of a journal are read whatever happened while it was written."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.changes.change import Outcome, Status
from kafka_groups.changes.journal import RunHead, begin_run
from kafka_groups.changes.journal_location import LocalJournal
from kafka_groups.changes.plan_file import change_documents
from kafka_groups.changes.run_record import RecordedOutcome
from kafka_groups.changes.runs import RunList, list_ids, list_runs, read_run
from kafka_groups.errors import JournalError
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.model import Failure
from tests.changes.plans import CHANGES, NOON, plan
from tests.changes.written_runs import BACK, DONE, FAILED, RESETS, UNKNOWN, Journal
from tests.note_texts import texts_of


@pytest.fixture
def runs(tmp_path: Path) -> Journal:
    return Journal(tmp_path)


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    begun = NOON + timedelta(microseconds=1)
    head = RunHead("undo", plan(*CHANGES), ("b1:9092",), undoes="x", refused=1, failures=2, other_groups=("h",))
    writer = begin_run(LocalJournal(tmp_path), head, clock=lambda: begun)
    refusal = Failure(None, "REFUSED", "größer")
    writer.record([(0, Outcome(CHANGES[0], DONE, "note")), (2, Outcome(CHANGES[2], Status.REFUSED, "", refusal))])
    run = read_run(LocalJournal(tmp_path), writer.id)
    assert (run.sequence, run.bootstrap_servers, run.refused, run.failures) == (1, ("b1:9092",), 1, 2)
    assert run.other_groups == ("h",)
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
    assert [read_run(runs.location, each).is_finished for each in ids] == [True, False, False]
    assert [runs.status(each) for each in ids] == ["partly done", "unfinished", "unfinished"]


def test_the_last_of_several_outcomes_counts(runs: Journal) -> None:
    run_id = runs.run(RESETS[:1], UNKNOWN)
    with runs.path(run_id).open("a") as file:
        file.write('{"changes": [0, 0], "status": "done", "message": ""}\n')
    assert read_run(runs.location, run_id).outcomes[0].status is DONE


def test_runs_are_listed_newest_first(runs: Journal) -> None:
    first = runs.run(RESETS)
    second = runs.run(BACK[:1], undoes=first)
    listed = list_runs(runs.location).runs
    assert [(each.run.id, each.run.command, each.run.undoes) for each in listed] == [
        (second, "undo", first),
        (first, "reset", None),
    ]
    assert [(each.groups, len(each.run.plan.changes)) for each in listed] == [(("a",), 1), (("a", "b"), 3)]
    assert list_ids(runs.location) == [second, first]


@pytest.mark.parametrize("step", [timedelta(milliseconds=1), timedelta(hours=-1)], ids=["one second", "clock set back"])
def test_runs_are_in_the_order_of_the_journal_whatever_the_clock_says(runs: Journal, step: timedelta) -> None:
    ids = [runs.run(step=step) for _ in range(3)]
    assert [listed.run.id for listed in list_runs(runs.location).runs] == ids[::-1]


def test_the_rows_of_a_run_are_counted_by_status(runs: Journal) -> None:
    runs.run(RESETS, DONE, FAILED, refused=2)
    runs.run(RESETS, DONE, UNKNOWN, finish=False, other_groups=("z",))
    unfinished, finished = list_runs(runs.location).runs
    assert {status.value: count for status, count in finished.rows.items()} == {
        "planned": 0,
        "done": 2,
        "refused": 2,
        "failed": 1,
        "unknown": 0,
    }
    assert [unfinished.rows[status] for status in (Status.PLANNED, DONE, UNKNOWN)] == [1, 1, 1]
    assert unfinished.groups == ("a", "b", "z")


def test_a_record_of_an_earlier_version_is_read_without_an_order(runs: Journal) -> None:
    first = runs.run(RESETS[:1])
    path = runs.path(first)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    old = {key: lines[0][key] for key in ("id", "command", "cluster_id", "created_at", "undoes", "changes")}
    documents = [{"schema": "kafka-groups/journal/1", **old}, *lines[1:]]
    path.write_text("".join(f"{json.dumps(each)}\n" for each in documents))
    (listed,) = list_runs(runs.location).runs
    assert (listed.run.sequence, listed.run.has_counts, listed.status) == (None, False, "done")
    assert listed.run.plan.changes == RESETS[:1]


def test_a_missing_directory_has_no_runs(tmp_path: Path) -> None:
    missing = LocalJournal(tmp_path / "x")
    assert (list_runs(missing), list_ids(missing)) == (RunList((), ()), [])
    with pytest.raises(JournalError, match="there is no run 'a' in "):
        read_run(missing, "a")


def test_a_directory_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(JournalError, match=r"cannot read the journal in .*: Not a directory; check its permissions"):
        list_runs(LocalJournal(tmp_path / "file"))


@pytest.mark.slow
def test_a_journal_that_was_cut_at_any_byte_is_listed(runs: Journal) -> None:
    # No two outcomes that follow each other are equal, so each has a line.
    path = runs.path(runs.run(CHANGES, *islice(cycle((DONE, FAILED)), len(CHANGES))))
    content = path.read_bytes()
    lines = content.splitlines(keepends=True)
    begun_at, head_at = len(b"".join(lines[: 1 + len([*change_documents(CHANGES)])])), len(lines[0])
    for size in range(len(content) + 1):
        path.write_bytes(content[:size])
        listed, notes, _ = list_runs(runs.location)
        run = listed[0].run
        assert (len(listed), notes, run.id) == (1, (), path.stem)
        assert listed[0].status == ("partly done" if size == len(content) else "unfinished")
        assert run.command == ("reset" if size >= head_at else "")
        assert (len(run.plan.changes), run.is_whole) == ((len(CHANGES), True) if size >= begun_at else (0, False))
        if size >= begun_at:
            run = read_run(runs.location, path.stem)
            assert run.plan.changes == CHANGES
            assert len(run.outcomes) == content[begun_at:size].count(b'"}\n')
        else:
            with pytest.raises(JournalError, match="it changed nothing; there is nothing to undo"):
                read_run(runs.location, path.stem)


def test_a_run_that_ended_in_its_first_line_has_the_time_of_its_id(runs: Journal) -> None:
    path = runs.directory / "20261123-114502-a3f9c1.jsonl"
    path.write_bytes(b'{"schema"')
    (listed,) = list_runs(runs.location).runs
    assert (listed.run.created_at, listed.status) == (datetime(2026, 11, 23, 11, 45, 2, tzinfo=UTC), "unfinished")
    assert not listed.run.is_whole


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
    run = read_run(runs.location, run_id)
    assert (list(run.outcomes), run.is_finished) == ([1], False)


def _replaced(**values: object) -> Any:
    return lambda document: {**document, **values}


@pytest.mark.parametrize(
    ("number", "change", "reason"),
    [
        (
            0,
            _replaced(schema="kafka-groups/journal/3"),
            'its schema is "kafka-groups/journal/3"; expected kafka-groups/',
        ),
        (0, lambda _: ["x"], "its schema is null; expected kafka-groups/journal/2"),
        (0, _replaced(id="20261123-120001-other"), "its first line is malformed"),
        (0, _replaced(changes=True), "its first line is malformed"),
        (0, _replaced(changes=-1), "its first line is malformed"),
        (0, _replaced(undoes=5), "its first line is malformed"),
        (0, _replaced(sequence="1"), "its first line is malformed"),
        (0, _replaced(refused=-1), "its first line is malformed"),
        (0, _replaced(bootstrap_servers="b1:9092"), "its first line is malformed"),
        (0, _replaced(other_groups=[5]), "its first line is malformed"),
        (1, _replaced(topic_id="x"), "topic_id: 'x' is not a topic id"),
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
    found = list_runs(runs.location)
    assert [listed.run.id for listed in found.runs] == [sound]
    (note,) = found.notes
    assert note.text.startswith(str(path))
    assert reason in note.text
    assert note.text.endswith("; it was skipped")
    with pytest.raises(JournalError) as caught:
        read_run(runs.location, broken)
    assert f"{caught.value}; it was skipped" == note.text


@pytest.mark.parametrize("content", [b"x\n", b"\xff\xfe\0\n", b"\n\n", b"[" * 100_000 + b"\n"])
def test_a_file_that_is_not_json_is_skipped_with_a_note(runs: Journal, content: bytes) -> None:
    path = runs.directory / "20261123-114502-a3f9c1.jsonl"
    path.write_bytes(content)
    text = f"{path} is not the journal of a run: its name or a line is malformed; it was skipped"
    assert list_runs(runs.location) == RunList((), (Note(NoteKind.JOURNAL, None, text),), (path.stem,))


def test_other_files_are_skipped_with_a_note(runs: Journal) -> None:
    sound = runs.run()
    misnamed = runs.directory / "20261399-000000-a.jsonl"
    misnamed.touch()
    (runs.directory / "20261123-000000-a.jsonl").mkdir()
    (runs.directory / "notes.txt").touch()
    (runs.directory / f"{sound}.jsonl.bak").touch()
    found = list_runs(runs.location)
    assert [listed.run.id for listed in found.runs] == [sound]
    assert {note.kind for note in found.notes} == {NoteKind.JOURNAL}
    assert texts_of(found.notes) == [
        f"{runs.directory}/20261123-000000-a.jsonl cannot be read: Is a directory; it was skipped",
        f"{sound}.jsonl.bak in {runs.directory} is not the record of a run; it was skipped",
        f"{misnamed} is not the journal of a run: its name or a line is malformed; it was skipped",
        f"notes.txt in {runs.directory} is not the record of a run; it was skipped",
    ]


def test_a_journal_that_is_damaged_is_named(runs: Journal) -> None:
    runs.run(RESETS)
    runs.path("20261123-130000-a3f9c1").write_text("{}\n")
    assert list_runs(runs.location).damaged == ("20261123-130000-a3f9c1",)

"""A run's journal is on the disk, and readable for its user alone, before anything is changed."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.changes import journal
from kafka_groups.changes.change import Outcome, Status
from kafka_groups.changes.journal import JournalWriter, RunHead, begin_run
from kafka_groups.changes.journal_location import LocalJournal
from kafka_groups.changes.runs import list_runs, read_run
from kafka_groups.errors import JournalError
from kafka_groups.model import Failure
from tests.changes.plans import CHANGES, NOON, plan

BEGUN = NOON.replace(hour=11, minute=45, second=2)


def begin(directory: Path, token: Callable[[], str] = lambda: "a3f9c1", count: int = 2) -> JournalWriter:
    """Begin a reset with the first changes."""
    head = RunHead("reset", plan(*CHANGES[:count]))
    return begin_run(LocalJournal(directory), head, clock=lambda: BEGUN, token=token)


def lines_of(directory: Path) -> list[dict[str, Any]]:
    """Return the lines of the only file."""
    (path,) = directory.iterdir()
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def fail(code: int) -> Callable[..., int]:
    """Return a function of the operating system that fails."""

    def call(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    return call


def test_the_id_is_the_time_of_the_run_and_random_characters(tmp_path: Path) -> None:
    writer = begin(tmp_path)
    assert (writer.id, [path.name for path in tmp_path.iterdir()]) == (
        "20261123-114502-a3f9c1",
        ["20261123-114502-a3f9c1.jsonl"],
    )


def test_the_run_and_its_changes_are_written_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "ada")
    monkeypatch.setattr("socket.gethostname", lambda: "laptop")
    changes = [change._replace(topic_id="l8UO-lRzRMeJpHJDj3pMqw") for change in CHANGES[:2]]
    head = RunHead("undo", plan(*changes), ("b1:9092",), undoes="x", refused=1, failures=2, other_groups=("h",))
    begin_run(LocalJournal(tmp_path), head, clock=lambda: BEGUN, token=lambda: "a")
    first = {
        "schema": "kafka-groups/journal/2",
        "id": "20261123-114502-a",
        "sequence": 1,
        "command": "undo",
        "cluster_id": "cluster",
        "bootstrap_servers": ["b1:9092"],
        "user": "ada",
        "host": "laptop",
        "created_at": "2026-11-23T11:45:02Z",
        "undoes": "x",
        "settles": False,
        "changes": 2,
        "refused": 1,
        "failures": 2,
        "other_groups": ["h"],
    }
    rows = [[0, 5, 2, "note", 9, 3, "restored", None, None], [1, None, None, None, 0, None, None, None, None]]
    shared = {"action": "commit", "group": "g", "group_type": None, "topic": "t", "topic_id": "l8UO-lRzRMeJpHJDj3pMqw"}
    assert lines_of(tmp_path) == [first, {**shared, "rows": rows}]


@pytest.mark.parametrize("later", [timedelta(hours=1), timedelta(0), timedelta(days=-400)])
def test_each_run_has_a_number_above_those_before_it_whatever_the_clock_says(tmp_path: Path, later: timedelta) -> None:
    tokens, moments = iter("abc"), iter([NOON, NOON + later, NOON + 2 * later])
    location = LocalJournal(tmp_path)
    for _ in range(3):
        begin_run(location, RunHead("reset", plan()), clock=lambda: next(moments), token=lambda: next(tokens))
    runs = [listed.run for listed in list_runs(location).runs]
    assert [(run.sequence, run.id[-1]) for run in runs] == [(3, "c"), (2, "b"), (1, "a")]


def test_a_damaged_record_does_not_stop_the_numbers(tmp_path: Path) -> None:
    begin(tmp_path, lambda: "a")
    (tmp_path / "20261123-114502-b.jsonl").write_bytes(b"\xff")
    (tmp_path / "20261123-114502-c.jsonl").mkdir()
    begin(tmp_path, lambda: "d")
    assert read_run(LocalJournal(tmp_path), "20261123-114502-d").sequence == 2


def test_outcomes_and_the_end_are_appended(tmp_path: Path) -> None:
    writer = begin(tmp_path)
    refusal = Failure(None, "REFUSED", "the commit has changed")
    writer.record([(1, Outcome(CHANGES[1], Status.REFUSED, failure=refusal))])
    writer.record([(0, Outcome(CHANGES[0], Status.DONE, note="read back"))])
    writer.finish()
    assert lines_of(tmp_path)[2:] == [
        {"changes": [1, 1], "status": "refused", "message": "the commit has changed"},
        {"changes": [0, 0], "status": "done", "note": "read back"},
        {"finished": True},
    ]


def test_equal_outcomes_of_changes_that_follow_each_other_are_one_line(tmp_path: Path) -> None:
    writer = begin(tmp_path)
    done, failed = Outcome(CHANGES[0], Status.DONE), Outcome(CHANGES[0], Status.FAILED, failure=Failure(None, "X", "x"))
    noted = done._replace(note="read back")
    writer.record(enumerate([done, done, done, failed, noted, noted]))
    writer.record([(7, done), (9, done), (10, done)])
    assert [line["changes"] for line in lines_of(tmp_path)[2:]] == [[0, 2], [3, 3], [4, 5], [7, 7], [9, 10]]


def test_no_outcomes_are_no_write(tmp_path: Path) -> None:
    writer = begin(tmp_path)
    (tmp_path / f"{writer.id}.jsonl").unlink()
    writer.record([])


def test_the_directory_may_be_a_symbolic_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    link = tmp_path / "journal"
    link.symlink_to("disk")
    writer = begin(link)
    writer.record((index, Outcome(each, Status.DONE)) for index, each in enumerate(CHANGES[:2]))
    writer.finish()
    assert link.is_symlink()
    assert read_run(LocalJournal(tmp_path / "disk"), writer.id).is_finished


def test_the_file_and_its_directories_are_on_the_disk_when_a_run_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[os.stat_result] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor)))
    writer = begin(tmp_path / "state" / "journal")
    writer.record([(0, Outcome(CHANGES[0], Status.DONE)), (1, Outcome(CHANGES[1], Status.DONE))])
    writer.finish()
    name = f"{writer.id}.jsonl"
    files = {path.stat().st_ino: path.name for path in (tmp_path, *tmp_path.rglob("*"))}
    assert [files[each.st_ino] for each in synced] == [tmp_path.name, "state", name, "journal", name, name]
    content = (tmp_path / "state" / "journal" / name).read_bytes()
    ends = [len(b"".join(content.splitlines(keepends=True)[:count])) for count in (2, 3, 4)]
    assert [each.st_size for each in synced if files[each.st_ino] == name] == ends


def test_two_runs_never_share_a_file(tmp_path: Path) -> None:
    tokens = iter(["a", "a", "a", "b"])
    first = begin(tmp_path, lambda: next(tokens))
    content = (tmp_path / f"{first.id}.jsonl").read_bytes()
    second = begin(tmp_path, lambda: next(tokens))
    assert [first.id, second.id] == ["20261123-114502-a", "20261123-114502-b"]
    assert (tmp_path / f"{first.id}.jsonl").read_bytes() == content


def test_a_run_without_a_free_name_does_not_begin(tmp_path: Path) -> None:
    begin(tmp_path)
    with pytest.raises(JournalError, match="File exists; nothing was changed"):
        begin(tmp_path)


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: write(descriptor, content[:7]))
    begin(tmp_path)
    assert len(lines_of(tmp_path)) == 2


@pytest.mark.parametrize("name", ["write", "fsync"])
def test_a_journal_that_cannot_be_written_stops_the_run_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(os, name, fail(errno.ENOSPC))
    with pytest.raises(JournalError) as caught:
        begin(tmp_path)
    assert str(caught.value) == (
        f"cannot write the journal in {tmp_path}: No space left on device; nothing was changed; "
        "check the permissions of the directory and the space on its disk"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_signal_while_the_journal_is_written_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        begin(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("below", [".", "journal", "a/b"])
def test_a_file_in_the_place_of_the_directory_stops_the_run(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(JournalError, match="Not a directory; nothing was changed; check the permissions"):
        begin(tmp_path / "file" / below)


def test_a_link_to_nothing_stops_the_run(tmp_path: Path) -> None:
    (tmp_path / "journal").symlink_to("missing")
    with pytest.raises(JournalError, match="nothing was changed"):
        begin(tmp_path / "journal")


def fail_to_sync_directories(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    fsync = os.fsync

    def sync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(code, os.strerror(code))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", sync)


def test_a_file_system_that_cannot_sync_directories_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_to_sync_directories(monkeypatch, errno.EINVAL)
    begin(tmp_path / "new")


def test_a_directory_that_may_not_be_on_the_disk_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_to_sync_directories(monkeypatch, errno.EIO)
    with pytest.raises(JournalError, match="nothing was changed"):
        begin(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("is_last", [False, True], ids=["outcome", "end"])
def test_an_outcome_that_cannot_be_written_is_an_error_that_names_the_next_step(tmp_path: Path, is_last: bool) -> None:
    writer = begin(tmp_path, count=1)
    path = tmp_path / f"{writer.id}.jsonl"
    path.unlink()
    path.symlink_to("/dev/full")
    with pytest.raises(JournalError) as caught:
        writer.finish() if is_last else writer.record([(0, Outcome(CHANGES[0], Status.DONE))])
    assert str(caught.value) == (
        f"cannot write the outcomes to {path}: No space left on device; the changes were made; "
        f"`kafka-groups undo {writer.id}` can find out which"
    )


def test_a_journal_that_was_deleted_is_not_created_again(tmp_path: Path) -> None:
    writer = begin(tmp_path)
    (tmp_path / f"{writer.id}.jsonl").unlink()
    with pytest.raises(JournalError, match="No such file or directory; the changes were made"):
        writer.finish()
    assert list(tmp_path.iterdir()) == []


def test_after_a_part_of_a_line_the_next_write_starts_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = begin(tmp_path, count=1)
    write, calls = os.write, list[int]()

    def write_part(descriptor: int, content: bytes) -> int:
        calls.append(descriptor)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, content[:9])

    done = [(0, Outcome(CHANGES[0], Status.DONE))]
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_part)
        with pytest.raises(JournalError):
            writer.record(done)
    writer.record(done)
    writer.finish()
    assert read_run(LocalJournal(tmp_path), writer.id).is_finished


def test_real_tokens_and_times_make_different_ids(tmp_path: Path) -> None:
    location = LocalJournal(tmp_path)
    ids = {begin_run(location, RunHead("reset", plan())).id for _ in range(3)}
    runs = [listed.run for listed in list_runs(location).runs]
    assert {run.id for run in runs} == ids
    assert len(ids) == 3
    assert max(run.created_at for run in runs) - min(run.created_at for run in runs) < timedelta(minutes=1)


def test_the_schema_has_a_number() -> None:
    assert journal.SCHEMA == "kafka-groups/journal/2"

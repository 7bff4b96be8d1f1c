"""What is no regular file in the directory of a journal is a damaged record, and blocks no command."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups.changes.runs import list_runs, read_run
from kafka_groups.changes.undo_choice import choose_newest_run
from kafka_groups.errors import JournalError
from tests.changes.written_runs import Journal
from tests.note_texts import texts_of

OTHER = "20261123-130000-abc"
REASON = "it is not a regular file"


@pytest.fixture
def runs(tmp_path: Path) -> Journal:
    return Journal(tmp_path)


@pytest.fixture(autouse=True)
def time_limit() -> Iterator[None]:
    """Fail a test whose command waits for a pipe."""

    def stop(*_: object) -> None:
        pytest.fail("the command waits for a pipe")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def test_a_pipe_is_a_damaged_record(runs: Journal) -> None:
    newest = runs.run()
    os.mkfifo(runs.path(OTHER))
    listed = list_runs(runs.location)
    assert [each.run.id for each in listed.runs] == [newest]
    assert listed.damaged == (OTHER,)
    assert texts_of(listed.notes) == [f"{runs.path(OTHER)} cannot be read: {REASON}; it was skipped"]


def test_a_run_begins_beside_a_pipe(runs: Journal) -> None:
    os.mkfifo(runs.path(OTHER))
    first, second = runs.run(), runs.run()
    assert [read_run(runs.location, each).sequence for each in (first, second)] == [1, 2]


def test_an_undo_beside_a_later_pipe_needs_an_id(runs: Journal) -> None:
    runs.run()
    os.mkfifo(runs.path(OTHER))
    with pytest.raises(JournalError, match=f"the record of run {OTHER} cannot be read, and it may be the newest"):
        choose_newest_run(runs.location, cluster_id="cluster", bootstrap_servers=("b1:9092",))


def test_a_pipe_that_is_named_is_an_error(runs: Journal) -> None:
    os.mkfifo(runs.path(OTHER))
    with pytest.raises(JournalError, match=REASON):
        read_run(runs.location, OTHER)


def test_a_link_to_a_pipe_is_a_damaged_record(runs: Journal) -> None:
    os.mkfifo(runs.directory / "pipe")
    runs.path(OTHER).symlink_to(runs.directory / "pipe")
    assert list_runs(runs.location).damaged == (OTHER,)


def test_a_socket_is_a_damaged_record(runs: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs.directory)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{OTHER}.jsonl")
        assert list_runs(runs.location).damaged == (OTHER,)


def test_a_link_to_a_record_is_read(runs: Journal) -> None:
    run_id = runs.run()
    record = runs.directory / "record"
    runs.path(run_id).rename(record)
    runs.path(run_id).symlink_to(record)
    assert read_run(runs.location, run_id).id == run_id

"""Where the journal is, and who may read it: its user alone, or for a named one those whom the umask allows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups.changes.journal import RunHead, begin_run
from kafka_groups.changes.journal_location import LocalJournal, open_journal
from kafka_groups.errors import JournalError
from tests.changes.plans import CHANGES, plan


def begin(directory: Path) -> None:
    """Begin a reset of two partitions."""
    begin_run(LocalJournal(directory), RunHead("reset", plan(*CHANGES[:2])))


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o177], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Set the umask of the process during a test."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_only_the_user_can_read_the_file(tmp_path: Path) -> None:
    begin(tmp_path)
    assert [mode_of(path) for path in tmp_path.iterdir()] == [0o600]


def test_missing_directories_are_created_for_the_user_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    begin(tmp_path / "state" / "kafka-groups" / "journal")
    created = [tmp_path / "state", tmp_path / "state" / "kafka-groups", tmp_path / "state" / "kafka-groups" / "journal"]
    assert [mode_of(path) for path in (tmp_path, *created)] == [0o755, 0o700, 0o700, 0o700]


def test_a_directory_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    begin(tmp_path)
    assert mode_of(tmp_path) == 0o750


def test_the_journal_is_in_the_state_directory_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    journal = open_journal()
    assert (journal.name, journal.is_shared) == (str(tmp_path / "kafka-groups" / "journal"), False)


@pytest.mark.usefixtures("umask")
def test_the_mode_of_a_journal_that_was_named_is_that_of_the_umask(tmp_path: Path, umask: int) -> None:
    location = open_journal(str(tmp_path / "shared" / "journal"))
    begin_run(location, RunHead("reset", plan()))
    (file,) = (tmp_path / "shared" / "journal").iterdir()
    directories = (tmp_path / "shared", tmp_path / "shared" / "journal")
    assert [mode_of(each) for each in directories] == [0o777 & ~umask] * 2
    assert (mode_of(file), location.is_shared) == (0o666 & ~umask, True)


def test_a_user_without_a_home_directory_gets_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_to_find(_: str) -> Path:
        raise RuntimeError

    monkeypatch.setattr("platformdirs.user_state_path", fail_to_find)
    with pytest.raises(JournalError, match="set HOME, XDG_STATE_HOME or --journal"):
        open_journal()

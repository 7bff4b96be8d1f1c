"""The state file, the directory and the lock of a sandbox."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox import SandboxSpec, up
from kafka_groups.sandbox.directory import SandboxDirectory, lock_sandbox, sandbox_directory
from kafka_groups.sandbox.processes import ProcessId
from kafka_groups.sandbox.state_file import Node, SandboxState, read_state, write_state
from tests.special_files import make_device

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

STATE = SandboxState(
    kafka_version="4.3.1",
    cluster_id="abc",
    java="/usr/bin/java",
    jvm=("-Xmx512m",),
    nodes=(
        Node(id=1, port=9092, controller_port=20001),
        Node(id=2, port=9093, controller_port=20002),
    ),
    zookeeper_port=None,
    processes={"broker-1": ProcessId(pid=12, created=1.5)},
    profile=True,
    complete=True,
)


@pytest.fixture
def directory(tmp_path: Path) -> SandboxDirectory:
    directory = sandbox_directory("mine", home=tmp_path)
    directory.create()
    return directory


def test_a_written_state_is_read_back(directory: SandboxDirectory) -> None:
    write_state(directory, STATE)

    assert read_state(directory) == STATE
    assert STATE.bootstrap == "127.0.0.1:9092,127.0.0.1:9093"


def test_a_sandbox_that_was_never_started_has_no_state(tmp_path: Path) -> None:
    assert read_state(sandbox_directory("never-started", home=tmp_path)) is None


@pytest.mark.parametrize("kind", ["FIFO", "device"])
def test_a_special_file_in_place_of_the_state_is_refused_and_stays(directory: SandboxDirectory, kind: str) -> None:
    if kind == "FIFO":
        os.mkfifo(directory.state_file)
    else:
        make_device(directory.state_file)
    mode = directory.state_file.lstat().st_mode
    with pytest.raises(SandboxError, match=f"sandbox\\.json cannot be read .*it is a {kind}"):
        read_state(directory)
    with pytest.raises(SandboxError, match=f"sandbox\\.json cannot be written: it is a {kind}"):
        write_state(directory, STATE)
    assert directory.state_file.lstat().st_mode == mode


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"nodes": [], "processes": {}, "jvm": []}'])
def test_an_invalid_state_file_is_named_in_the_error(directory: SandboxDirectory, text: str) -> None:
    directory.state_file.write_text(text)

    with pytest.raises(SandboxError, match=r"sandbox\.json cannot be read .* then delete"):
        read_state(directory)


@pytest.mark.parametrize("name", ["", "..", "a/b", "Mine", "-x", "x" * 41])
def test_an_invalid_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SandboxError, match="is not a valid name of a sandbox"):
        sandbox_directory(name, home=tmp_path)


@pytest.mark.parametrize("part", ["a,b", "${HOME}", "a\nb", "\udcff"])
def test_a_path_that_kafka_would_read_as_another_one_is_refused_before_anything_is_written(
    tmp_path: Path, part: str
) -> None:
    with pytest.raises(SandboxError, match=r"Kafka cannot use the directory .* give another --dir"):
        up(SandboxSpec(home=tmp_path / part))

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("part", ["with blank", "Größe", "雪\u3000", "a'b\"c\\d#e!f=g:h%i$j"])
def test_other_paths_are_accepted(tmp_path: Path, part: str) -> None:
    sandbox_directory("mine", home=tmp_path / part).require_usable()


def test_a_directory_with_other_files_is_neither_used_nor_deleted(tmp_path: Path) -> None:
    theirs = tmp_path / "mine" / "letter.txt"
    theirs.parent.mkdir()
    theirs.write_text("dear")
    directory = sandbox_directory("mine", home=tmp_path)

    with pytest.raises(SandboxError, match="holds other files"):
        directory.create()
    directory.clear(keep_logs=False)

    assert theirs.read_text() == "dear"


def test_a_file_with_the_name_of_the_sandbox_is_neither_read_nor_deleted(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("dear")
    directory = sandbox_directory("mine", home=tmp_path)

    assert read_state(directory) is None
    directory.clear(keep_logs=False)
    with pytest.raises(SandboxError, match="cannot be created: File exists; give another --dir"):
        directory.create()

    assert (tmp_path / "mine").read_text() == "dear"


def test_a_user_without_a_home_directory_is_asked_for_one(mocker: MockerFixture) -> None:
    # What platformdirs does in a container whose user has no entry in the password file, without HOME.
    error = RuntimeError("could not determine the home directory for '~/.local/state'")
    mocker.patch("platformdirs.PlatformDirs.user_state_path", new_callable=mocker.PropertyMock, side_effect=error)

    with pytest.raises(SandboxError, match="set HOME to a directory"):
        sandbox_directory("mine", home=None)


def test_clearing_deletes_the_directory(directory: SandboxDirectory) -> None:
    write_state(directory, STATE)
    directory.log("broker-1").write_text("a line")

    directory.clear(keep_logs=False)

    assert not directory.path.exists()


def test_clearing_a_linked_directory_empties_it_and_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "big").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "big")
    directory = sandbox_directory("linked", home=tmp_path)
    directory.create()
    write_state(directory, STATE)

    directory.clear(keep_logs=False)

    assert directory.path.is_symlink()
    assert list((tmp_path / "big").iterdir()) == []


@pytest.mark.parametrize("deletions", range(7))
def test_a_directory_whose_clearing_was_killed_can_be_used_and_cleared(
    directory: SandboxDirectory, monkeypatch: pytest.MonkeyPatch, deletions: int
) -> None:
    write_state(directory, STATE)
    directory.data("broker-1").mkdir(parents=True)
    directory.log("broker-1").write_text("a line")
    left = deletions

    def kill_after_some(delete: Callable[..., None], *arguments: Any, **options: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        delete(*arguments, **options)

    with monkeypatch.context() as killed:
        killed.setattr(os, "unlink", partial(kill_after_some, os.unlink))
        killed.setattr(os, "rmdir", partial(kill_after_some, os.rmdir))
        with pytest.raises(KeyboardInterrupt):
            directory.clear(keep_logs=False)
    directory.create()
    directory.clear(keep_logs=False)

    assert not directory.path.exists()


def test_clearing_after_a_failed_start_keeps_the_logs(directory: SandboxDirectory) -> None:
    write_state(directory, STATE)
    directory.log("broker-1").write_text("a line")

    directory.clear(keep_logs=True)

    assert directory.log("broker-1").read_text() == "a line"
    assert not directory.state_file.exists()


def test_clearing_deletes_a_directory_whose_logs_could_not_be_created(directory: SandboxDirectory) -> None:
    directory.logs.rmdir()

    directory.clear(keep_logs=True)

    assert not directory.path.exists()


def test_only_one_command_holds_the_lock_of_a_sandbox(directory: SandboxDirectory) -> None:
    with lock_sandbox(directory), pytest.raises(SandboxError, match="another command"), lock_sandbox(directory):
        pass


def test_the_lock_file_is_deleted_and_the_next_command_acquires_the_lock(directory: SandboxDirectory) -> None:
    with pytest.raises(RuntimeError), lock_sandbox(directory):
        raise RuntimeError
    assert not directory.lock_file.exists()
    with lock_sandbox(directory):
        assert directory.lock_file.exists()


def test_a_lock_on_a_file_that_its_holder_has_just_deleted_does_not_count(
    directory: SandboxDirectory, mocker: MockerFixture
) -> None:
    mocker.patch("fcntl.flock", side_effect=lambda *_: directory.lock_file.unlink(missing_ok=True))

    with pytest.raises(SandboxError, match="another command"), lock_sandbox(directory):
        pass


def test_an_error_of_the_system_under_the_lock_is_raised_unchanged(directory: SandboxDirectory) -> None:
    with pytest.raises(TimeoutError), lock_sandbox(directory):
        raise TimeoutError

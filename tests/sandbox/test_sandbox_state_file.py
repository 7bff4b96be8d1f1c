"""What a sandbox remembers, and the directory it remembers it in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox.directory import Place, at_work, place_of
from kafka_groups.sandbox.processes import ProcessId
from kafka_groups.sandbox.state_file import Node, Record, read_record, write_record

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

RECORD = Record(
    kafka_version="4.3.1",
    cluster_id="abc",
    java="/usr/bin/java",
    jvm=("-Xmx512m",),
    nodes=(
        Node(id=1, port=9092, controller_port=20001),
        Node(id=2, port=9093, controller_port=20002),
    ),
    zookeeper_port=None,
    processes={"broker-1": ProcessId(pid=12, born="then")},
    profile=True,
    complete=True,
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = place_of("mine", home=tmp_path)
    place.claim()
    return place


def test_what_is_written_is_read_again(place: Place) -> None:
    write_record(place, RECORD)

    assert read_record(place) == RECORD
    assert RECORD.bootstrap == "127.0.0.1:9092,127.0.0.1:9093"


def test_no_sandbox_has_no_record(tmp_path: Path) -> None:
    assert read_record(place_of("never-started", home=tmp_path)) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"nodes": [], "processes": {}, "jvm": []}'])
def test_a_broken_record_is_an_error_that_names_the_file(place: Place, text: str) -> None:
    place.record_file.write_text(text)

    with pytest.raises(SandboxError, match=r"sandbox\.json cannot be read .* then delete"):
        read_record(place)


@pytest.mark.parametrize("name", ["", "..", "a/b", "Mine", "-x", "x" * 41])
def test_a_name_that_is_no_plain_word_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SandboxError, match="cannot name a sandbox"):
        place_of(name, home=tmp_path)


def test_a_directory_with_other_files_is_neither_taken_nor_deleted(tmp_path: Path) -> None:
    theirs = tmp_path / "mine" / "letter.txt"
    theirs.parent.mkdir()
    theirs.write_text("dear")
    place = place_of("mine", home=tmp_path)

    with pytest.raises(SandboxError, match="holds other files"):
        place.claim()
    place.clear(keep_logs=False)

    assert theirs.read_text() == "dear"


def test_clearing_deletes_all(place: Place) -> None:
    write_record(place, RECORD)
    place.log("broker-1").write_text("a line")

    place.clear(keep_logs=False)

    assert not place.directory.exists()


def test_clearing_after_a_failed_start_leaves_its_logs(place: Place) -> None:
    write_record(place, RECORD)
    place.log("broker-1").write_text("a line")

    place.clear(keep_logs=True)

    assert place.log("broker-1").read_text() == "a line"
    assert not place.record_file.exists()


def test_only_one_command_works_on_a_sandbox(place: Place) -> None:
    with at_work(place), pytest.raises(SandboxError, match="another command"), at_work(place):
        pass


def test_no_lock_stays_behind_and_the_next_command_may_work(place: Place) -> None:
    with pytest.raises(RuntimeError), at_work(place):
        raise RuntimeError
    assert not place.lock_file.exists()
    with at_work(place):
        assert place.lock_file.exists()


def test_a_lock_that_its_holder_just_deleted_keeps_nobody_out(place: Place, mocker: MockerFixture) -> None:
    mocker.patch("fcntl.flock", side_effect=lambda *_: place.lock_file.unlink())

    with pytest.raises(SandboxError, match="another command"), at_work(place):
        pass

"""A root directory is a disk or an object store with the same few operations; on a disk it needs nothing but Python."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.files import PRIVATE
from kafka_groups.files.reasons import FileSystemError
from kafka_groups.files.root_directory import RootDirectory, open_root
from tests.pipeline.store.object_stores import new_bucket, object_store


class JournalError(Exception):
    """The error that a caller of the root directory wants."""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch, object_store() as variables:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield variables["AWS_ENDPOINT_URL"]


@pytest.fixture(params=["disk", "store"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> RootDirectory:
    if request.param == "disk":
        return open_root(str(tmp_path / "mon journal #1 [prod]"))
    return open_root(f"s3://{new_bucket(request.getfixturevalue('endpoint'))}/mon journal/é")


def test_a_file_is_created_once(root: RootDirectory) -> None:
    path = root.join("runs", "7.jsonl")
    assert (root.names(root.join("runs")), root.read_small(path)) == ([], None)
    root.create_small(path, b"first\n")
    with pytest.raises(FileExistsError):
        root.create_small(path, b"second\n")
    assert (root.names(root.join("runs")), root.read_small(path)) == (["7.jsonl"], b"first\n")


def test_a_deleted_name_is_free_again(root: RootDirectory) -> None:
    path = root.join("7.jsonl")
    root.create_small(path, b"first")
    root.delete(path)
    assert (root.read_small(path), root.names(root.root)) == (None, [])
    root.delete(path)
    root.create_small(path, b"second")
    assert root.read_small(path) == b"second"


def test_a_small_file_is_replaced(root: RootDirectory) -> None:
    path = root.join("state", "last.json")
    root.write_small(path, "old")
    root.write_small(path, "é")
    assert (root.read_small(path), root.names(root.join("state"))) == ("é".encode(), ["last.json"])


def test_names_are_in_order_and_contain_directories(root: RootDirectory) -> None:
    for name in ("b", "a/below", "c", "B"):
        root.create_small(root.join(name), name.encode())
    assert root.names(root.root) == ["B", "a", "b", "c"]
    assert root.read_small(root.join("a")) is None


def test_an_empty_file_and_a_large_one_are_whole(root: RootDirectory) -> None:
    for content in (b"", os.urandom(6_000_000)):
        path = root.join(str(len(content)))
        root.create_small(path, content)
        assert root.read_small(path) == content
    root.write_small(root.join("note"), "x" * 100_000)
    assert root.read_small(root.join("note")) == b"x" * 100_000


@pytest.mark.parametrize("attempt", range(3))
def test_of_programs_that_create_one_name_at_once_at_most_one_succeeds(root: RootDirectory, attempt: int) -> None:
    path, start, created = root.join(f"{attempt}.jsonl"), threading.Barrier(4), list[bytes]()

    def create(content: bytes) -> None:
        start.wait()
        try:
            root.create_small(path, content)
        except FileExistsError:
            return
        created.append(content)

    threads = [threading.Thread(target=create, args=(f"{number}".encode(),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(created) == 1 if root.is_local else len(created) <= 1
    assert root.read_small(path) == (created[0] if created else None)


def test_a_program_that_overlaps_with_another_one_creates_nothing(endpoint: str) -> None:
    root = open_root(f"s3://{new_bucket(endpoint)}/journal")
    path, put, other = root.join("7.jsonl"), root._put, open_root(root.location)
    refused: list[str] = []

    def put_after_the_other(name: str, content: bytes) -> None:
        put(name, content)
        if ".claims" in name:
            try:
                other.create_small(path, b"other")
            except FileExistsError:
                refused.append("other")

    root._put = put_after_the_other  # type: ignore[assignment, method-assign]  # for this object only
    root.create_small(path, b"own")
    assert (refused, root.read_small(path)) == (["other"], b"own")


def test_a_name_whose_creation_was_cut_off_is_not_given_again(endpoint: str) -> None:
    root = open_root(f"s3://{new_bucket(endpoint)}/journal", failure=JournalError)
    path, put = root.join("7.jsonl"), root._put

    def lose(name: str, content: bytes) -> None:
        put(name, content)
        if ".claims" not in name:
            raise OSError(errno.ETIMEDOUT, "the response was lost")

    root._put = lose  # type: ignore[assignment, method-assign]  # for this object only
    with pytest.raises(JournalError, match=f"cannot write in {path}: .*the response was lost"):
        root.create_small(path, b"own")
    with pytest.raises(FileExistsError):
        open_root(root.location).create_small(path, b"other")
    assert root.read_small(path) == b"own"
    assert root.names(root.root) == ["7.jsonl"]


def test_new_files_and_directories_of_a_private_journal_are_private(tmp_path: Path) -> None:
    root = open_root(str(tmp_path / "state" / "journal"))
    root.create_small(root.join("7.jsonl"), b"x", mode=PRIVATE)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("state", "state/journal", "state/journal/7.jsonl")]
    assert modes == [0o700, 0o700, 0o600]


def test_a_link_that_leads_nowhere_is_a_name_that_exists(tmp_path: Path) -> None:
    root = open_root(str(tmp_path))
    (tmp_path / "link").symlink_to("missing")
    with pytest.raises(FileExistsError):
        root.create_small(root.join("link"), b"x")
    assert root.names(root.root) == ["link"]


def test_a_disk_without_hard_links_takes_new_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    root = open_root(str(tmp_path))
    root.create_small(root.join("7.jsonl"), b"x", mode=PRIVATE)
    with pytest.raises(FileExistsError):
        root.create_small(root.join("7.jsonl"), b"y")
    assert (root.names(root.root), root.read_small(root.join("7.jsonl"))) == (["7.jsonl"], b"x")
    assert (tmp_path / "7.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_new_file_and_its_new_directories_are_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[str] = []
    fsync = os.fsync

    def look(descriptor: int) -> None:
        flushed.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    root = open_root(str(tmp_path / "state" / "journal"))
    root.create_small(root.join("7.jsonl"), b"x")
    draft = flushed.pop(2)
    assert draft.startswith(f"{tmp_path}/state/journal/.")
    assert flushed == [str(tmp_path), f"{tmp_path}/state", f"{tmp_path}/state/journal"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda root: root.create_small(root.join("file", "x"), b""), "cannot create a directory in .*/file"),
        (lambda root: root.write_small(root.join("file", "x"), ""), "cannot create a directory in .*/file"),
        (lambda root: root.names(root.join("file")), "cannot list the files in .*"),
    ],
)
def test_what_a_disk_refuses_is_one_sentence_of_the_callers_error(tmp_path: Path, change: Any, sentence: str) -> None:
    (tmp_path / "file").touch()
    for failure in (JournalError, FileSystemError):
        root = open_root(str(tmp_path), failure=failure)
        with pytest.raises(failure, match=f"^{sentence}: a part of the path is a file; name another directory$"):
            change(root)
    assert open_root(str(tmp_path)).read_small(f"{tmp_path}/file/x") is None


@pytest.mark.usefixtures("endpoint")
def test_what_a_store_refuses_is_one_sentence_of_the_callers_error() -> None:
    # File systems of stores are cached by their bucket, so each module of tests needs buckets of its own.
    root = open_root("s3://nothing-here/journal", failure=JournalError)
    with pytest.raises(JournalError, match=r"cannot write in .*: .*The specified bucket does not exist"):
        root.create_small(root.join("7.jsonl"), b"")


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("gopher://x/y", "is no address of a journal; name a directory, or a bucket and a path in it"),
        ("s3://bucket", "is no address of a journal; name a directory, or a bucket and a path in it"),
        ("s3://bucket/a%20b", "has #, % or // in its path"),
        ("file:relative", "is neither a path nor a complete URI; write a path, or file:/// and"),
        ("file://host/x", "names another machine, 'host'"),
    ],
)
def test_an_address_of_nothing_is_refused_at_once(address: str, why: str) -> None:
    with pytest.raises(JournalError, match=f"^{address} {why}"):
        open_root(address, failure=JournalError, holds="a journal")


def test_a_file_uri_is_a_path(tmp_path: Path) -> None:
    assert open_root(f"file://{tmp_path}/a%20b").root == f"{tmp_path}/a b"


BARE = """
import sys
for name in ("pyarrow", "deltalake", "numpy", "filelock"):
    sys.modules[name] = None  # importing it fails, as in an install without extras
from kafka_groups.files.root_directory import open_root
root = open_root(sys.argv[1], failure=SystemExit)
path = root.join("journal", "7.jsonl")
root.create_small(path, b"x")
try:
    root.create_small(path, b"y")
except FileExistsError:
    root.write_small(root.join("journal", "8.json"), "z")
    root.delete(path)
    print(root.names(root.join("journal")), root.read_small(root.join("journal", "8.json")))
"""


def test_an_install_without_extras_uses_disks_and_names_what_stores_need(tmp_path: Path) -> None:
    def run(address: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", BARE, address]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert run(str(tmp_path)).stdout == "['8.json'] b'z'\n"
    advice = "needs a package that is not installed (pyarrow.fs); run: pip install 'kafka-groups[pipeline]'"
    assert run("s3://bucket/journal").stderr == f"s3://bucket/journal {advice}\n"

"""Regular files are replaced in one step; a write that fails leaves the old content and no draft."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from kafka_groups.files import PRIVATE, check_writable, open_new_file, write_atomically
from tests.pipeline.store.disks import small_disk


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_new_file_has_the_content_and_the_mode_less_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "public", "ä\n")
        write_atomically(tmp_path / "private", "b", mode=PRIVATE)
    finally:
        os.umask(before)
    assert (tmp_path / "public").read_text(encoding="utf-8") == "ä\n"
    assert (mode_of(tmp_path / "public"), mode_of(tmp_path / "private")) == (0o640, 0o600)


def test_bytes_are_written_unchanged(tmp_path: Path) -> None:
    write_atomically(tmp_path / "checkpoint", b"\xff\x00\r\n")
    assert (tmp_path / "checkpoint").read_bytes() == b"\xff\x00\r\n"


def test_a_write_that_fails_leaves_the_old_content_and_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")
    assert path.read_text(encoding="utf-8") == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]


@pytest.mark.parametrize("exists", [True, False])
def test_a_draft_is_never_readable_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool) -> None:
    path = tmp_path / "profiles.toml"
    if exists:
        path.write_text("old", encoding="utf-8")
        path.chmod(0o600)
    modes: list[int] = []
    fsync = os.fsync

    def look(descriptor: int) -> None:
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode):
            modes.append(status.st_mode & 0o777)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    write_atomically(path, "secret", mode=PRIVATE)
    assert (modes, mode_of(path)) == ([0o600], 0o600)


def test_a_reader_of_the_old_file_keeps_its_content(tmp_path: Path) -> None:
    path = tmp_path / "lag.prom"
    path.write_text("old content")
    with path.open() as reader:
        write_atomically(path, "new")
        assert reader.read() == "old content"
    assert path.read_text() == "new"


def test_content_and_name_are_on_the_disk_when_the_call_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    fsync = os.fsync

    def look(descriptor: int) -> None:
        flushed.append("names" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "content")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    write_atomically(tmp_path / "new", "x")
    write_atomically(tmp_path / "new", "y")
    assert flushed == ["content", "names"] * 2


def test_a_full_disk_leaves_the_old_content_and_no_draft(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", megabytes=0.25) as disk:
        path = disk / "lag.prom"
        path.write_text("old")
        with pytest.raises(OSError, match="No space left on device"):
            write_atomically(path, b"x" * 1_000_000)
        assert (path.read_text(), [file.name for file in disk.iterdir()]) == ("old", ["lag.prom"])
        with pytest.raises(OSError, match="No space left on device"):
            write_atomically(disk / "new", b"x" * 1_000_000)
        assert [file.name for file in disk.iterdir()] == ["lag.prom"]


def test_other_names_of_the_same_file_keep_the_old_content(tmp_path: Path) -> None:
    path, copy = tmp_path / "plan.json", tmp_path / "backup.json"
    path.write_text("old")
    os.link(path, copy)
    write_atomically(path, "new")
    assert (path.read_text(), copy.read_text()) == ("new", "old")


def test_a_large_file_gets_its_name_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    with open_new_file(path) as file:
        file.write(b"a,b\n")
        assert not path.exists()
    assert path.read_bytes() == b"a,b\n"
    with pytest.raises(TypeError), open_new_file(path) as file:
        file.writelines([b"half a ", "line"])  # type: ignore[list-item]  # text fails
    assert (path.read_bytes(), [file.name for file in tmp_path.iterdir()]) == (b"a,b\n", ["table.csv"])


def test_the_check_of_a_path_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    check_writable(path)
    assert list(tmp_path.iterdir()) == []
    path.write_text("old")
    check_writable(path)
    assert path.read_text() == "old"
    with pytest.raises(OSError, match="No such file or directory") as raised:
        check_writable(tmp_path / "missing" / "report.html")
    assert raised.value.errno == errno.ENOENT

"""A file that is replaced keeps its owner, mode and access list; one that cannot be replaced is written in place."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups.files import check_writable, write_atomically
from tests.pipeline.store.disks import small_disk
from tests.special_files import (
    NOBODY,
    access_list,
    another_user,
    as_root,
    cannot_run,
    mounted_file,
    set_access_list,
)


@pytest.fixture
def public() -> Iterator[Path]:
    """Yield a directory that everybody may write to, while this process is another user than root."""
    with another_user() as directory:
        yield directory


def old_file(path: Path, *, mode: int, owner: int = 0, group: int = 0) -> Path:
    path.write_text("old content")
    os.chown(path, owner, group)
    path.chmod(mode)
    return path


def owner_and_mode(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_uid, status.st_gid, status.st_mode & 0o7777


def names(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir())


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o000, 0o444, 0o1644])
def test_a_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = old_file(tmp_path / "profiles.toml", mode=mode, owner=os.geteuid(), group=os.getegid())
    if os.geteuid() != 0 and not mode & 0o200:
        cannot_run("writing a read-only file needs root")
    write_atomically(path, "new")
    assert (path.read_text(), owner_and_mode(path)[2]) == ("new", mode & 0o777)


def test_root_replaces_a_file_that_stays_another_user_s(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        cannot_run("giving a file away needs root")
    path = old_file(tmp_path / "lag.prom", mode=0o640, owner=NOBODY, group=12345)
    before = path.stat().st_ino
    write_atomically(path, "new")
    assert (path.read_text(), owner_and_mode(path)) == ("new", (NOBODY, 12345, 0o640))
    assert path.stat().st_ino != before


def test_set_user_id_is_dropped_as_by_any_write(tmp_path: Path) -> None:
    path = old_file(tmp_path / "program", mode=0o6755, owner=os.geteuid(), group=os.getegid())
    write_atomically(path, "new")
    assert owner_and_mode(path)[2] == 0o755


def test_an_access_list_is_kept(tmp_path: Path) -> None:
    path = old_file(tmp_path / "lag.prom", mode=0o600, owner=os.geteuid(), group=os.getegid())
    set_access_list(path, owner=6, user=4, group=0, mask=4)
    before = access_list(path)
    write_atomically(path, "new")
    assert (path.read_text(), access_list(path)) == ("new", before)


def test_a_file_does_not_become_readable_by_the_access_list_of_its_directory(tmp_path: Path) -> None:
    path = old_file(tmp_path / "profiles.toml", mode=0o640, owner=os.geteuid(), group=os.getegid())
    set_access_list(tmp_path, owner=7, user=7, group=7, mask=7)
    write_atomically(path, "new")
    assert (access_list(path), owner_and_mode(path)[2]) == (None, 0o640)


def test_a_file_of_a_shared_directory_keeps_its_owner_and_is_written_in_place(public: Path) -> None:
    with as_root():
        path = old_file(public / "lag.prom", mode=0o666)
    before = path.stat().st_ino
    write_atomically(path, "new")
    assert (path.read_text(), owner_and_mode(path)) == ("new", (0, 0, 0o666))
    assert (path.stat().st_ino, names(path)) == (before, ["lag.prom"])


def test_a_file_in_a_directory_that_is_not_writable_is_written_in_place(public: Path) -> None:
    path = old_file(public / "lag.prom", mode=0o600, owner=NOBODY, group=NOBODY)
    with as_root():
        public.chmod(0o755)
    check_writable(path)
    write_atomically(path, "new and longer than the old content")
    assert path.read_text() == "new and longer than the old content"
    write_atomically(path, "short")
    assert (path.read_text(), names(path)) == ("short", ["lag.prom"])
    with pytest.raises(PermissionError):
        write_atomically(public / "another", "new")
    with pytest.raises(PermissionError):
        check_writable(public / "another")


@pytest.mark.parametrize(("mode", "owner"), [(0o444, NOBODY), (0o644, 0), (0o600, 0)])
def test_a_file_that_the_user_may_not_write_is_not_replaced(public: Path, mode: int, owner: int) -> None:
    with as_root():
        path = old_file(public / "plan.json", mode=mode, owner=owner)
    with pytest.raises(PermissionError) as written:
        write_atomically(path, "new")
    with pytest.raises(PermissionError) as checked:
        check_writable(path)
    assert written.value.errno == checked.value.errno == errno.EACCES
    with as_root():
        assert (path.read_text(), owner_and_mode(path)[::2]) == ("old content", (owner, mode))


def test_a_directory_that_cannot_be_listed_takes_files(public: Path) -> None:
    folder = public / "drop"
    folder.mkdir(mode=0o300)
    write_atomically(folder / "lag.prom", "new")
    write_atomically(folder / "lag.prom", "newer")
    with as_root():
        assert (folder / "lag.prom").read_text() == "newer"
        assert names(folder / "lag.prom") == ["lag.prom"]


def test_a_file_that_is_mounted_by_itself_is_written_in_place(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside.prom", tmp_path / "container" / "lag.prom"
    inside.parent.mkdir()
    outside.write_text("old content")
    inside.touch()
    with mounted_file(outside, inside):
        write_atomically(inside, "new")
        assert names(inside) == ["lag.prom"]
    assert (outside.read_text(), inside.read_text()) == ("new", "")


def test_a_full_disk_leaves_a_file_that_is_written_in_place(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", megabytes=0.25) as disk:
        outside, inside = disk / "outside.prom", disk / "lag.prom"
        outside.write_text("old content")
        inside.touch()
        with mounted_file(outside, inside):
            (disk / "other").write_bytes(b"x" * 150_000)
            # There is space for neither a draft nor the content.
            with pytest.raises(OSError, match="No space left on device"):
                write_atomically(inside, b"y" * 200_000)
            assert inside.read_text() == "old content"


def test_an_immutable_file_is_an_error(tmp_path: Path) -> None:
    path = old_file(tmp_path / "lag.prom", mode=0o644, owner=os.geteuid(), group=os.getegid())
    if subprocess.run(["chattr", "+i", str(path)], check=False, capture_output=True).returncode:
        pytest.skip("this file system has no immutable files")
    try:
        with pytest.raises(PermissionError):
            write_atomically(path, "new")
    finally:
        subprocess.run(["chattr", "-i", str(path)], check=True)
    assert (path.read_text(), names(path)) == ("old content", ["lag.prom"])

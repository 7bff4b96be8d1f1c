"""Files are replaced in one step and keep their mode; locks exclude processes and threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kafka_groups.files import PRIVATE, lock, write_atomically

HOLD = """
import sys
from pathlib import Path
from kafka_groups.files import lock
with lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


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


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664])
def test_a_file_that_exists_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "profiles.toml"
    path.write_text("old", encoding="utf-8")
    path.chmod(mode)
    write_atomically(path, "new")
    assert (path.read_text(encoding="utf-8"), mode_of(path)) == ("new", mode)


def test_a_symbolic_link_stays_one_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    target, link = tmp_path / "dotfiles" / "profiles.toml", tmp_path / "profiles.toml"
    target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"


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
        modes.append(os.fstat(descriptor).st_mode & 0o777)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    write_atomically(path, "secret", mode=PRIVATE)
    assert (modes, mode_of(path)) == ([0o600], 0o600)


def test_a_lock_excludes_another_thread_until_it_is_released(tmp_path: Path) -> None:
    outcomes: list[str] = []

    def acquire() -> None:
        try:
            with lock(tmp_path / "sandbox.lock", timeout_s=0):
                outcomes.append("acquired")
        except TimeoutError:
            outcomes.append("refused")

    for is_held in (True, False):
        thread = threading.Thread(target=acquire)
        if is_held:
            with lock(tmp_path / "sandbox.lock"):
                thread.start()
                thread.join()
        else:
            thread.start()
            thread.join()
    assert outcomes == ["refused", "acquired"]


def test_a_lock_excludes_another_process_and_ends_with_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "directory" / "jars.lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(TimeoutError), lock(path, timeout_s=0.05):
        raise AssertionError
    holder.kill()
    holder.communicate()
    with lock(path, timeout_s=0):
        assert path.exists()

"""Locks exclude processes and threads, and end with their holder."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kafka_groups.files import lock
from kafka_groups.files.locks import LockedError, lock_until_exit

HOLD = """
import sys
from pathlib import Path
from kafka_groups.files import lock
with lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""
# The holder is killed, and its child lives until the test has ended.
FORK = """
import os, signal, sys, time
from kafka_groups.files.locks import lock_until_exit
reader, writer = os.pipe()
with lock_until_exit(sys.argv[1]):
    if os.fork() == 0:
        os.write(writer, b"started")
        time.sleep(2)
        os._exit(0)
    os.read(reader, 7)
    os.kill(os.getpid(), signal.SIGKILL)
"""


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


def test_a_refused_process_leaves_the_name_of_the_holder_in_place(tmp_path: Path) -> None:
    path = str(tmp_path / "build.lock")
    with lock_until_exit(path):
        for _ in range(3):
            with pytest.raises(LockedError, match=rf"locked by process {os.getpid()} on "), lock_until_exit(path):
                pass
    assert Path(path).read_text() == ""


def test_a_lock_ends_with_its_process_though_a_forked_child_lives(tmp_path: Path) -> None:
    path = str(tmp_path / "build.lock")
    killed = subprocess.run([sys.executable, "-c", FORK, path], check=False)
    assert killed.returncode == -signal.SIGKILL
    with lock_until_exit(path):
        pass


def test_a_lock_file_that_was_deleted_meanwhile_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "build.lock"
    with lock_until_exit(str(path)):
        path.unlink()
    assert not path.exists()


def test_a_file_system_without_locks_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int, _operation: int) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(OSError, match="not implemented"), lock_until_exit(str(tmp_path / "build.lock")):
        raise AssertionError

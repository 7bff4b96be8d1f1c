"""Locks exclude processes and threads, and end with their holder."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kafka_groups.files import lock

HOLD = """
import sys
from pathlib import Path
from kafka_groups.files import lock
with lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
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

"""Locks of a storage, between processes."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

import pytest

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.store import Storage

HOLDER = """
import sys, time
from kafka_groups.pipeline.store import open_storage
with open_storage(sys.argv[1]).lock("ingest"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_the_holder_is_reported_and_a_killed_holder_has_no_lock(storage: Storage) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, storage.location], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with (
            pytest.raises(StorageError, match=rf"\(ingest\) by process {process.pid} on {socket.gethostname()}"),
            storage.lock("ingest"),
        ):
            pass
        with storage.lock("compact"):
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
    with storage.lock("ingest"):
        pass


def test_a_lock_is_free_after_an_error_inside(storage: Storage) -> None:
    with pytest.raises(KeyError), storage.lock("ingest"):
        raise KeyError
    with storage.lock("ingest"):
        pass

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage.parquet import ParquetFormat
from kafka_groups.pipeline.storage.places import Place

HOLDER = """
import sys, time
from kafka_groups.pipeline.storage import open_storage
with open_storage(sys.argv[1]).lock("ingest"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def elsewhere(storage: Storage) -> Storage:
    place = Place(storage.into, LocalFileSystem(), storage.into, local=False)
    return Storage(place, ParquetFormat(place))


def test_who_holds_the_lock_is_told_and_the_dead_hold_nothing(storage: Storage) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, storage.into], stdout=subprocess.PIPE) as process:
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


def test_a_lock_is_free_after_an_error_inside(storage: Storage, elsewhere: Storage) -> None:
    for one in (storage, elsewhere):
        with pytest.raises(KeyError), one.lock("ingest"):
            raise KeyError
        with one.lock("ingest"):
            pass


def test_waiting_for_a_lock_ends_when_it_is_free(storage: Storage) -> None:
    held = threading.Event()

    def hold() -> None:
        with storage.lock("changing"):
            held.set()
            time.sleep(0.2)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    with storage.lock("changing", wait_s=5):
        holder.join(1)
        assert not holder.is_alive()


def test_elsewhere_a_file_names_the_holder(elsewhere: Storage) -> None:
    with elsewhere.lock("ingest"):
        with pytest.raises(StorageError, match=f"process {os.getpid()} on"), elsewhere.lock("ingest"):
            pass
        assert json.loads(Path(elsewhere.into, ".locks", "ingest.json").read_text())["pid"] == os.getpid()
    with elsewhere.lock("ingest"):
        pass


def test_elsewhere_a_dead_process_of_this_host_is_taken_over_and_one_of_another_is_not(elsewhere: Storage) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    lock = Path(elsewhere.into, ".locks", "ingest.json")
    lock.parent.mkdir()
    lock.write_text(json.dumps({"pid": gone.pid, "host": socket.gethostname(), "since": "long ago"}))
    with elsewhere.lock("ingest"):
        pass
    lock.write_text(json.dumps({"pid": gone.pid, "host": "another", "since": "long ago"}))
    with pytest.raises(StorageError, match="on another"), elsewhere.lock("ingest"):
        pass

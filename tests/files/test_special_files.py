"""Devices, FIFOs and sockets stay what they are: written in place, or refused where the file is read back."""

from __future__ import annotations

import os
import socket
import stat
import threading
import time
from pathlib import Path

import pytest

from kafka_groups.files import SpecialFileError, check_writable, open_log, read_regular, streams, write_atomically
from tests.special_files import FULL, is_device, is_fifo, make_device, reader_of


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_READER_TIMEOUT_S", 0.1)


@pytest.mark.parametrize("is_linked", [False, True])
def test_a_device_is_written_in_place(tmp_path: Path, is_linked: bool) -> None:
    node = make_device(tmp_path / "null")
    path = node
    if is_linked:
        path = tmp_path / "link"
        path.symlink_to("null")
    before = node.stat()
    check_writable(path)
    write_atomically(path, "new")
    assert is_device(node)
    assert (node.stat().st_rdev, node.stat().st_ino, node.stat().st_mode) == (
        before.st_rdev,
        before.st_ino,
        before.st_mode,
    )
    assert names(tmp_path) == sorted({"null", path.name})


def test_an_error_of_a_device_is_raised(tmp_path: Path) -> None:
    node = make_device(tmp_path / "full", FULL)
    with pytest.raises(OSError, match="No space left on device"):
        write_atomically(node, "new")
    assert (is_device(node), names(tmp_path)) == (True, ["full"])


def test_a_fifo_hands_all_content_to_its_reader(tmp_path: Path) -> None:
    content = os.urandom(300_000)  # several times what a FIFO holds
    with reader_of(tmp_path / "fifo") as received:
        write_atomically(tmp_path / "fifo", content)
    assert (received, is_fifo(tmp_path / "fifo"), names(tmp_path)) == ([content], True, ["fifo"])


def test_the_reader_of_a_fifo_may_start_after_the_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_READER_TIMEOUT_S", 60.0)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=write_atomically, args=(fifo, "new"), daemon=True)
    writer.start()
    time.sleep(0.2)
    assert fifo.read_text() == "new"
    writer.join(timeout=10)


@pytest.mark.usefixtures("impatient")
def test_a_fifo_that_nobody_reads_is_an_error_and_no_wait(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    check_writable(fifo)
    with pytest.raises(OSError, match="no process reads this FIFO; start its reader first"):
        write_atomically(fifo, "new")
    with pytest.raises(OSError, match="no process reads this FIFO; start its reader first"):
        open_log(fifo)
    assert is_fifo(fifo)


def test_a_reader_that_ends_early_is_an_error(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def read_little() -> None:
        with fifo.open("rb") as file:
            file.read(1)

    reader = threading.Thread(target=read_little, daemon=True)
    reader.start()
    with pytest.raises(BrokenPipeError):
        write_atomically(fifo, b"x" * 300_000)
    reader.join(timeout=10)


def test_the_check_of_a_fifo_does_not_end_the_input_of_its_reader(tmp_path: Path) -> None:
    with reader_of(tmp_path / "fifo") as received:
        check_writable(tmp_path / "fifo")
        time.sleep(0.1)
        write_atomically(tmp_path / "fifo", "new")
    assert received == [b"new"]


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        with pytest.raises(OSError, match="it is a socket; name a regular file, a FIFO or a device"):
            write_atomically("socket", "new")
        with pytest.raises(OSError, match="it is a socket; name a regular file, a FIFO or a device"):
            check_writable("socket")
        assert stat.S_ISSOCK(Path("socket").stat().st_mode)


def special_file(folder: Path, kind: str) -> Path:
    """Create a FIFO or a device without a reader, or a link to one."""
    path = folder / kind.removeprefix("link to ")
    if path.name == "FIFO":
        os.mkfifo(path)
    else:
        make_device(path)
    if kind.startswith("link"):
        link = folder / "link"
        link.symlink_to(path)
        return link
    return path


@pytest.mark.parametrize("kind", ["FIFO", "device", "link to FIFO", "link to device"])
def test_a_file_that_is_read_back_has_to_be_regular(tmp_path: Path, kind: str) -> None:
    path = special_file(tmp_path, kind)
    before = (path.stat().st_mode, names(tmp_path))
    with pytest.raises(SpecialFileError) as written:
        write_atomically(path, "new", is_read_back=True)
    with pytest.raises(SpecialFileError) as read:
        read_regular(path)
    for error in (written.value, read.value):
        assert error.strerror == f"it is a {kind.removeprefix('link to ')}; name a regular file"
        assert error.filename == str(path)
    assert (path.stat().st_mode, names(tmp_path)) == before


def test_a_regular_file_is_read_back_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("state.json")
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "link")
    write_atomically(tmp_path / "link", "ä", is_read_back=True)
    assert read_regular(tmp_path / "link") == "ä".encode()
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path)


def test_a_log_is_appended_to_in_place(tmp_path: Path) -> None:
    for path in (tmp_path / "spark.log", make_device(tmp_path / "null")):
        for text in (b"one\n", b"two\n"):
            descriptor = open_log(path)
            os.write(descriptor, text)
            os.close(descriptor)
    assert (tmp_path / "spark.log").read_text() == "one\ntwo\n"
    assert (tmp_path / "spark.log").stat().st_mode & 0o777 == 0o600
    assert is_device(tmp_path / "null")

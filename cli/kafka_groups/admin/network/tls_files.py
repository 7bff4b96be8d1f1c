"""Files for TLS that are no regular files: a pipe is read once, within a limit, and a device is refused."""

from __future__ import annotations

import os
import select
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafka_groups.errors import SettingsError

if TYPE_CHECKING:
    from kafka_groups.settings import Tls

# How long the writer of a pipe may take, in seconds: a command of the shell, such as <(vault read ...).
PIPE_TIMEOUT_S: Final = 5.0
# How long to wait for a writer that has not opened the pipe yet.
_POLL_S: Final = 0.02
_READ_BYTES: Final = 65_536
# Files with all CAs of a system are below one MiB.
_MOST_BYTES: Final = 16 * 1024 * 1024
_STEP: Final = "write the PEM text to a file, and give that one"


def replace_pipes(tls: Tls, timeout_s: float) -> Tls:
    """Return the settings with the text of each pipe in place of its path. All other files stay.

    OpenSSL would wait for the writer of a pipe without a limit, and never find the end of some devices. SettingsError
    names a file of these kinds that cannot be used.
    """
    until = time.monotonic() + timeout_s
    if text := _pipe_text("CA file", tls.ca_file, until):
        tls = replace(tls, ca_file=None, ca_pem=text)
    if text := _pipe_text("client certificate", tls.certificate_file, until):
        tls = replace(tls, certificate_file=None, certificate_pem=text)
    if text := _pipe_text("private key", tls.key_file, until):
        tls = replace(tls, key_file=None, key_pem=text)
    return tls


def describe_special(path: str) -> str | None:
    """Return why a path cannot be read, or not twice; None for regular files, and for an absent one."""
    mode = _mode(path)
    if stat.S_ISDIR(mode):
        return "it is a directory; give the path of a file"
    if stat.S_ISFIFO(mode):
        return f"it is a pipe, which can be read only once; {_STEP}"
    return _describe_device(mode)


def _pipe_text(kind: str, path: str | None, until: float) -> str | None:
    """Return the text in a pipe, None if the path is no pipe."""
    mode = 0 if path is None else _mode(path)
    if path is None or not mode:
        return None
    problem = _describe_device(mode)
    if problem is None and stat.S_ISFIFO(mode):
        data = _read_pipe(path, until)
        if isinstance(data, bytes):
            # PEM is ASCII; texts between its blocks are comments. An empty text would stand for no file.
            return data.decode("ascii", "ignore") or "\n"
        problem = data
    if problem is None:
        return None
    msg = f"cannot use the {kind} {path}: {problem}"
    raise SettingsError(msg)


def _mode(path: str) -> int:
    """Return the mode of a file; 0 if there is no such file: its reader reports that."""
    try:
        return Path(path).stat().st_mode
    except (OSError, ValueError):
        return 0


def _describe_device(mode: int) -> str | None:
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        return f"it is a device or a socket; {_STEP}"
    return None


def _read_pipe(path: str, until: float) -> bytes | str:
    """Return the bytes of a pipe, or why they cannot be read until a time of the monotonic clock."""
    data = b""
    try:
        with _open_pipe(path) as pipe:
            while time.monotonic() < until and len(data) <= _MOST_BYTES:
                part = _read_part(pipe, until)
                if part == b"" and data:
                    return data
                data += part or b""
                if part == b"":
                    # No writer has opened the pipe yet.
                    time.sleep(_POLL_S)
    except OSError as error:
        return (error.strerror or str(error)).lower()
    if len(data) > _MOST_BYTES:
        return f"it is a pipe with more than {_MOST_BYTES // 1024 // 1024} MiB; {_STEP}"
    return f"it is a pipe, and its text did not end in time; {_STEP}"


@contextmanager
def _open_pipe(path: str) -> Iterator[int]:
    # Otherwise this would wait for the writer.
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        yield pipe
    finally:
        os.close(pipe)


def _read_part(pipe: int, until: float) -> bytes | None:
    """Return the next bytes, empty without a writer; None after a wait for one that is slow."""
    try:
        return os.read(pipe, _READ_BYTES)
    except BlockingIOError:
        select.select([pipe], [], [], max(0.0, until - time.monotonic()))
        return None

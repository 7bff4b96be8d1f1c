"""Files with a secret, which the user names: regular files of bounded size."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from kafka_groups.files import SpecialFileError, find_open_descriptor, read_regular

_MOST_BYTES: Final = 1 << 20


class SecretFileError(Exception):
    """A file that cannot be used. Its text says why, as the end of a sentence that begins with the file."""


def read_limited(path: str | Path) -> bytes:
    """Return the content of a regular file of at most 1 MiB; a symbolic link counts as its target.

    An open descriptor that a shell passes, as `<(…)` does, is read to its end, too.
    Raises SecretFileError for a file that cannot be read. A FIFO and a device are refused at once, without a wait.
    """
    try:
        data = _read(os.fspath(path))
    except SpecialFileError as error:
        msg = f"cannot be read: {error.strerror}"
        raise SecretFileError(msg) from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "the path is not valid"
        msg = f"cannot be read: {reason}; correct the path, or the rights to it"
        raise SecretFileError(msg) from None
    if len(data) > _MOST_BYTES:
        msg = f"has more than {_MOST_BYTES:,} bytes; correct the path"
        raise SecretFileError(msg)
    return data


def _read(path: str) -> bytes:
    """Return the content of a file, at most one byte more than a secret may have."""
    if find_open_descriptor(path, None) is None:
        return read_regular(path, _MOST_BYTES + 1)
    with Path(path).open("rb") as file:
        return file.read(_MOST_BYTES + 1)

"""Where tables are: a directory of this machine or of an object store, whose failures are StorageErrors."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from typing import Any

from kafka_groups.errors import StorageError
from kafka_groups.files import root_directory
from kafka_groups.files.reasons import as_failure, next_step
from kafka_groups.files.root_directory import RootDirectory

__all__ = ["RootDirectory", "as_storage_error", "next_step", "open_file", "open_root"]


def as_storage_error(what: str, where: str) -> AbstractContextManager[None]:
    """Turn an error of a file system inside into a StorageError: `what` was not possible in `where`."""
    return as_failure(StorageError, what, where)


def open_root(into: str) -> RootDirectory:
    """Return the place that a path or a URI names; nothing is looked at yet. StorageError for other addresses."""
    if re.search(r"[\[\]{}*?\\]", into):
        why = "has one of []{}*?\\ in its name, which Spark reads as a pattern; name another directory"
    elif "://" not in into and re.search("%[0-9A-Fa-f]{2}", into):
        why = "has % and two digits in its name, which URIs read as one character; name another directory"
    else:
        return root_directory.open_root(into, failure=StorageError)
    message = f"{into} {why}"
    raise StorageError(message)


def open_file(address: str) -> Any:
    """Return an open file of `RootDirectory.address`, with its file system's errors."""
    place = open_root(address)
    return place.fs.open_input_file(place.root)

"""The root directory of tables, on this machine or in an object store. Its failures are StorageErrors."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from typing import Any

from kafka_groups.errors import StorageError
from kafka_groups.files import root_directory
from kafka_groups.files.reasons import as_failure, next_step
from kafka_groups.files.root_directory import RootDirectory

__all__ = ["RootDirectory", "as_storage_error", "next_step", "open_file", "open_root"]


def as_storage_error(action: str, place: str) -> AbstractContextManager[None]:
    """Turn errors of file systems and Arrow in the block into StorageError "cannot <action> in <place>: <next step>".

    `action` is a verb with its object, such as "read the tables"; `place` is a path, or the address of the directory.
    """
    return as_failure(StorageError, action, place)


def open_root(location: str) -> RootDirectory:
    """Return the root directory at a path or a URI, without accessing it: it does not have to exist.

    Raises StorageError for an invalid address, and for names that Spark or URIs would read as something else.
    """
    if re.search(r"[\[\]{}*?\\]", location):
        message = (
            f"{location} has one of []{{}}*?\\ in its name, which Spark reads as a pattern; name another directory"
        )
        raise StorageError(message)
    if "://" not in location and re.search("%[0-9A-Fa-f]{2}", location):
        message = (
            f"{location} has % and two digits in its name, which URIs read as one character; name another directory"
        )
        raise StorageError(message)
    return root_directory.open_root(location, failure=StorageError)


def open_file(address: str) -> Any:
    """Open the file at an address from `RootDirectory.address`, so that pyarrow can read it at any position.

    Raises the errors of its file system, OSError or ArrowException: call it in a block of `as_storage_error`.
    """
    directory = open_root(address)
    return directory.fs.open_input_file(directory.root)

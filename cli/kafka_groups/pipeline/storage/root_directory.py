"""Where tables are: a directory of this machine or of an object store, and the few things done with its files.

What a file system refuses becomes one sentence for the user: what could not be done, where, and the next step.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path, PurePath
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType, LocalFileSystem, PyFileSystem

from kafka_groups.errors import StorageError
from kafka_groups.files import write_atomically

# s3 runs in the tests; abfss and gs take the same path.
_OBJECT_STORES: Final = ("s3", "abfss", "gs")
_LOCAL: Final = "write a path, or file:/// and the absolute path"
# Two writers of one version of a table: the store refuses the second. Waits end within what a user waits for.
_STORE_OPTIONS: Final = {
    "aws_conditional_put": "etag",
    "connect_timeout": "10s",
    "timeout": "120s",
    "max_retries": "5",
    "retry_timeout": "60s",
}
_NEXT_STEPS: Final = {
    errno.ENOSPC: "no space is left on the file system; free some, and run the command again",
    errno.EDQUOT: "the disk quota is used up; free some space, and run the command again",
    errno.EACCES: "permission denied; give this user the permission, or name another directory",
    errno.EPERM: "operation not permitted; give this user the permission, or name another directory",
    errno.EROFS: "the file system is read-only; name another directory",
    errno.ENOTDIR: "a part of the path is a file; name another directory",
    errno.ENAMETOOLONG: "the name is too long; name another directory",
}
# Object stores respond in XML, and their library colours the steps of an error.
_MARKS: Final = re.compile(r"\x1b\[[0-9;]*m|↳|<\?xml[^>]*\?>")
_WANTS_CREDENTIALS: Final = re.compile("loading credentials|credential provider|performing token request")
_NO_CREDENTIALS: Final = (
    "no credentials of the store were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or what its client takes"
)
_MESSAGE: Final = re.compile(r"<Message>(.*?)</Message>", re.DOTALL)


@contextmanager
def as_storage_error(what: str, where: str) -> Iterator[None]:
    """Turn an error of a file system inside into a StorageError: `what` was not possible in `where`."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        message = f"cannot {what} in {where}: {next_step(error)}"
        raise StorageError(message) from error


def next_step(error: Exception) -> str:
    """Return what happened and what helps, without a full stop at the end."""
    number, text = getattr(error, "errno", None), str(error)
    if number in _NEXT_STEPS:
        return _NEXT_STEPS[number]
    if _WANTS_CREDENTIALS.search(text):
        return _NO_CREDENTIALS
    said = _MESSAGE.search(text)
    steps = _MARKS.sub(" ", text).partition("<Error>")[0]
    return " ".join(f"{steps} {said[1] if said else ''}".split()).rstrip(".") or type(error).__name__


class RootDirectory:
    """A directory, and the path or URI that named it. Paths are as `fs` takes them; methods raise StorageError only."""

    def __init__(self, into: str, store: str, root: str) -> None:
        self.into, self.root, self._store = into, root, store
        self.fs: Any = _file_system(store)
        self.is_local = not store  # on this machine, or mounted on it
        # What delta-rs needs to know of the store; credentials are in the environment.
        self.options: dict[str, str] = {} if self.is_local else _STORE_OPTIONS

    def join(self, *names: str) -> str:
        """Return a path below the root."""
        return "/".join((self.root, *names))

    def address(self, path: str) -> str:
        """Return the path as other programs and other machines take it: a path, or a URI of a store."""
        return path if self.is_local else f"{self._store}/{path}"

    def info(self, path: str) -> FileInfo:
        """Return what is there; its type is NotFound if nothing is."""
        with as_storage_error("read the file status", self.into):
            return self.fs.get_file_info(path)

    def names(self, path: str) -> list[str]:
        """Return what the directory holds, in order; nothing if it is not there."""
        with as_storage_error("list the files", self.into):
            found = self.fs.get_file_info(FileSelector(path, allow_not_found=True))
            return sorted(str(info.base_name) for info in found)

    def read_small(self, path: str) -> bytes | None:
        """Return the content of a small file; None if it is not there."""
        if self.info(path).type != FileType.File:
            return None
        with as_storage_error("read", path), self.fs.open_input_stream(path) as stream:
            return bytes(stream.read())

    def write_small(self, path: str, text: str) -> None:
        """Write a small file, in a directory that is made if need be: a reader sees the old text or the new one."""
        self.make_parent(path)
        with as_storage_error("write", path):
            if self.is_local:
                write_atomically(Path(path), text)
                return
            # An object appears when it is whole. Without a buffer of Arrow's own, delta-rs is handed something that it
            # does not take for bytes.
            with self.fs.open_output_stream(path, buffer_size=65_536) as stream:
                stream.write(text.encode())

    def make_parent(self, path: str) -> None:
        """Make the directory of a file and those above it; object stores have none."""
        if self.is_local:
            parent = path.rpartition("/")[0]
            with as_storage_error("create a directory", parent):
                self.fs.create_dir(parent, recursive=True)

    def flush(self, paths: list[str]) -> None:
        """Wait until files of this machine are on the disk, with the names of their directories up to the root.

        They get the present time: no cleaning may take one for a leftover before its commit.
        """
        with as_storage_error("write", self.into):
            for found in self.fs.get_file_info(paths):
                if found.type == FileType.NotFound:
                    message = f"{found.path} was deleted before it became part of its table; run the command again"
                    raise StorageError(message)
            if not self.is_local:
                return
            for path in paths:
                os.utime(path)
            above = {str(each) for path in paths for each in PurePath(path).parents}
            for path in (*paths, *(each for each in above if len(each) >= len(self.root))):
                handle = os.open(path, os.O_RDONLY)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)

    def forget(self, path: str) -> None:
        """Delete a file that is in no table; one that cannot be deleted stays."""
        with suppress(OSError):
            self.fs.delete_file(path)

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Hold a lock, which the kernel ends with the process; stores have none. StorageError that says who has it."""
        if not self.is_local:
            yield
            return
        path = self.join(".locks", f"{name}.lock")
        self.make_parent(path)
        with as_storage_error("lock", path):
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        with os.fdopen(handle, "r+b", buffering=0) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                holder = file.read().decode(errors="replace") or "another process"
                message = f"{self.into} is locked ({name}) by {holder}; wait for it, or end it"
                raise StorageError(message) from error
            since = datetime.now(UTC).isoformat(timespec="milliseconds")
            with as_storage_error("write", path):
                file.truncate(0)
                file.write(f"process {os.getpid()} on {socket.gethostname()} (since {since})".encode())
            try:
                yield
            finally:
                file.truncate(0)


def open_root(into: str) -> RootDirectory:
    """Return the place that a path or a URI names; nothing is looked at yet. StorageError for other addresses."""
    scheme, is_uri, rest = into.partition("://")
    bucket, _, path = rest.partition("/")
    is_store = is_uri and scheme != "file"
    if re.search(r"[\[\]{}*?\\]", into):
        why = "has one of []{}*?\\ in its name, which Spark reads as a pattern; name another directory"
    elif re.match("file:(?!//)", into):
        why = f"is neither a path nor a complete URI; {_LOCAL}"
    elif not is_store and bucket not in {"", "localhost"}:
        why = f"names another machine, {bucket!r}; {_LOCAL}"
    elif is_uri and not is_store and "/" not in rest:
        why = f"has no path; {_LOCAL}"
    elif not is_uri and re.search("%[0-9A-Fa-f]{2}", into):
        why = "has % and two digits in its name, which URIs read as one character; name another directory"
    elif is_store and (scheme not in _OBJECT_STORES or not bucket or not path.strip("/")):
        stores = ", ".join(f"{each}://" for each in _OBJECT_STORES)
        why = f"is no address of tables; name a directory, or a bucket and a path in it ({stores})"
    elif is_store and re.search("[#%]|//", rest):
        why = "has #, % or // in its path, which URIs give a meaning of their own; name another path"
    elif is_store:
        return RootDirectory(into, f"{scheme}://{bucket}", path.strip("/"))
    else:
        local = os.path.abspath(f"/{unquote(path)}" if is_uri else into)
        return RootDirectory(into, "", local.rstrip("/") or "/")
    message = f"{into} {why}"
    raise StorageError(message)


def open_file(address: str) -> Any:
    """Return an open file of `RootDirectory.address`, with its file system's errors."""
    place = open_root(address)
    return place.fs.open_input_file(place.root)


@cache
def _file_system(store: str) -> FileSystem:
    if not store:
        return LocalFileSystem()
    # Read when the library is imported: its warnings repeat what its errors say, on stderr.
    os.environ.setdefault("RUST_LOG", "error")
    from deltalake.fs import DeltaStorageHandler

    # The library that writes the tables' logs reads and writes their files: one kind of credentials for both.
    return PyFileSystem(DeltaStorageHandler(store, dict(_STORE_OPTIONS)))

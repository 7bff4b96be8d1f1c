"""Where tables are: a directory of this machine or of an object store, and the few things done with its files."""

from __future__ import annotations

import os
import re
import uuid
from functools import cache
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType, LocalFileSystem, PyFileSystem

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.storage.storage_errors import as_storage_error

_LISTINGS: Final = 10
_BUFFER: Final = 65_536
_THIS_MACHINE: Final = ("", "localhost")
# s3 runs in the tests; abfss and gs take the same path.
_OBJECT_STORES: Final = ("s3", "abfss", "gs")
# Two writers of one version of a table: the store refuses the second. Waits end within what a user waits for.
_STORE_OPTIONS: Final = {
    "aws_conditional_put": "etag",
    "connect_timeout": "10s",
    "timeout": "120s",
    "max_retries": "5",
    "retry_timeout": "60s",
}


class RootDirectory:
    """A directory, and the path or URI that named it. Paths are as `fs` takes them; methods raise StorageError only."""

    def __init__(self, into: str, store: str, root: str) -> None:
        self.into = into
        self.root = root
        self._store = store
        self.fs: Any = _file_system(store)

    @property
    def is_local(self) -> bool:
        """Whether the files are on this machine, or mounted on it."""
        return not self._store

    @property
    def options(self) -> dict[str, str]:
        """What delta-rs needs to know of the store; credentials are in the environment."""
        return {} if self.is_local else dict(_STORE_OPTIONS)

    def join(self, *names: str) -> str:
        """Return a path below the root."""
        return "/".join((self.root, *names))

    def address(self, path: str) -> str:
        """Return the path as other programs and other machines take it: a path, or a URI of a store."""
        return path if self.is_local else f"{self._store}/{path}"

    def info(self, path: str) -> FileInfo:
        """Return what is there; its type is NotFound if nothing is."""
        return self.infos([path])[0]

    def infos(self, paths: list[str]) -> list[FileInfo]:
        """Return what is at each of the paths."""
        with as_storage_error("read the file status", self.into):
            found: list[FileInfo] = self.fs.get_file_info(paths)
            return found

    def children(self, path: str) -> list[FileInfo]:
        """Return what the directory holds, by name; nothing if it is not there."""
        with as_storage_error("list the files", self.into):
            found = self._listed(FileSelector(path, allow_not_found=True))
            return sorted(found, key=lambda info: str(info.path))

    def read_text(self, path: str) -> str | None:
        """Return the text of a small file; None if it is not there. StorageError, too, if it is no UTF-8."""
        if self.info(path).type != FileType.File:
            return None
        with as_storage_error("read", path), self.fs.open_input_stream(path) as stream:
            content = bytes(stream.read())
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            message = f"{path} is damaged: it is not valid UTF-8; restore it"
            raise StorageError(message) from error

    def write_text(self, path: str, text: str) -> None:
        """Write a small file whole: a reader sees the old text or the new one."""
        with as_storage_error("write", path):
            if not self.is_local:  # an object appears when it is whole
                self._write(path, text)
                return
            draft = f"{path}.{uuid.uuid4().hex[:8]}.tmp"
            try:
                self._write(draft, text)
                flush(draft)
                self.fs.move(draft, path)
            except OSError:
                self.forget(draft)
                raise

    def make(self, path: str) -> None:
        """Make a directory and those above it; object stores have none."""
        if self.is_local:
            with as_storage_error("create a directory", path):
                self.fs.create_dir(path, recursive=True)

    def flush(self, paths: list[str]) -> None:
        """Wait until files are on the disk, with the names of their directories up to the root."""
        if not self.is_local:
            return
        directories = set[str]()
        with as_storage_error("write", self.into):
            for path in paths:
                flush(path)
                above = map(str, PurePath(path).parents)
                directories |= {each for each in above if len(each) >= len(self.root)}
            for directory in directories:
                flush(directory)

    def touch(self, paths: list[str]) -> None:
        """Give files of this machine the present time: no cleaning may take one for a leftover before its commit."""
        with as_storage_error("write", self.into):
            for path in paths if self.is_local else ():
                os.utime(path)

    def forget(self, path: str) -> None:
        """Delete a file that is in no table; one that cannot be deleted stays."""
        try:
            self.fs.delete_file(path)
        except OSError:
            return

    def _write(self, path: str, text: str) -> None:
        # Without a buffer of Arrow's own, delta-rs is handed something that it does not take for bytes.
        with self.fs.open_output_stream(path, buffer_size=_BUFFER) as stream:
            stream.write(text.encode())

    def _listed(self, wanted: FileSelector) -> list[FileInfo]:
        # A directory below may change places while it is listed: then all is listed once more.
        for _ in range(_LISTINGS - 1):
            try:
                return list(self.fs.get_file_info(wanted))
            except FileNotFoundError:
                continue
        return list(self.fs.get_file_info(wanted))


def flush(path: str) -> None:
    """Wait until the content of a file, or the names in a directory, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_root(into: str) -> RootDirectory:
    """Return the place that a path or a URI names; nothing is looked at yet. StorageError for other addresses."""
    if re.search(r"[\[\]{}*?\\]", into):
        message = f"{into} has one of []{{}}*?\\ in its name, which Spark reads as a pattern; name another directory"
        raise StorageError(message)
    if re.match("file:(?!//)", into):
        message = f"{into} is neither a path nor a complete URI; write a path, or file:/// and the absolute path"
        raise StorageError(message)
    if "://" not in into and re.search("%[0-9A-Fa-f]{2}", into):
        message = f"{into} has % and two digits in its name, which URIs read as one character; name another directory"
        raise StorageError(message)
    if "://" not in into:
        return RootDirectory(into, "", os.path.abspath(into).rstrip("/") or "/")
    scheme, _, rest = into.partition("://")
    if scheme == "file":
        return RootDirectory(into, "", _local_path(into).rstrip("/") or "/")
    bucket, _, path = rest.partition("/")
    if scheme not in _OBJECT_STORES or not bucket or not path.strip("/"):
        stores = ", ".join(f"{each}://" for each in _OBJECT_STORES)
        message = f"{into} is no address of tables; name a directory, or a bucket and a path in it ({stores})"
        raise StorageError(message)
    if re.search("[#%]|//", rest):
        message = f"{into} has #, % or // in its path, which URIs give a meaning of their own; name another path"
        raise StorageError(message)
    return RootDirectory(into, f"{scheme}://{bucket}", path.strip("/"))


def open_file(address: str) -> Any:
    """Return an open file of `RootDirectory.address`, with its file system's errors."""
    store, path = _split(address)
    return _file_system(store).open_input_file(path)


def _split(address: str) -> tuple[str, str]:
    """Return the store, "" for this machine, and the path in it."""
    if "://" not in address:
        return "", address
    scheme, _, rest = address.partition("://")
    bucket, _, path = rest.partition("/")
    return f"{scheme}://{bucket}", path


@cache
def _file_system(store: str) -> FileSystem:
    if not store:
        return LocalFileSystem()
    # Read when the library is imported: its warnings repeat what its errors say, on stderr.
    os.environ.setdefault("RUST_LOG", "error")
    from deltalake.fs import DeltaStorageHandler

    # The library that writes the tables' logs reads and writes their files: one kind of credentials for both.
    return PyFileSystem(DeltaStorageHandler(store, dict(_STORE_OPTIONS)))


def _local_path(uri: str) -> str:
    """Return the path of `file:///path` and `file://localhost/path`; `file://history` names a host: StorageError."""
    parts = urlsplit(uri)
    if parts.netloc not in _THIS_MACHINE or not parts.path:
        odd = f"names another machine, {parts.netloc!r}" if parts.netloc else "has no path"
        message = f"{uri} {odd}; write a path, or file:/// and the absolute path"
        raise StorageError(message)
    return os.path.abspath(unquote(parts.path))

"""A directory of this machine: the few things that storage does with files."""

from __future__ import annotations

import os
import re
import uuid
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from pyarrow.fs import FileInfo, FileSelector, FileType, LocalFileSystem

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.storage.failing import told

_LISTINGS: Final = 10
_THIS_MACHINE: Final = ("", "localhost")


class Place:
    """A root directory, and the path or URI that named it. Paths are absolute; all methods raise StorageError only."""

    def __init__(self, into: str, root: str) -> None:
        self.into = into
        self.root = root
        self.fs: Any = LocalFileSystem()

    def join(self, *names: str) -> str:
        """A path below the root."""
        return "/".join((self.root, *names))

    def spark(self, path: str) -> str:
        """Return the path as Spark takes it."""
        return f"file://{path}"

    def info(self, path: str) -> FileInfo:
        """What is there; its type is NotFound if nothing is."""
        with told("read the file status", path):
            return self.fs.get_file_info([path])[0]

    def infos(self, paths: list[str]) -> list[FileInfo]:
        """What is at each of the paths."""
        with told("read the file status", self.into):
            found: list[FileInfo] = self.fs.get_file_info(paths)
            return found

    def children(self, path: str, *, recursive: bool = False) -> list[FileInfo]:
        """What the directory holds, by name; nothing if it is not there."""
        with told("list the files", path):
            found = self._listed(FileSelector(path, allow_not_found=True, recursive=recursive))
            return sorted(found, key=lambda info: str(info.path))

    def read_text(self, path: str) -> str | None:
        """The text of a small file; None if it is not there. StorageError, too, if it is no UTF-8."""
        if self.info(path).type != FileType.File:
            return None
        with told("read", path), self.fs.open_input_stream(path) as stream:
            content = bytes(stream.read())
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            message = f"{path} is damaged: it is not valid UTF-8; restore it"
            raise StorageError(message) from error

    def write_text(self, path: str, text: str) -> None:
        """Writes a small file whole: a reader sees the old text or the new one."""
        draft = f"{path}.{uuid.uuid4().hex[:8]}.tmp"
        with told("write", path):
            try:
                with self.fs.open_output_stream(draft) as stream:
                    stream.write(text.encode())
                flush(draft)
                self.fs.move(draft, path)
            except OSError:
                self._forget(draft)
                raise

    def make(self, path: str) -> None:
        """Makes a directory and those above it."""
        with told("create a directory", path):
            self.fs.create_dir(path, recursive=True)

    def move_file(self, source: str, target: str) -> None:
        """A file gets a new name."""
        with told("move a file", target):
            flush(source)
            self.fs.move(source, target)

    def delete(self, path: str) -> None:
        """Removes a directory with all that it holds; nothing happens if it is not there."""
        with told("delete", path):
            if self.fs.get_file_info([path])[0].type == FileType.Directory:
                self.fs.delete_dir(path)

    def _listed(self, wanted: FileSelector) -> list[FileInfo]:
        # A directory below may change places while it is listed: then all is listed once more.
        for _ in range(_LISTINGS - 1):
            try:
                return list(self.fs.get_file_info(wanted))
            except FileNotFoundError:
                continue
        return list(self.fs.get_file_info(wanted))

    def _forget(self, path: str) -> None:
        try:
            self.fs.delete_file(path)
        except OSError:
            return


def flush(path: str) -> None:
    """Wait until the content of a file, or the names in a directory, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_place(into: str) -> Place:
    """Return the place that a path or a file URI names; nothing is looked at yet. StorageError for other addresses."""
    if re.search(r"[\[\]{}*?\\]", into):
        message = f"{into} has one of []{{}}*?\\ in its name, which Spark reads as a pattern; name another directory"
        raise StorageError(message)
    if re.match("file:(?!//)", into):
        message = f"{into} is neither a path nor a complete URI; write a path, or file:/// and the absolute path"
        raise StorageError(message)
    if "://" in into and not into.startswith("file://"):
        message = f"{into} is not on a local or mounted file system, where tables have to be; name a directory"
        raise StorageError(message)
    return Place(into, (_local_path(into) if "://" in into else os.path.abspath(into)).rstrip("/") or "/")


def _local_path(uri: str) -> str:
    """Return the path of `file:///path` and `file://localhost/path`; `file://history` names a host: StorageError."""
    parts = urlsplit(uri)
    if parts.netloc not in _THIS_MACHINE or not parts.path:
        odd = f"names another machine, {parts.netloc!r}" if parts.netloc else "has no path"
        message = f"{uri} {odd}; write a path, or file:/// and the absolute path"
        raise StorageError(message)
    return os.path.abspath(unquote(parts.path))

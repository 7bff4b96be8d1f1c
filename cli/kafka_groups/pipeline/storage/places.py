"""A directory of some file system, local or not: the few things that storage does with files."""

from __future__ import annotations

import os
import re
import uuid
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType, LocalFileSystem

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.storage.failing import told
from kafka_groups.pipeline.storage.renaming import exchange, flush

_LISTINGS: Final = 10
_THIS_MACHINE: Final = ("", "localhost")


class Place:
    """A root directory. Paths are the file system's own, absolute; all methods raise StorageError, and nothing else.

    On a local file system moves and swaps are atomic (swaps where the kernel has RENAME_EXCHANGE); elsewhere they are
    copies file by file, and a reader may meet a moment at which a directory is not whole.
    """

    def __init__(self, into: str, fs: Any, root: str, *, local: bool) -> None:
        self.into = into
        self.fs = fs
        self.root = root
        self.local = local

    def join(self, *names: str) -> str:
        """A path below the root."""
        return "/".join((self.root, *names))

    def uri(self, path: str) -> str:
        """The path as `FileSystem.from_uri` takes it, in any process: local ones stay plain paths."""
        if self.local:
            return path
        base, mark, query = self.into.partition("?")
        return base.rstrip("/") + path.removeprefix(self.root) + mark + query

    def spark(self, path: str) -> str:
        """The path as Spark takes it."""
        if self.local:
            return f"file://{path}"
        return re.sub(r"^s3://", "s3a://", self.uri(path).partition("?")[0])

    def inside(self, path: str) -> str:
        """The file system's own path of what `uri` gave out."""
        return split_uri(path)[1] if "://" in path or not path.startswith(self.root) else path

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
                if self.local:
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
            if self.local:
                flush(source)
            self.fs.move(source, target)

    def move_in(self, source: str, target: str) -> None:
        """A directory gets a new name, that nothing had."""
        with told("move a directory", target):
            if not self.local:
                self._move_files(source, target)
                return
            flush(source)
            os.rename(source, target)
            flush(os.path.dirname(target))

    def swap(self, new: str, target: str, old: str) -> None:
        """`new` becomes `target`, and what `target` was becomes `old`; in one step where that can be had.

        Where it cannot, `target` is absent for a moment, so a reader sees less, and never a row twice.
        """
        if not self.local:
            self.delete(target)
            self.move_in(new, target)
            return
        with told("exchange a directory", target):
            flush(new)
            if exchange(new, target):
                flush(os.path.dirname(target))
                os.rename(new, old)
                return
        self.move_in(target, old)
        self.move_in(new, target)

    def copy_file(self, source: str, target: str) -> None:
        """The same file under a second name; local ones share their bytes where they can."""
        with told("copy a file", target):
            if self.local:
                try:
                    os.link(source, target)
                except PermissionError:  # file systems without hard links say so
                    self.fs.copy_file(source, target)
            else:
                self.fs.copy_file(source, target)

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

    def _move_files(self, source: str, target: str) -> None:
        for info in self.fs.get_file_info(FileSelector(source, recursive=True)):
            if info.type == FileType.File:
                moved = target + info.path.removeprefix(source)
                self.fs.create_dir(moved.rpartition("/")[0], recursive=True)
                self.fs.move(info.path, moved)
        self.fs.delete_dir(source)

    def _forget(self, path: str) -> None:
        try:
            self.fs.delete_file(path)
        except OSError:
            return


def split_uri(uri: str) -> tuple[Any, str]:
    """The file system of a path or URI, and the path in it."""
    if "://" not in uri:
        return LocalFileSystem(), os.path.abspath(uri)
    if uri.startswith("file://"):
        return LocalFileSystem(), _local_path(uri)
    fs, path = FileSystem.from_uri(uri)
    return fs, path


def _local_path(uri: str) -> str:
    """What `file:///path` and `file://localhost/path` name; `file://history` names a host, which is a StorageError."""
    parts = urlsplit(uri)
    if parts.netloc not in _THIS_MACHINE or not parts.path:
        odd = f"names another machine, {parts.netloc!r}" if parts.netloc else "has no path"
        message = f"{uri} {odd}; write a path, or file:/// and the absolute path"
        raise StorageError(message)
    return os.path.abspath(unquote(parts.path))


def open_place(into: str) -> Place:
    """The place that a path or URI names; nothing is looked at yet."""
    if re.search(r"[\[\]{}*?\\]", into.partition("?")[0] if "://" in into else into):
        message = f"{into} has one of []{{}}*?\\ in its name, which Spark reads as a pattern; name another directory"
        raise StorageError(message)
    if re.match("file:(?!//)", into):
        message = f"{into} is neither a path nor a complete URI; write a path, or file:/// and the absolute path"
        raise StorageError(message)
    with told("use the address", into):
        fs, path = split_uri(into)
    return Place(into, fs, path.rstrip("/") or "/", local=isinstance(fs, LocalFileSystem))

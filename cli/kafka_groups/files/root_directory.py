"""A directory of this machine or of an object store, and the few things that journals and tables do with its files.

Files of this machine need nothing but Python. Object stores need pyarrow and deltalake, which are imported when the
first object is used. What a file system refuses becomes one sentence for the user: what could not be done, where, and
the next step; the caller chooses the class of this error.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cache, cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from kafka_groups.files.locks import LockedError, lock_until_exit
from kafka_groups.files.output import PUBLIC, create_file, make_directory, write_atomically
from kafka_groups.files.reasons import Failure, FileSystemError, as_failure

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo

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
_CLAIMS: Final = ".claims"


class RootDirectory:
    """A directory, and the path or URI that named it. Paths are as `fs` takes them.

    Methods raise `failure` with a sentence for the user, and nothing else but what they document.
    """

    def __init__(self, location: str, store: str, root: str, failure: Failure = FileSystemError) -> None:
        self.location = location
        self.root = root
        self.failure = failure
        self._store = store
        self.is_local = not store  # on this machine, or mounted on it
        # What delta-rs needs to know of the store; credentials are in the environment.
        self.options: dict[str, str] = {} if self.is_local else _STORE_OPTIONS

    @cached_property
    def fs(self) -> Any:
        """Return the file system as pyarrow has it. Raises `failure` if the packages of the pipeline are missing."""
        try:
            return _file_system(self._store)
        except ModuleNotFoundError as error:
            message = (
                f"{self.location} needs a package that is not installed ({error.name}); "
                "run: pip install 'kafka-groups[pipeline]'"
            )
            raise self.failure(message) from error

    def join(self, *names: str) -> str:
        """Return a path below the root."""
        return "/".join((self.root, *names))

    def address(self, path: str) -> str:
        """Return the path as other programs and other machines take it: a path, or a URI of a store."""
        return path if self.is_local else f"{self._store}/{path}"

    def info(self, path: str) -> FileInfo:
        """Return what is there, as pyarrow has it; its type is NotFound if nothing is."""
        with self._reports("read the file status", self.location):
            return self.fs.get_file_info(path)

    def names(self, path: str) -> list[str]:
        """Return what the directory holds, in order; nothing if it is not there."""
        with self._reports("list the files", self.location):
            if self.is_local:
                with suppress(FileNotFoundError):
                    return sorted(os.listdir(path))
                return []
            return [name for name in self._object_names(path) if name != _CLAIMS]

    def read_small(self, path: str) -> bytes | None:
        """Return the content of a small file; None if it is not there."""
        if not self._is_file(path):
            return None
        with self._reports("read", path):
            if self.is_local:
                with open(path, "rb") as file:
                    return file.read()
            with self.fs.open_input_stream(path) as stream:
                return bytes(stream.read())

    def write_small(self, path: str, text: str) -> None:
        """Write a small file, in a directory that is made if need be: a reader sees the old text or the new one."""
        self.make_parent(path)
        with self._reports("write", path):
            if self.is_local:
                write_atomically(path, text, is_read_back=True)
            else:
                self._put(path, text.encode())

    def create_small(self, path: str, content: bytes, *, mode: int = PUBLIC) -> None:
        """Create a small file that does not exist yet, whole; it is durable when the call returns.

        Raises FileExistsError if it exists, or if another program is creating it: try another name then. New files and
        directories of this machine get `mode`, less the umask.
        """
        self._make_parent(path, mode, is_durable=True)
        with self._reports("write", path):
            is_created = create_file(path, content, mode) if self.is_local else self._create_object(path, content)
        if not is_created:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)

    def delete(self, path: str) -> None:
        """Delete a file, which may be missing."""
        with self._reports("delete", path), suppress(FileNotFoundError):
            self._delete(path)

    def forget(self, path: str) -> None:
        """Delete a file that is in no table; one that cannot be deleted stays."""
        with suppress(OSError):
            self._delete(path)

    def make_parent(self, path: str) -> None:
        """Make the directory of a file and those above it; object stores have none."""
        self._make_parent(path, PUBLIC, is_durable=False)

    def flush(self, paths: list[str]) -> None:
        """Wait until files of this machine are on the disk, with the names of their directories up to the root.

        They get the present time: no cleaning may take one for a leftover before its commit.
        """
        with self._reports("write", self.location):
            for info in self.fs.get_file_info(paths):
                if info.type.name == "NotFound":
                    message = f"{info.path} was deleted before it became part of its table; run the command again"
                    raise self.failure(message)
            if not self.is_local:
                return
            for path in paths:
                os.utime(path)
            above = {str(parent) for path in paths for parent in PurePath(path).parents}
            for path in (*paths, *(parent for parent in above if len(parent) >= len(self.root))):
                descriptor = os.open(path, os.O_RDONLY)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Hold a lock, which the kernel ends with the process; stores have none. A failure says who has it."""
        if not self.is_local:
            yield
            return
        path = self.join(".locks", f"{name}.lock")
        self.make_parent(path)
        with ExitStack() as stack:
            with self._reports("lock", path):
                try:
                    stack.enter_context(lock_until_exit(path))
                except LockedError as error:
                    message = f"{self.location} is locked ({name}) by {error.holder}; wait for it, or end it"
                    raise self.failure(message) from error
            yield

    def _reports(self, what: str, where: str) -> AbstractContextManager[None]:
        return as_failure(self.failure, what, where)

    def _is_file(self, path: str) -> bool:
        if not self.is_local:
            return bool(self.info(path).is_file)
        with self._reports("read the file status", self.location):
            try:
                return stat.S_ISREG(os.stat(path).st_mode)
            except (FileNotFoundError, NotADirectoryError):
                return False

    def _make_parent(self, path: str, mode: int, *, is_durable: bool) -> None:
        if self.is_local:
            parent = path.rpartition("/")[0]
            with self._reports("create a directory", parent):
                # Who may read the files may enter the directory.
                make_directory(parent, mode | (mode & 0o444) >> 2, is_durable=is_durable)

    def _delete(self, path: str) -> None:
        if self.is_local:
            os.unlink(path)
        else:
            self.fs.delete_file(path)

    def _object_names(self, path: str) -> list[str]:
        from pyarrow.fs import FileSelector

        return sorted(str(info.base_name) for info in self.fs.get_file_info(FileSelector(path, allow_not_found=True)))

    def _put(self, path: str, content: bytes) -> None:
        """Write an object, which appears when it is whole."""
        # What does not fit into Arrow's buffer reaches delta-rs as something that it does not take for bytes.
        with self.fs.open_output_stream(path, buffer_size=len(content) + 1) as stream:
            stream.write(content)

    def _create_object(self, path: str, content: bytes) -> bool:
        """Create an object unless it exists; return whether it was created.

        The file systems of deltalake and pyarrow cannot put an object on a condition (`If-None-Match: *`). So each
        program writes a claim first and lists the claims after it. Stores list what was written before, so of two
        programs at least one sees the other's claim or the finished object, and gives way; possibly both do. A claim
        whose outcome is open stays, and nobody gets this name any more.
        """
        folder, _, name = path.rpartition("/")
        claims = f"{folder}/{_CLAIMS}/{name}"
        claim = os.urandom(8).hex()
        self._put(f"{claims}/{claim}", b"claim")
        is_free = self._object_names(claims) == [claim] and self.fs.get_file_info(path).type.name == "NotFound"
        if is_free:
            self._put(path, content)
        self.forget(f"{claims}/{claim}")
        return is_free


def open_root(address: str, *, failure: Failure = FileSystemError, holds: str = "tables") -> RootDirectory:
    """Return the directory that a path or a URI names, without access to it: it may not exist.

    `holds` is what the directory is for, in the text of an error. Raises `failure` for an address of nothing.
    Methods of the result raise it for what the file system refuses.
    """
    scheme, is_uri, rest = address.partition("://")
    bucket, _, path = rest.partition("/")
    is_store = is_uri and scheme != "file"
    if re.match("file:(?!//)", address):
        why = f"is neither a path nor a complete URI; {_LOCAL}"
    elif re.match("[A-Za-z][A-Za-z0-9+.-]+:/(?!/)|(s3|gs|abfss):(?!/)", address):
        why = "is neither a path nor a complete URI: a scheme has two slashes (s3://); write ./ before a path"
    elif not is_store and bucket not in {"", "localhost"}:
        why = f"names another machine, {bucket!r}; {_LOCAL}"
    elif is_uri and not is_store and "/" not in rest:
        why = f"has no path; {_LOCAL}"
    elif is_store and (scheme not in _OBJECT_STORES or not bucket or not path.strip("/")):
        stores = ", ".join(f"{name}://" for name in _OBJECT_STORES)
        why = f"is no address of {holds}; name a directory, or a bucket and a path in it ({stores})"
    elif is_store and re.search("[#%]|//", rest):
        why = "has #, % or // in its path, which URIs give a meaning of their own; name another path"
    elif is_store:
        return RootDirectory(address, f"{scheme}://{bucket}", path.strip("/"), failure)
    else:
        local = os.path.abspath(f"/{unquote(path)}" if is_uri else address)
        return RootDirectory(address, "", local.rstrip("/") or "/", failure)
    message = f"{address} {why}"
    raise failure(message)


@cache
def _file_system(store: str) -> Any:
    from pyarrow.fs import LocalFileSystem, PyFileSystem

    if not store:
        return LocalFileSystem()
    # Read when the library is imported: its warnings repeat what its errors say, on stderr.
    os.environ.setdefault("RUST_LOG", "error")
    from deltalake.fs import DeltaStorageHandler

    # The library that writes the tables' logs reads and writes their files: one kind of credentials for both.
    return PyFileSystem(DeltaStorageHandler(store, dict(_STORE_OPTIONS)))

"""Every file that this tool writes: atomic replacement, streams that are written in place, logs, locks."""

from kafka_groups.files.locks import lock
from kafka_groups.files.output import (
    PRIVATE,
    PUBLIC,
    append_file,
    check_writable,
    create_file,
    is_same_file,
    make_directory,
    open_log,
    open_new_file,
    write_atomically,
)
from kafka_groups.files.private import private_file
from kafka_groups.files.streams import SpecialFileError, find_open_descriptor, read_regular

__all__ = [
    "PRIVATE",
    "PUBLIC",
    "SpecialFileError",
    "append_file",
    "check_writable",
    "create_file",
    "find_open_descriptor",
    "is_same_file",
    "lock",
    "make_directory",
    "open_log",
    "open_new_file",
    "private_file",
    "read_regular",
    "write_atomically",
]

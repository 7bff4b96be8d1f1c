"""The log file of Spark, which has the output of Spark's processes and the reason why a JVM ended."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from kafka_groups.errors import PipelineError
from kafka_groups.files import open_log

_STDOUT_AND_STDERR: Final = (1, 2)
_MAX_BYTES_READ: Final = 1_000_000
# A JVM writes the reason of its end after the first of these texts, on the line after the second one, or on the line
# before the third one.
_JVM_END: Final = re.compile(
    r'^Exception in thread "main" (.+)'
    r"|^Error occurred during initialization of VM(?:\n(.+))?"
    r"|^(.+)\nError: Could not create the Java Virtual Machine",
    re.MULTILINE,
)


@contextmanager
def redirect_output(log: Path) -> Iterator[None]:
    """Append to the log what this process writes to file descriptors 1 and 2 inside the context.

    Processes that are started inside the context write to the log until they end. Raises PipelineError if the file
    cannot be written.
    """
    try:
        log_descriptor = open_log(log)
    except OSError as error:
        msg = f"cannot write the log of Spark, {log}: {error.strerror}; name another file with --spark-log"
        raise PipelineError(msg) from error
    with ExitStack() as restore:
        restore.callback(os.close, log_descriptor)
        _flush_streams()
        for descriptor in _STDOUT_AND_STDERR:
            copy = os.dup(descriptor)
            restore.callback(os.close, copy)
            restore.callback(os.dup2, copy, descriptor)
            os.dup2(log_descriptor, descriptor)
        # Callbacks run in reverse order, so Python's buffers are written while the log still gets them.
        restore.callback(_flush_streams)
        yield


def _flush_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        # Python has None here if the process was started without the stream.
        if stream is not None:
            stream.flush()


def jvm_end_reason(log: Path, start: int) -> str | None:
    """Return the reason why a JVM ended, from the log after byte `start`; None if it contains no reason."""
    with log.open("rb") as file:
        file.seek(start)
        text = file.read(_MAX_BYTES_READ).decode("utf-8", "replace")
    match = _JVM_END.search(text)
    if match is None:
        return None
    reason = next(filter(None, match.groups()), match[0])
    return reason.strip()

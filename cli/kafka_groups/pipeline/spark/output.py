"""What Spark's processes say goes to a log, and the environment is as it was afterwards."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from kafka_groups.errors import PipelineError

_STREAMS = (1, 2)


@contextmanager
def noise_goes_to(log: Path) -> Iterator[None]:
    """Let file descriptors 1 and 2 be the log for a while; processes that start meanwhile keep it."""
    try:
        target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        msg = f"cannot write the log of Spark, {log}: {error.strerror}; name another file with --spark-log"
        raise PipelineError(msg) from error
    _flush()
    kept = {number: os.dup(number) for number in _STREAMS}
    try:
        for number in _STREAMS:
            os.dup2(target, number)
        yield
    finally:
        _flush()
        for number, copy in kept.items():
            os.dup2(copy, number)
            os.close(copy)
        os.close(target)


@contextmanager
def environment_with(changes: Mapping[str, str | None]) -> Iterator[None]:
    """Let variables be these (None: not set) for a while. What is set meanwhile by others is undone, too."""
    before = dict(os.environ)
    try:
        for name, value in changes.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()

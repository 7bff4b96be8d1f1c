"""What Spark throws, as the error that was raised at its bottom."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafka_groups import errors
from kafka_groups.errors import KafkaGroupsError, PipelineError, StorageError, WorkerLateError

_OUR_ERROR: Final = re.compile(r"kafka_groups\.errors\.(\w+): (.+)")
# "ValueError: sentence", the last line of a traceback; Spark's own classes begin with org.apache.spark.
_PYTHON_ERROR: Final = re.compile(r"^(?:pyspark\.[\w.]+\.)?(\w+(?:Error|Exception)): (.+)$", re.MULTILINE)
# Spark gives each worker that plans a stream 10 s to start, a number that no setting changes.
_LATE: Final = "Python worker failed to connect back"
_FULL: Final = "java.io.IOException: No space left on device"


@contextmanager
def told_in_python() -> Iterator[None]:
    """What Spark throws becomes the error that was raised in Python at its bottom, without any trace."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise error_in(str(error)) from None


def error_in(text: str) -> KafkaGroupsError:
    """The error that a text of Spark's tells of: ours as it was raised, others by their last line."""
    if ours := _OUR_ERROR.findall(text):
        name, sentence = ours[-1]
        kind = getattr(errors, name, PipelineError)
        return kind(sentence.strip()) if issubclass(kind, PipelineError) else PipelineError(sentence.strip())
    if _FULL in text:
        return StorageError(
            "Cannot write how far was read: there is no space left. Free some, and run the command again."
        )
    if _LATE in text:
        return WorkerLateError(
            "Spark gave up on a Python worker that took longer than 10 s to start: this machine is very busy, or reads "
            "Python from a slow disk. Nothing is lost: run the command again"
        )
    if python := _PYTHON_ERROR.findall(text):
        name, sentence = python[-1]
        return PipelineError(f"Spark could not go on: {name}: {sentence.strip()}")
    return PipelineError(
        f"Spark could not go on: {text.strip().splitlines()[0] if text.strip() else 'it says nothing'}"
    )

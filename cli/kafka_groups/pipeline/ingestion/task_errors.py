"""What Spark throws, as the error that was raised at its bottom."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafka_groups import errors
from kafka_groups.errors import KafkaGroupsError, PipelineError, StorageError

_OUR_ERROR: Final = re.compile(r"kafka_groups\.errors\.(\w+): (.+)")
# "ValueError: sentence", the last line of a traceback; Spark's own classes begin with org.apache.spark.
_PYTHON_ERROR: Final = re.compile(r"^(?:pyspark\.[\w.]+\.)?(\w+(?:Error|Exception)): (.+)$", re.MULTILINE)
_FULL: Final = "java.io.IOException: No space left on device"


@contextmanager
def told_in_python() -> Iterator[None]:
    """Turn what Spark throws into the error that was raised in Python at its bottom, without any trace."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise error_in(str(error)) from None


def error_in(text: str) -> KafkaGroupsError:
    """Return the error that is in a text of Spark's: ours as it was raised, others by their last line."""
    if ours := _OUR_ERROR.findall(text):
        name, sentence = ours[-1]
        kind = getattr(errors, name, PipelineError)
        return kind(sentence.strip()) if issubclass(kind, PipelineError) else PipelineError(sentence.strip())
    if _FULL in text:
        return StorageError(
            "Spark cannot write scratch files: no space is left on the file system; free some, and run it again"
        )
    if python := _PYTHON_ERROR.findall(text):
        name, sentence = python[-1]
        return PipelineError(f"Spark failed: {name}: {sentence.strip()}")
    return PipelineError(f"Spark failed: {text.strip().splitlines()[0] if text.strip() else 'it gave no reason'}")

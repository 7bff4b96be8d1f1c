"""The errors of Spark, which are long texts with tracebacks, as errors of this package in one sentence."""

from __future__ import annotations

import re
from typing import Final

from kafka_groups import errors
from kafka_groups.errors import KafkaGroupsError, PipelineError, StorageError

# An error of this package that a Python worker raised: its class, and its message.
_OWN_ERROR: Final = re.compile(r"kafka_groups\.errors\.(\w+): (.+)")
# The last line of a Python traceback. The classes of Spark's JVM begin with org.apache.spark and do not match.
_PYTHON_ERROR: Final = re.compile(r"^(?:pyspark\.[\w.]+\.)?(\w+(?:Error|Exception): .+)$", re.MULTILINE)
_DISK_FULL: Final = "No space left on device"
_PY4J_PREFIX: Final = "An error occurred while calling"  # The name of py4j's object follows, such as "o45.load."
_SPARK_PACKAGES: Final = frozenset({"pyspark", "py4j", "grpc"})


def is_spark_error(error: BaseException) -> bool:
    """Return whether Spark raised the exception, or a library that connects this process with Spark."""
    packages = {error_class.__module__.partition(".")[0] for error_class in type(error).__mro__}
    return not packages.isdisjoint(_SPARK_PACKAGES)


def error_in(text: str) -> KafkaGroupsError:
    """Return the error that the text of a Spark exception describes.

    An error of this package that a worker raised has its class and message. Others are a PipelineError with the most
    specific line of the text, or a StorageError if Spark's scratch directory is full.
    """
    own_errors = _OWN_ERROR.findall(text)
    if own_errors:
        class_name, message = own_errors[-1]
        error_class = getattr(errors, class_name, PipelineError)
        if not issubclass(error_class, PipelineError):
            error_class = PipelineError
        error: KafkaGroupsError = error_class(message.strip())
        return error
    python_errors = _PYTHON_ERROR.findall(text)
    # A JVM writes only scratch files. A Python error about a full disk names its own file, and is reported as it is.
    if _DISK_FULL in text and not any(_DISK_FULL in line for line in python_errors):
        return StorageError(
            "no space is left in Spark's scratch directory (SPARK_LOCAL_DIRS, else /tmp); free some, and run it again"
        )
    reason = python_errors[-1].strip() if python_errors else first_line(text)
    return PipelineError(f"Spark failed: {reason or 'it gave no reason'}")


def first_line(text: str) -> str:
    """Return the first line of a text that is neither empty nor py4j's; an empty text if there is none."""
    for line in text.splitlines():
        content = line.strip(": ")
        if content and not content.startswith(_PY4J_PREFIX):
            return content
    return ""

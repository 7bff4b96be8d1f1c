"""The errors of Spark as errors of this package."""

from __future__ import annotations

import pytest

from kafka_groups.errors import PipelineError, SourceError, StorageError
from kafka_groups.pipeline.spark.spark_errors import error_in

_TRACE = """[STREAM_FAILED] Query [id = 7] terminated with exception: [PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR]
Traceback (most recent call last):
  File "/x/brokers.py", line 3, in _answer
    raise self._error(error) from None
{last}
\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:5) SQLSTATE: XXKST
"""


def test_errors_of_this_package_keep_their_class_and_message() -> None:
    for kind in (SourceError, StorageError):
        error = error_in(_TRACE.format(last=f"kafka_groups.errors.{kind.__name__}: the disk is full"))

        assert type(error) is kind
        assert str(error) == "the disk is full"


@pytest.mark.parametrize(
    ("text", "error_class", "message"),
    [
        (
            _TRACE.format(last="ZeroDivisionError: division by zero"),
            PipelineError,
            "Spark failed: ZeroDivisionError: division by zero",
        ),
        ("[A] no\n\tat java", PipelineError, "Spark failed: [A] no"),
        (" ", PipelineError, "Spark failed: it gave no reason"),
        (
            "An error occurred while calling o9.start.\n: java.io.IOException: No space left on device\n\tat java",
            StorageError,
            "no space is left in Spark's scratch directory (SPARK_LOCAL_DIRS, else /tmp); free some, and run it again",
        ),
        (
            _TRACE.format(last="OSError: [Errno 28] No space left on device: '/data/x'"),
            PipelineError,
            "Spark failed: OSError: [Errno 28] No space left on device: '/data/x'",
        ),
    ],
)
def test_other_errors_are_reported_by_their_most_specific_line(
    text: str, error_class: type[PipelineError], message: str
) -> None:
    error = error_in(text)
    assert (type(error), str(error)) == (error_class, message)

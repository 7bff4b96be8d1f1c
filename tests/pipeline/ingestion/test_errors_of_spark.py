"""What Spark throws, as the one sentence that was said at its bottom."""

from __future__ import annotations

from kafka_groups.errors import PipelineError, SourceError, StorageError
from kafka_groups.pipeline.ingestion import error_in

_TRACE = """[STREAM_FAILED] Query [id = 7] terminated with exception: [PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR]
Traceback (most recent call last):
  File "/x/brokers.py", line 3, in _answer
    raise self._error(error) from None
{last}
\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:5) SQLSTATE: XXKST
"""


def test_our_errors_keep_their_class_and_their_sentence() -> None:
    for kind in (SourceError, StorageError):
        error = error_in(_TRACE.format(last=f"kafka_groups.errors.{kind.__name__}: the disk is full"))

        assert type(error) is kind
        assert str(error) == "the disk is full"


def test_other_errors_are_reported_by_their_last_line() -> None:
    error = error_in(_TRACE.format(last="ZeroDivisionError: division by zero"))

    assert type(error) is PipelineError
    assert str(error) == "Spark failed: ZeroDivisionError: division by zero"


def test_what_has_no_python_error_is_its_first_line() -> None:
    assert str(error_in("[A] no\n\tat java")) == "Spark failed: [A] no"
    assert "gave no reason" in str(error_in(" "))


def test_a_disk_that_is_full_where_spark_writes_is_reported_like_one_where_we_do() -> None:
    error = error_in(
        "An error occurred while calling o9.start.\n: java.io.IOException: No space left on device\n\tat java"
    )

    assert type(error) is StorageError
    assert "no space is left on the file system; free some, and run it again" in str(error)

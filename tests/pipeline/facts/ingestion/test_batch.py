"""A batch on Spark: how many tasks it has, what they leave out, and what is said of what Spark throws."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from kafka_groups.errors import PipelineError, SourceError, StorageError
from kafka_groups.pipeline.facts.ingest_tasks import count_cores, skip_stored_rows
from kafka_groups.pipeline.spark.spark_errors import error_in

_TRACE = """[STREAM_FAILED] Query [id = 7] terminated with exception: [PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR]
Traceback (most recent call last):
  File "/x/brokers.py", line 3, in _answer
    raise self._error(error) from None
{last}
\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:5) SQLSTATE: XXKST
"""


@pytest.mark.parametrize(
    ("master", "cores"),
    [
        ("local[3]", 3),
        ("local[2,4]", 2),  # four attempts at each task
        ("local[*]", os.cpu_count()),
        ("local[*,4]", os.cpu_count()),
        ("local", 1),
        # Nobody knows how many; a small one has some more tasks than it needs.
        ("spark://host:7077", 64),
        ("local-cluster[4,1,1024]", 64),
        (None, 64),
    ],
)
def test_the_name_of_the_master_has_the_number_of_cores(master: str | None, cores: int) -> None:
    settings = {"spark.master": master}
    spark: Any = SimpleNamespace(conf=SimpleNamespace(get=settings.get))
    assert count_cores(spark) == cores


def test_rows_that_a_table_has_already_are_skipped() -> None:
    rows = pa.RecordBatch.from_pydict(
        {"source_partition": pa.array([2] * 3, pa.int32()), "source_offset": pa.array([6, 7, 9], pa.int64())}
    )
    assert skip_stored_rows(rows, {0: 9, 2: 7})["source_offset"].to_pylist() == [7, 9]
    assert skip_stored_rows(rows, {0: 9}) is rows


def test_errors_of_this_package_keep_their_class_and_message() -> None:
    for kind in (SourceError, StorageError):
        error = error_in(_TRACE.format(last=f"kafka_groups.errors.{kind.__name__}: the disk is full"))

        assert type(error) is kind
        assert str(error) == "the disk is full"


@pytest.mark.parametrize(
    ("thrown", "kind", "said"),
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
    thrown: str, kind: type[PipelineError], said: str
) -> None:
    error = error_in(thrown)
    assert (type(error), str(error)) == (kind, said)

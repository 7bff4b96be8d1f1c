"""The Spark session of a command, with a log file for the messages of Spark and of its Python client."""

from __future__ import annotations

import io
import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafka_groups.errors import PipelineError
from kafka_groups.files import open_log
from kafka_groups.options.signals import save_sigint_handler
from kafka_groups.pipeline.commands.spark_options import SparkChoice

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The label of the progress bar.
STARTING_SPARK: Final = "starting Spark"


@contextmanager
def open_spark_session(spark_choice: SparkChoice, *, brief: bool) -> Iterator[SparkSession]:
    """Yield the session that the options choose; `brief` is for work that needs little of the JVM.

    A temporary log is deleted at the end, unless an error names it. Raises PipelineError if Spark cannot start.
    """
    from kafka_groups.pipeline.spark.session import start_session

    log_path = spark_choice.spark_log or _create_temporary_log()
    is_kept = spark_choice.spark_log is not None
    # Spark's own SIGINT handler calls the JVM, possibly in the middle of another call.
    restore_sigint_handler = save_sigint_handler()
    try:
        with (
            _redirect_python_output(log_path),
            start_session(
                master=spark_choice.master,
                remote=spark_choice.remote,
                log=log_path,
                memory=spark_choice.driver_memory,
                conf=spark_choice.conf,
                fetch=spark_choice.fetch_java,
                brief=brief,
            ) as spark,
        ):
            restore_sigint_handler()
            yield spark
    except PipelineError as error:
        is_kept = is_kept or str(log_path) in str(error)
        raise
    finally:
        if not is_kept:
            log_path.unlink(missing_ok=True)


class _LogStream(io.TextIOBase):
    """A stream that appends each text to a file. Spark creates the file, or reports why it cannot."""

    def __init__(self, log_path: Path) -> None:
        self._log_path = log_path

    def write(self, text: str) -> int:
        with suppress(OSError), os.fdopen(open_log(self._log_path), "w", encoding="utf-8") as file:
            file.write(text)
        return len(text)


@contextmanager
def _redirect_python_output(log_path: Path) -> Iterator[None]:
    """Redirect to the log what Spark's Python client logs and prints about cancelled calls and an ended JVM."""
    stream = _LogStream(log_path)
    handler = logging.StreamHandler(stream)
    logging.getLogger().addHandler(handler)
    try:
        with redirect_stderr(stream):
            yield
    finally:
        logging.getLogger().removeHandler(handler)


def _create_temporary_log() -> Path:
    """Return a new, empty file."""
    file_descriptor, path = tempfile.mkstemp(prefix="kafka-groups-spark-", suffix=".log")
    os.close(file_descriptor)
    return Path(path)

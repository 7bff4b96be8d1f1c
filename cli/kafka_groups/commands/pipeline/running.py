"""What a command of the pipeline does around its work: its streams, its Spark, and how it ends."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NoReturn

from kafka_groups.commands.options import Connection
from kafka_groups.commands.pipeline.options import SparkWanted
from kafka_groups.errors import IncompleteAnswerError, KafkaGroupsError, PipelineError, SettingsError
from kafka_groups.model import Failure
from kafka_groups.rendering.documents import failure_document
from kafka_groups.rendering.notices import note, tell_failures
from kafka_groups.rendering.pipeline.documents import Summary, error_document, summary_content, whole_document
from kafka_groups.rendering.pipeline.rows import NUMBERS, WRITTEN, Number, TableRows, write_document, write_rows
from kafka_groups.rendering.progress import ProgressBar
from kafka_groups.rendering.screen import Screen, look_at_streams
from kafka_groups.settings import ConnectionSettings, resolve_settings
from kafka_groups.settings.librdkafka import ClientSettings, resolve_client

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TERMINATED: Final = 128 + signal.SIGTERM


@dataclass(kw_only=True)
class Run:
    """A command under way."""

    command: str
    output_format: str
    screen: Screen
    bar: ProgressBar
    started: float = field(default_factory=time.monotonic)
    is_written: bool = False

    def note(self, text: str) -> None:
        """Something worth knowing, on stderr."""
        self.bar.stop()
        note(self.screen, text)

    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.monotonic() - self.started

    def write(self, content: Mapping[str, Any], *, status: str = "complete", errors: Sequence[Any] = ()) -> None:
        """The command's document, once."""
        self.bar.stop()
        if self.output_format == "json" and not self.is_written:
            self.is_written = True
            write_document(self.screen, whole_document(self.command, status, content, errors))

    def finish(self, summary: Summary, failures: Sequence[Failure] = ()) -> None:
        """What was done; IncompleteAnswerError if something of it failed."""
        anything = any(summary.rows.values())
        self.bar.stop()
        self.write(
            summary_content(summary),
            status="complete" if not failures else "partial" if anything else "failed",
            errors=[failure_document(failure) for failure in failures],
        )
        if self.output_format != "json" and not summary.rows:
            numbers = [Number(name.replace("_", " "), value) for name, value in summary.numbers.items()]
            write_rows(self.screen, NUMBERS, numbers, self.output_format)
        elif self.output_format != "json":
            written = [TableRows(table, rows) for table, rows in summary.rows.items()]
            write_rows(self.screen, WRITTEN, written, self.output_format)
        self.note(_told(summary))
        tell_failures(self.screen, failures)
        if failures:
            raise IncompleteAnswerError(anything_answered=anything)


@contextmanager
def running(command: str, *, output_format: str, colour: str) -> Iterator[Run]:
    """Hold the streams for a command; whatever ends it early leaves a whole document, and SIGTERM is exit 143."""
    screen = look_at_streams(colour)
    run = Run(command=command, output_format=output_format, screen=screen, bar=ProgressBar(screen))
    with _ended_by_sigterm():
        try:
            yield run
        except (IncompleteAnswerError, SettingsError):
            raise
        except KafkaGroupsError as error:
            run.write({}, status="failed", errors=[error_document(error)])
            raise
        except KeyboardInterrupt:
            run.write({}, status="failed")
            raise
        except SystemExit:
            run.write({}, status="failed")
            # Said here and not where the signal comes: unwinding may be interrupted again.
            run.note("Error: terminated")
            raise
        finally:
            run.bar.stop()


@contextmanager
def spark_of(wanted: SparkWanted) -> Iterator[SparkSession]:
    """The session that the flags say. A log that nobody asked for goes away unless an error names it."""
    from kafka_groups.pipeline.session import start_session

    log = wanted.spark_log or _temporary()
    keep = wanted.spark_log is not None
    try:
        with start_session(
            master=wanted.master,
            remote=wanted.remote,
            log=log,
            memory=wanted.driver_memory,
            fetch=wanted.fetch_java,
        ) as spark:
            yield spark
    except PipelineError as error:
        keep = keep or str(log) in str(error)
        raise
    finally:
        if not keep:
            log.unlink(missing_ok=True)


def wire_settings(connection: Connection) -> ConnectionSettings:
    """Settings of the admin layer."""
    return resolve_settings(**_sources(connection))


def client_settings(connection: Connection) -> ClientSettings:
    """Settings of librdkafka."""
    return resolve_client(**_sources(connection))


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def _sources(connection: Connection) -> dict[str, Any]:
    return {
        "bootstrap": connection.bootstrap_server,
        "config": connection.config,
        "properties": connection.properties,
        "profile": connection.profile,
        "timeout": connection.timeout,
        "environment": os.environ,
    }


def _temporary() -> Path:
    handle, path = tempfile.mkstemp(prefix="kafka-groups-spark-", suffix=".log")
    os.close(handle)
    return Path(path)


def _told(summary: Summary) -> str:
    """The numbers of a run, in a line."""
    numbers = [f"{name.replace('_', ' ')} {value:,}" for name, value in summary.numbers.items() if value is not None]
    if summary.rows:
        numbers.append(f"rows written {sum(summary.rows.values()):,}")
    return f"Done in {summary.seconds:.1f} s: {', '.join(numbers) or 'nothing was to be done'}."


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM unwinds like Ctrl-C does, so that sessions and connections are closed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(_TERMINATED)

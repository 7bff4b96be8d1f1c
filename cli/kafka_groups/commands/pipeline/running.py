"""What a command of the pipeline does around its work: its streams, its Spark, and how it ends."""

from __future__ import annotations

import gc
import io
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from kafka_groups.commands.options import Connection
from kafka_groups.commands.pipeline.spark_options import SparkWanted
from kafka_groups.commands.pipeline.stopping import keep_ctrl_c, sigterm_unwinds
from kafka_groups.errors import IncompleteResultError, KafkaGroupsError, PipelineError, SettingsError
from kafka_groups.model import Failure
from kafka_groups.rendering.documents import failure_document
from kafka_groups.rendering.pipeline.documents import (
    INTERRUPTED,
    Summary,
    error_document,
    summary_content,
    whole_document,
)
from kafka_groups.rendering.pipeline.rows import NUMBERS, WRITTEN, Number, TableRows, write_document, write_rows
from kafka_groups.rendering.progress import ProgressBar
from kafka_groups.rendering.screen import Screen, look_at_streams
from kafka_groups.rendering.stderr import note, print_failures
from kafka_groups.settings import ConnectionSettings, resolve_settings
from kafka_groups.settings.librdkafka import ClientSettings, resolve_client
from kafka_groups.settings.sources import Sources, merge_sources

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Commands that write no rows, and tell numbers of what they did.
_COUNTING: Final = ("compact",)


@dataclass(kw_only=True)
class Run:
    """A command under way."""

    command: str
    output_format: str
    screen: Screen
    bar: ProgressBar
    started: float = field(default_factory=time.monotonic)
    is_written: bool = False
    so_far: Callable[[], Summary] | None = None

    def note(self, text: str) -> None:
        """Something worth knowing, on stderr."""
        self.bar.stop()
        note(self.screen, text)

    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.monotonic() - self.started

    def is_writing(self, so_far: Callable[[], Summary]) -> None:
        """Work has begun that writes piece by piece: this tells what it has written, should something end it early."""
        self.so_far = so_far

    def write(self, content: Mapping[str, Any], *, status: str = "complete", errors: Sequence[Any] = ()) -> None:
        """The command's document, once."""
        self.bar.stop()
        was_written, self.is_written = self.is_written, True
        if self.output_format == "json" and not was_written:
            write_document(self.screen, whole_document(self.command, status, content, errors))

    def finish(self, summary: Summary, failures: Sequence[Failure] = (), *, cut_short: bool = False) -> None:
        """What was done; IncompleteResultError if something of it failed. `cut_short`: by a signal."""
        self.end(summary, failures, cut_short=cut_short)
        print_failures(self.screen, failures)
        if failures:
            raise IncompleteResultError(anything_succeeded=any(summary.rows.values()))

    def end(self, summary: Summary, failures: Sequence[Failure] = (), *, cut_short: bool = False) -> None:
        """The same for who has told the failures on stderr as they came, and ends for another reason."""
        errors = [failure_document(failure) for failure in failures] + [INTERRUPTED] * cut_short
        status = "complete" if not errors else "partial" if any(summary.rows.values()) else "failed"
        self.write(summary_content(summary), status=status, errors=errors)
        self._show(summary)
        self.note(_told(summary))

    def give_up(self, error: Mapping[str, Any]) -> bool:
        """What was written or done before this ended it, which stays; whether there is anything."""
        summary = None if self.is_written else self._summary_so_far()
        is_counting = self.command in _COUNTING
        if summary is None or not any((summary.numbers if is_counting else summary.rows).values()):
            self.write({}, status="failed", errors=[error])
            return False
        self.write(summary_content(summary), status="partial", errors=[error])
        self._show(summary)
        self.note(_told(summary, begin="Done so far," if is_counting else "Written"))
        return True

    def _summary_so_far(self) -> Summary | None:
        # What ended the work may have taken the directory with it.
        with suppress(KafkaGroupsError, OSError):
            return None if self.so_far is None else self.so_far()
        return None

    def _show(self, summary: Summary) -> None:
        self.bar.stop()
        is_for_people = self.output_format == "table"
        if self.output_format == "json":
            return
        # A program gets rows of one kind, whatever there was to do.
        if self.command in _COUNTING or (is_for_people and not summary.rows):
            names = {name: name.replace("_", " ") if is_for_people else name for name in summary.numbers}
            numbers = [Number(names[name], value) for name, value in summary.numbers.items()]
            write_rows(self.screen, NUMBERS, numbers, self.output_format)
        else:
            written = [TableRows(table, rows) for table, rows in summary.rows.items()]
            write_rows(self.screen, WRITTEN, written, self.output_format)


@contextmanager
def running(command: str, *, output_format: str, colour: str) -> Iterator[Run]:
    """Hold the streams for a command; whatever ends it early leaves a whole document, and SIGTERM is exit 143."""
    # What has passed to Java and back is in cycles, and stays in Java for as long as it is here.
    gc.enable()
    screen = look_at_streams(colour)
    run = Run(command=command, output_format=output_format, screen=screen, bar=ProgressBar(screen))
    with sigterm_unwinds():
        try:
            yield run
        except (IncompleteResultError, SettingsError, click.ClickException, click.exceptions.Exit, BrokenPipeError):
            raise
        except Exception as error:
            # Faults and what a system refuses, too: who reads the document has nothing else.
            known = error if isinstance(error, KafkaGroupsError) else PipelineError(f"{type(error).__name__}: {error}")
            if run.give_up(error_document(known)):
                known.exit_code = IncompleteResultError(anything_succeeded=True).exit_code
            raise
        except KeyboardInterrupt:
            run.give_up(INTERRUPTED)
            raise
        except SystemExit:
            run.give_up(INTERRUPTED)
            # Said here and not where the signal comes: unwinding may be interrupted again.
            run.note("Error: terminated")
            raise
        finally:
            run.bar.stop()


@contextmanager
def spark_of(wanted: SparkWanted, *, brief: bool) -> Iterator[SparkSession]:
    """The session that the flags say, a `brief` one where the JVM has little to do.

    A log that nobody asked for goes away unless an error names it.
    """
    from kafka_groups.pipeline.session import start_session

    log = wanted.spark_log or _temporary()
    keep = wanted.spark_log is not None
    # Spark's own answer to it talks to the JVM, maybe in the middle of another talk.
    give_back_ctrl_c = keep_ctrl_c()
    try:
        with (
            _python_noise_goes_to(log),
            start_session(
                master=wanted.master,
                remote=wanted.remote,
                log=log,
                memory=wanted.driver_memory,
                fetch=wanted.fetch_java,
                brief=brief,
            ) as spark,
        ):
            give_back_ctrl_c()
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


def check_timeout(connection: Connection) -> None:
    """SettingsError for a timeout that is none, where no cluster is named that would ask for it."""
    merge_sources({}, _sources(connection)).timeout_s()


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def moment() -> str:
    """Now, UTC, as lines of runs without an end begin."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _sources(connection: Connection) -> Sources:
    return {
        "bootstrap": connection.bootstrap_server,
        "config": connection.config,
        "properties": connection.properties,
        "profile": connection.profile,
        "timeout": connection.timeout,
        "environment": os.environ,
    }


class _LogStream(io.TextIOBase):
    """A stream whose every write is appended to a file; Spark makes the file, or says why it cannot."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def write(self, text: str) -> int:
        with suppress(OSError), self._log.open("a", encoding="utf-8") as file:
            file.write(text)
        return len(text)


@contextmanager
def _python_noise_goes_to(log: Path) -> Iterator[None]:
    """What Spark's client says by Python's means, of calls cut short and of a JVM that is gone: no news on stderr."""
    stream = _LogStream(log)
    handler = logging.StreamHandler(stream)
    logging.getLogger().addHandler(handler)
    try:
        with redirect_stderr(stream):
            yield
    finally:
        logging.getLogger().removeHandler(handler)


def _temporary() -> Path:
    handle, path = tempfile.mkstemp(prefix="kafka-groups-spark-", suffix=".log")
    os.close(handle)
    return Path(path)


def _told(summary: Summary, begin: str = "Done") -> str:
    """The numbers of a run, in a line."""
    numbers = [f"{name.replace('_', ' ')} {value:,}" for name, value in summary.numbers.items() if value is not None]
    if summary.rows:
        numbers.append(f"rows written {sum(summary.rows.values()):,}")
    return f"{begin} in {summary.seconds:.1f} s: {', '.join(numbers) or 'nothing was to be done'}."

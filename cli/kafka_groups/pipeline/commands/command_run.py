"""A run of a pipeline command: its output streams, its document, and the report of a run that ends early."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any, Final

import click

from kafka_groups.errors import IncompleteResultError, KafkaGroupsError, PipelineError, SettingsError
from kafka_groups.exit_codes import ResultStatus
from kafka_groups.model import Failure, status_of
from kafka_groups.options.signals import raise_on_sigterm
from kafka_groups.pipeline.commands.documents import (
    INTERRUPTED,
    Summary,
    error_document,
    summary_content,
    whole_document,
)
from kafka_groups.pipeline.commands.rows import NUMBERS, WRITTEN, Number, TableRows
from kafka_groups.rendering.documents import failure_document
from kafka_groups.rendering.progress import ProgressBar
from kafka_groups.rendering.screen import Screen, inspect_streams, print_note
from kafka_groups.rendering.stderr import print_failures
from kafka_groups.rendering.writers.whole_result import write_document, write_rows

# Commands that write no rows and report numbers of their work.
_REPORT_NUMBERS: Final = ("compact",)
_PACKAGES: Final = ("numpy", "pyarrow", "deltalake")


@dataclass(kw_only=True)
class Run:
    """A run of a command. `summarize` returns what the run has written so far, where it writes piece by piece."""

    command: str
    output_format: str
    screen: Screen
    bar: ProgressBar
    started: float = field(default_factory=time.monotonic)
    is_written: bool = False
    summarize: Callable[[], Summary] | None = None

    def print_note(self, text: str) -> None:
        """Print a line to stderr."""
        self.bar.stop()
        print_note(self.screen, text)

    def seconds(self) -> float:
        """Return how long the run has taken so far, in seconds."""
        return time.monotonic() - self.started

    def write(
        self, content: Mapping[str, Any], *, status: ResultStatus = ResultStatus.COMPLETE, errors: Sequence[Any] = ()
    ) -> None:
        """Write the command's document with this content, unless it is written already."""
        self.bar.stop()
        was_written, self.is_written = self.is_written, True
        if self.output_format == "json" and not was_written:
            write_document(self.screen, whole_document(self.command, status, content, errors))

    def finish(self, summary: Summary, failures: Sequence[Failure] = (), *, interrupted: bool = False) -> None:
        """Report the summary and the failures, and raise IncompleteResultError if there are failures.

        `interrupted` is True if a signal ended the work early.
        """
        status = self.report(summary, failures, interrupted=interrupted)
        print_failures(self.screen, failures)
        if failures:
            raise IncompleteResultError(status)

    def report(self, summary: Summary, failures: Sequence[Failure] = (), *, interrupted: bool = False) -> ResultStatus:
        """Report the summary, and return its status.

        The document alone has the failures: the caller has printed them, and raises.
        """
        errors = [failure_document(failure) for failure in failures] + [INTERRUPTED] * interrupted
        status = status_of(anything_failed=bool(errors), anything_succeeded=any(summary.rows.values()))
        self.write(summary_content(summary), status=status, errors=errors)
        self._show(summary)
        self.print_note(_summary_line(summary))
        return status

    def report_early_end(self, error: Mapping[str, Any]) -> bool:
        """Report the error and what the run wrote before it; return whether it wrote anything."""
        summary = None if self.is_written else self._summary_so_far()
        reports_numbers = self.command in _REPORT_NUMBERS
        if summary is None or not any((summary.numbers if reports_numbers else summary.rows).values()):
            self.write({}, status=ResultStatus.FAILED, errors=[error])
            return False
        self.write(summary_content(summary), status=ResultStatus.PARTIAL, errors=[error])
        self._show(summary)
        self.print_note(_summary_line(summary, begin="Done so far," if reports_numbers else "Written"))
        return True

    def _summary_so_far(self) -> Summary | None:
        # If the directory was removed, which ended the work, it cannot be summarized either.
        with suppress(KafkaGroupsError, OSError):
            return None if self.summarize is None else self.summarize()
        return None

    def _show(self, summary: Summary) -> None:
        self.bar.stop()
        is_table = self.output_format == "table"
        if self.output_format == "json":
            return
        # A program gets rows of one kind from a command, also if there was nothing to do.
        if self.command in _REPORT_NUMBERS or (is_table and not summary.rows):
            names = {name: name.replace("_", " ") if is_table else name for name in summary.numbers}
            numbers = [Number(names[name], value) for name, value in summary.numbers.items()]
            write_rows(self.screen, NUMBERS, numbers, self.output_format)
        else:
            written = [TableRows(table, rows) for table, rows in summary.rows.items()]
            write_rows(self.screen, WRITTEN, written, self.output_format)


def _require_packages() -> None:
    if missing := [name for name in _PACKAGES if find_spec(name) is None]:
        msg = (
            f"the pipeline needs {', '.join(missing)}, which is not installed; run pip install 'kafka-groups[pipeline]'"
        )
        raise PipelineError(msg)


@contextmanager
def start_run(command: str, *, output_format: str, colour: str) -> Iterator[Run]:
    """Run a command: write a whole document also if it ends early, and exit with code 143 on SIGTERM."""
    screen = inspect_streams(colour)
    run = Run(command=command, output_format=output_format, screen=screen, bar=ProgressBar(screen))
    with raise_on_sigterm():
        try:
            _require_packages()
            yield run
        except (IncompleteResultError, SettingsError, click.ClickException, click.exceptions.Exit, BrokenPipeError):
            raise
        except Exception as error:
            # Unexpected errors are reported, too: a program that reads the document has no other source.
            known = error if isinstance(error, KafkaGroupsError) else PipelineError(f"{type(error).__name__}: {error}")
            if run.report_early_end(error_document(known)):
                known.exit_code = ResultStatus.PARTIAL.exit_code
            raise
        except KeyboardInterrupt:
            run.report_early_end(INTERRUPTED)
            raise
        except SystemExit:
            run.report_early_end(INTERRUPTED)
            # Printed here and not by the signal handler, because a second signal may interrupt the clean-up.
            run.print_note("Error: terminated")
            raise
        finally:
            run.bar.stop()


def now_ms() -> int:
    """Return the current time in milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


def timestamp() -> str:
    """Return the current time, UTC, as the lines of endless runs begin with it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _summary_line(summary: Summary, begin: str = "Done") -> str:
    """Return the numbers of a run in one line."""
    numbers = [f"{name.replace('_', ' ')} {value:,}" for name, value in summary.numbers.items() if value is not None]
    if summary.rows:
        numbers.append(f"rows written {sum(summary.rows.values()):,}")
    return f"{begin} in {summary.seconds:.1f} s: {', '.join(numbers) or 'nothing to do'}."

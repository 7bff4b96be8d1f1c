"""A run of a pipeline command: its output streams, its document, and the report of a run that ends early."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
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
    table_documents,
    whole_document,
)
from kafka_groups.pipeline.commands.rows import (
    CLUSTER,
    CLUSTER_ID,
    NUMBERS,
    WRITTEN,
    ClusterTableRows,
    Number,
    TableRows,
)
from kafka_groups.rendering.columns import Column
from kafka_groups.rendering.documents import failure_document
from kafka_groups.rendering.progress import ProgressBar
from kafka_groups.rendering.screen import Screen, inspect_streams, print_note
from kafka_groups.rendering.stderr import print_failures
from kafka_groups.rendering.writers.whole_result import write_document, write_rows

# These commands write no rows, and report numbers of their work.
_REPORT_NUMBERS: Final = ("compact",)
_PACKAGES: Final = ("numpy", "pyarrow", "deltalake")


@dataclass(kw_only=True)
class Run:
    """A run of a command, with its output streams and its document.

    `started_s` is the time of a monotonic clock in seconds, and `is_written` whether the document was written.
    `summarize` returns a summary of the rows that were written, for a command that writes piece by piece.
    """

    command: str
    output_format: str
    screen: Screen
    bar: ProgressBar
    started_s: float = field(default_factory=time.monotonic)
    is_written: bool = False
    summarize: Callable[[], Summary] | None = None

    def print_note(self, text: str) -> None:
        """Print a line to stderr."""
        self.bar.stop()
        print_note(self.screen, text)

    def seconds(self) -> float:
        """Return how long the run has taken, in seconds."""
        return time.monotonic() - self.started_s

    def write(
        self, content: Mapping[str, Any], *, status: ResultStatus = ResultStatus.COMPLETE, errors: Sequence[Any] = ()
    ) -> None:
        """Write the command's document with this content, unless it was written already."""
        self.bar.stop()
        was_written = self.is_written
        self.is_written = True
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

        Only the document has the failures. The caller has printed them, and raises the error.
        """
        errors = [failure_document(failure) for failure in failures] + [INTERRUPTED] * interrupted
        status = status_of(anything_failed=bool(errors), anything_succeeded=any(summary.rows.values()))
        self.write(summary_content(summary), status=status, errors=errors)
        self._write_rows(summary)
        self.print_note(_format_summary(summary))
        return status

    def report_early_end(self, error: Mapping[str, Any]) -> bool:
        """Report the error and the rows that were written before it; return whether there are any."""
        summary = None if self.is_written else self._partial_summary()
        reports_numbers = self.command in _REPORT_NUMBERS
        if summary is None or not any((summary.numbers if reports_numbers else summary.rows).values()):
            self.write({}, status=ResultStatus.FAILED, errors=[error])
            return False
        self.write(summary_content(summary), status=ResultStatus.PARTIAL, errors=[error])
        self._write_rows(summary)
        self.print_note(_format_summary(summary, begin="Partly done," if reports_numbers else "Written"))
        return True

    def _partial_summary(self) -> Summary | None:
        """Return a summary of the rows that were written; None if it is not known."""
        # If the removal of the directory ended the work, no summary of it is possible, either.
        with suppress(KafkaGroupsError, OSError):
            return None if self.summarize is None else self.summarize()
        return None

    def _write_rows(self, summary: Summary) -> None:
        """Write the rows of the summary; JSON has them in its document."""
        self.bar.stop()
        if self.output_format == "json":
            return
        is_table = self.output_format == "table"
        # A command writes rows of one kind for programs, even if there was nothing to do.
        if self.command in _REPORT_NUMBERS or (is_table and not summary.rows):
            shown_names = {name: name.replace("_", " ") if is_table else name for name in summary.numbers}
            number_rows = [Number(shown_names[name], value) for name, value in summary.numbers.items()]
            write_rows(self.screen, NUMBERS, number_rows, self.output_format)
        else:
            _write_table_rows(self.screen, summary, self.output_format)


def _write_table_rows(screen: Screen, summary: Summary, output_format: str) -> None:
    """Write a row for each table, in ndjson with its cluster if the command names it."""
    rows = table_documents(summary)
    if summary.rows_by_cluster is None:
        write_rows(screen, WRITTEN, [TableRows(**row) for row in rows], output_format)
        return
    if output_format == "ndjson":
        columns: tuple[Column, ...] = (CLUSTER, CLUSTER_ID, *WRITTEN)
    else:
        columns = (CLUSTER, *WRITTEN) if summary.has_several else WRITTEN
    write_rows(screen, columns, [ClusterTableRows(**row) for row in rows], output_format)


def _require_packages() -> None:
    """Raise PipelineError if a package of the extra pipeline is not installed."""
    if missing_packages := [name for name in _PACKAGES if find_spec(name) is None]:
        names = ", ".join(missing_packages)
        msg = f"the pipeline needs {names}, which is not installed; run pip install 'kafka-groups[pipeline]'"
        raise PipelineError(msg)


@contextmanager
def start_run(command: str, *, output_format: str, colour: str) -> Iterator[Run]:
    """Yield the run of a command. It writes its document even if it ends early, and exits with 143 on SIGTERM."""
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
            known_error = (
                error if isinstance(error, KafkaGroupsError) else PipelineError(f"{type(error).__name__}: {error}")
            )
            if run.report_early_end(error_document(known_error)):
                known_error.exit_code = ResultStatus.PARTIAL.exit_code
            raise
        except KeyboardInterrupt:
            run.report_early_end(INTERRUPTED)
            raise
        except SystemExit:
            run.report_early_end(INTERRUPTED)
            # The line is printed here, not by the signal handler, because a second signal may interrupt the clean-up.
            run.print_note("Error: terminated")
            raise
        finally:
            run.bar.stop()


def _format_summary(summary: Summary, begin: str = "Done") -> str:
    """Return the numbers of a run in one line, such as "Done in 2.0 s: dates 3, rows written 12."."""
    numbers_text = [
        f"{name.replace('_', ' ')} {value:,}" for name, value in summary.numbers.items() if value is not None
    ]
    if summary.rows:
        numbers_text.append(f"rows written {sum(summary.rows.values()):,}")
    return f"{begin} in {summary.seconds:.1f} s: {', '.join(numbers_text) or 'nothing to do'}."

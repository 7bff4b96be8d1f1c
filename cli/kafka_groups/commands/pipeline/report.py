"""`kafka-groups pipeline report`: how groups did, on a terminal, as JSON, and as a page for a browser."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click

from kafka_groups.commands.options import Selectors, takes_output, takes_selectors
from kafka_groups.commands.pipeline.options import SparkWanted, takes_past, takes_spark, takes_tables
from kafka_groups.commands.pipeline.running import Run, now_ms, running, spark_of
from kafka_groups.errors import IncompleteAnswerError, PipelineError
from kafka_groups.history import History
from kafka_groups.model import Failure
from kafka_groups.rendering.history import draw_history, history_document, write_page
from kafka_groups.rendering.notices import tell_failures
from kafka_groups.rendering.pipeline.rows import write_document

_MS = 1000
_STARTING = "starting Spark"
# Kafka's code of GROUP_ID_NOT_FOUND.
_NOT_FOUND = 69
# Matches nothing.
_NONE = "(?!)"


@click.command(short_help="Show how groups did.")
@takes_tables
@takes_selectors
@takes_past("--since", default="1d", about="How far back.")
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="N",
    default=20,
    show_default=True,
    help="How many groups, the worst first.",
)
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a page for a browser too, with charts; it needs no network.",
)
@takes_spark
@takes_output(formats=("table", "json"))
def report(
    *,
    into: str,
    selectors: Selectors,
    since: float,
    top: int,
    html: Path | None,
    wanted: SparkWanted,
    output_format: str,
    colour: str,
) -> None:
    """Show how groups did: lag with its trend, verdicts with their rule, rebalances, and what deserves a look.

    Of all groups, if none is selected: the worst first, after those that are judged the others, and at the end groups
    that were removed in the period. An id that the tables tell nothing of in the period is an error of that group.
    A group stands as of its last row; AS-OF is shown where that is ten minutes older than another's. Times are UTC.

    \b
    kafka-groups pipeline report --into history --since 7d --html report.html
    """
    with running("report", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.reporting import report as work
        from kafka_groups.pipeline.storage import open_storage

        if html is not None and not html.absolute().parent.is_dir():
            msg = f"--html {html}: there is no directory {html.absolute().parent}"
            raise click.UsageError(msg)
        storage = open_storage(into)
        until_ms = now_ms()
        named, match = narrow(selectors)
        run.bar.begin(_STARTING)
        with spark_of(wanted, brief=True) as spark:
            run.bar(_STARTING, 1, 1)
            history = work(
                spark,
                storage,
                since_ms=until_ms - round(since * _MS),
                until_ms=until_ms,
                groups=named,
                match=match,
                top=top,
                progress=run.bar,
            )
        run.bar.stop()
        # Where nothing was found, the page of another time stays.
        if html is not None and (history.groups or not history.unknown):
            _write_page(history, html, top)
            run.note(f"The page is {html}.")
        _show(run, history, is_matched=match is not None and match != _NONE)


def _show(run: Run, history: History, *, is_matched: bool) -> None:
    """The history, and each id of which there is none: IncompleteAnswerError then."""
    failures = [_unknown(group) for group in history.unknown]
    if run.output_format == "json":
        run.is_written = True
        write_document(run.screen, history_document(history, failures))
    elif history.groups or not failures:
        draw_history(run.screen, history)
    if is_matched and not history.groups and not failures:
        run.note("No group matches.")
    tell_failures(run.screen, failures)
    if failures:
        raise IncompleteAnswerError(anything_answered=bool(history.groups))


def _unknown(group: str) -> Failure:
    message = "the tables tell of no such group in this period"
    return Failure(group=group, code=_NOT_FOUND, name="GROUP_ID_NOT_FOUND", message=message)


def narrow(selectors: Selectors) -> tuple[tuple[str, ...], str | None]:
    """Named groups, and a pattern of others; neither if all are wanted."""
    excluded = selectors.exclude
    if excluded is None:
        return selectors.named, selectors.match.pattern if selectors.match else None
    named = tuple(group for group in selectors.named if excluded.fullmatch(group) is None)
    if selectors.match is None and selectors.named:
        # All that was named may be left out, and then nothing is wanted.
        return named, None if named else _NONE
    wanted = selectors.match.pattern if selectors.match else ".*"
    return named, f"(?!(?:{excluded.pattern})$)(?:{wanted})"


def _write_page(history: History, path: Path, shown: int) -> None:
    """All of the page or what was there before: a reader never opens half of it."""
    path = path.absolute()
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            write_page(history, out, shown=shown)
        Path(draft).chmod(0o644)
        Path(draft).replace(path)
    except OSError as error:
        msg = f"the page cannot be written: {error.strerror}: {path}"
        raise PipelineError(msg) from error
    finally:
        Path(draft).unlink(missing_ok=True)

"""`kafka-groups pipeline report`: how groups did, on a terminal, as JSON, and as a page for a browser."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import click

from kafka_groups.commands.options import Selectors, takes_output, takes_selectors
from kafka_groups.commands.pipeline.options import takes_past, takes_tables
from kafka_groups.commands.pipeline.page_file import check_page, write_page_to
from kafka_groups.commands.pipeline.running import Run, now_ms, running, spark_of
from kafka_groups.commands.pipeline.spark_options import SparkWanted, takes_spark
from kafka_groups.errors import IncompleteResultError, PipelineError
from kafka_groups.history import Cut, History
from kafka_groups.model import Failure
from kafka_groups.rendering.documents import Document
from kafka_groups.rendering.history import draw_history, history_document
from kafka_groups.rendering.history.lines import write_history_lines
from kafka_groups.rendering.history.units import tell_left_out
from kafka_groups.rendering.pipeline.documents import error_document
from kafka_groups.rendering.pipeline.rows import write_document
from kafka_groups.rendering.stderr import print_failures

_MS = 1000
_STARTING = "starting Spark"
# As many as a person looks at.
_USUAL = 20
# Programs get all groups, but where each has up to a thousand points: a million of them are some 100 MB of JSON.
_USUAL_OF = {"json": 1_000, "ndjson": 1_000, "csv": None}
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
    help="How many groups, the worst first; and of those that were removed as many. Without it 20, in json "
    "and ndjson 1000, in csv all; and whatever is named by id.",
)
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a page for a browser too, with charts; it needs no network. A pipe or a device is written to.",
)
@takes_spark
@takes_output()
def report(
    *,
    into: str,
    selectors: Selectors,
    since: float,
    top: int | None,
    html: Path | None,
    wanted: SparkWanted,
    output_format: str,
    colour: str,
) -> None:
    """Show how groups did: lag with its trend, verdicts with their rule, rebalances, and what deserves a look.

    Of all groups, if none is selected: the worst first, after those that are judged the others, and at the end groups
    that were removed in the period. An id that the tables tell nothing of in the period is an error of that group.
    A group stands as of its last row; AS-OF is shown where that is ten minutes older than another's. Times are UTC.
    ndjson and csv have a line for each group, csv without points and rebalances; json has what was found, too.

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
        if html is not None:
            check_page(html)
        until_ms = now_ms()
        named, match, exclude = narrow(selectors)
        shown, on_page = cuts(top, named, output_format)
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
                exclude=exclude,
                shown=shown,
                drawn=_drawn(shown, on_page if html is not None else None, output_format),
                progress=run.bar,
            )
        run.bar.stop()
        # Where nothing was found, the page of another time stays.
        is_page_wanted = html is not None and (history.groups or not history.unknown)
        lost = _write_page(run, history, on_page, html) if html is not None and is_page_wanted else None
        _show(run, history, lost, is_matched=(match or exclude) is not None and match != _NONE)


def cuts(top: int | None, named: Collection[str], output_format: str) -> tuple[Cut, Cut]:
    """How many groups the answer has, and how many the page: what is usual leaves out nothing that was named."""
    if top is not None:
        return Cut(top), Cut(top)
    spared = frozenset(named)
    return Cut(_USUAL_OF.get(output_format, _USUAL), spared), Cut(_USUAL, spared)


def _drawn(shown: Cut, on_page: Cut | None, output_format: str) -> Cut:
    """Which groups' points are shown anywhere: csv has none."""
    return shown if output_format != "csv" else on_page or Cut(0)


def _write_page(run: Run, history: History, cut: Cut, path: Path) -> PipelineError | None:
    """The page; why there is none, which takes nothing from the report."""
    drawn = history.within(cut)
    try:
        write_page_to(path, drawn, shown=len(drawn.groups))
    except PipelineError as error:
        return error
    # Of what the answer lacks, too, it is told once.
    lacks_more = len(drawn.groups) < len(history.groups)
    run.note(f"The page is {path}.{f' On it, {tell_left_out(drawn)}' if lacks_more else ''}")
    return None


def _show(run: Run, history: History, lost: PipelineError | None, *, is_matched: bool) -> None:
    """The history, and each id of which there is none: IncompleteResultError then. `lost` is the page's error."""
    failures = [_unknown(group) for group in history.unknown]
    if run.output_format == "json":
        run.is_written = True
        write_document(run.screen, _document(history, failures, lost))
        _tell_cut(run, history)
    elif history.groups or not failures:
        _write(run, history)
    if is_matched and not history.groups and not failures:
        run.note("No group matches.")
    print_failures(run.screen, failures)
    if lost is not None:
        run.note(f"Error: {lost}")
    if failures or lost:
        raise IncompleteResultError(anything_succeeded=bool(history.groups or lost))


def _write(run: Run, history: History) -> None:
    if run.output_format == "table":
        draw_history(run.screen, history)
    else:
        write_history_lines(run.screen, history, run.output_format)
        _tell_cut(run, history)


def _tell_cut(run: Run, history: History) -> None:
    """For programs' formats; a table has it above."""
    if told := tell_left_out(history):
        run.note(told)


def _document(history: History, failures: Sequence[Failure], lost: PipelineError | None) -> Document:
    document = history_document(history, failures)
    if lost is not None:
        document |= {"status": "partial", "errors": [*document["errors"], error_document(lost)]}
    return document


def _unknown(group: str) -> Failure:
    message = "the tables tell of no such group in this period"
    return Failure(group=group, code=_NOT_FOUND, name="GROUP_ID_NOT_FOUND", message=message)


def narrow(selectors: Selectors) -> tuple[tuple[str, ...], str | None, str | None]:
    """Named groups, a pattern of others, neither if all are wanted, and one of those that are not."""
    excluded, match = selectors.exclude, selectors.match.pattern if selectors.match else None
    if excluded is None:
        return selectors.named, match, None
    named = tuple(group for group in selectors.named if excluded.fullmatch(group) is None)
    if selectors.named and not named and match is None:
        # All that was named is left out, and then nothing is wanted.
        match = _NONE
    return named, match, excluded.pattern

"""`kafka-groups pipeline report`: the history of groups, on a terminal, as JSON, and as a page for a browser."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import click

from kafka_groups.errors import IncompleteResultError, PipelineError
from kafka_groups.exit_codes import ResultStatus
from kafka_groups.groups.selection import Selectors
from kafka_groups.model import Failure, status_of
from kafka_groups.options.output import output_options
from kafka_groups.options.parameters import IntegerRange
from kafka_groups.options.selectors import selector_options
from kafka_groups.pipeline.commands.command_run import Run, now_ms, start_run
from kafka_groups.pipeline.commands.documents import error_document
from kafka_groups.pipeline.commands.options import data_dir_option, past_option
from kafka_groups.pipeline.commands.page_file import check_page, write_page_to
from kafka_groups.pipeline.report.history import Cut, History
from kafka_groups.pipeline.report.json.document import history_document
from kafka_groups.pipeline.report.text.lines import write_history_lines
from kafka_groups.pipeline.report.text.table import draw_history
from kafka_groups.pipeline.report.units import tell_left_out
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND
from kafka_groups.rendering.stderr import print_failures
from kafka_groups.rendering.writers.whole_result import write_document
from kafka_groups.suggestions import suggest

_MS = 1000
# The number of groups for a person.
_DEFAULT_TOP = 20
# Programs get more: each group has up to a thousand points, and a million points are some 100 MB of JSON.
_DEFAULT_TOP_BY_FORMAT = {"json": 1_000, "ndjson": 1_000, "csv": None}
_MATCHES_NOTHING = "(?!)"


@click.command(short_help="Show lag, verdicts and rebalances of groups.")
@data_dir_option
@selector_options
@past_option("--since", default="1d", about="Length of the period until now.")
@click.option(
    "--top",
    type=IntegerRange(min=1),
    metavar="N",
    help="Show at most N groups, the worst first, and at most N deleted groups. "
    "[default: 20, in json and ndjson 1000, in csv all, and always the groups that are named by id]",
)
@click.option(
    "--html",
    # A text, because a Path has no slash at its end, which means a directory.
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Also write an HTML page with charts, which needs no network. FILE may be a pipe or a device.",
)
@output_options()
def report(
    *,
    data_dir: str,
    selectors: Selectors,
    since: float,
    top: int | None,
    html: str | None,
    output_format: str,
    colour: str,
) -> None:
    """Show lag with its trend, verdicts with their rules, rebalances and findings of groups.

    Without selectors, these are all groups: the worst first, then those without a verdict, then unused ones, then
    those that were deleted in the period. The values of a group are those of its last row. AS-OF is shown if that row
    is ten minutes older than the newest row of another group. Times are UTC. ndjson and csv have a line for each
    group, csv without points and rebalances. json also has the findings.

    A requested group without data in the period is reported as an error, and the others are shown.

    Needs no cluster and no Java, but tables of build in --data-dir, and the extra pipeline.

    \b
    Examples:
      kafka-groups pipeline report --data-dir history --since 1d --html report.html
      kafka-groups pipeline report --data-dir history --format json | jq '.groups[] | {group, lag}'
    """
    with start_run("report", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.report.history_reader import report as read_history
        from kafka_groups.pipeline.store import open_storage

        if html is not None and not (folder := Path(html).absolute().parent).is_dir():
            msg = f"--html {html}: there is no directory {folder}"
            raise click.UsageError(msg)
        storage = open_storage(data_dir)
        if html is not None:
            check_page(html)
        until_ms = now_ms()
        named, match, exclude = apply_exclude(selectors)
        shown, on_page = cuts(top, named, output_format)
        history = read_history(
            storage,
            since_ms=until_ms - round(since * _MS),
            until_ms=until_ms,
            groups=named,
            match=match,
            exclude=exclude,
            shown=shown,
            drawn=_cut_with_points(shown, on_page if html is not None else None, output_format),
            progress=run.bar,
        )
        run.bar.stop()
        # An earlier page is not replaced by one without any group.
        is_page_wanted = html is not None and (history.groups or not history.unknown)
        page_error = _write_page(run, history, on_page, html) if html is not None and is_page_wanted else None
        has_pattern = (match or exclude) is not None and match != _MATCHES_NOTHING
        _show(run, history, page_error, has_pattern=has_pattern)


def cuts(top: int | None, named: Collection[str], output_format: str) -> tuple[Cut, Cut]:
    """Return which groups the output has, and which the page; without --top, both have all named groups."""
    if top is not None:
        return Cut(top), Cut(top)
    exempt = frozenset(named)
    return Cut(_DEFAULT_TOP_BY_FORMAT.get(output_format, _DEFAULT_TOP), exempt), Cut(_DEFAULT_TOP, exempt)


def apply_exclude(selectors: Selectors) -> tuple[tuple[str, ...], str | None, str | None]:
    """Return the named groups that are not excluded, the pattern of other groups, and the pattern of excluded ones.

    All groups are meant if there is neither a name nor a pattern.
    """
    excluded, match = selectors.exclude, selectors.match.pattern if selectors.match else None
    if excluded is None:
        return selectors.named, match, None
    named = tuple(group for group in selectors.named if excluded.fullmatch(group) is None)
    if selectors.named and not named and match is None:
        # All named groups are excluded: no group is meant, and not all groups.
        match = _MATCHES_NOTHING
    return named, match, excluded.pattern


def _cut_with_points(shown: Cut, on_page: Cut | None, output_format: str) -> Cut:
    """Return the groups whose points are in any output; csv has no points."""
    return shown if output_format != "csv" else on_page or Cut(0)


def _write_page(run: Run, history: History, cut: Cut, path: str) -> PipelineError | None:
    """Write the page; return the error if that fails, because the report is shown all the same."""
    page_history = history.within(cut)
    try:
        write_page_to(path, page_history, shown=len(page_history.groups))
    except PipelineError as error:
        return error
    # The note on groups that the report itself lacks is printed elsewhere.
    lacks_more = len(page_history.groups) < len(history.groups)
    run.print_note(f"The page is {path}.{f' On it, {tell_left_out(page_history)}' if lacks_more else ''}")
    return None


def _show(run: Run, history: History, page_error: PipelineError | None, *, has_pattern: bool) -> None:
    """Write the history; print failures, and raise IncompleteResultError if there are any.

    Failures are requested groups without data, and a page that could not be written.
    """
    failures = [_not_found(group, history.nearest.get(group)) for group in history.unknown]
    # The report is written also if the page is not.
    status = status_of(
        anything_failed=bool(failures or page_error), anything_succeeded=bool(history.groups or page_error)
    )
    if run.output_format == "json":
        run.is_written = True
        errors = [] if page_error is None else [error_document(page_error)]
        document = history_document(history, failures)
        write_document(run.screen, document | {"status": status, "errors": [*document["errors"], *errors]})
        _note_omitted_groups(run, history)
    elif history.groups or not failures:
        _write(run, history)
    if has_pattern and not history.groups and not failures:
        run.print_note("No group matches.")
    print_failures(run.screen, failures)
    if page_error is not None:
        run.print_note(f"Error: {page_error}")
    if status is not ResultStatus.COMPLETE:
        raise IncompleteResultError(status)


def _write(run: Run, history: History) -> None:
    if run.output_format == "table":
        draw_history(run.screen, history)
    else:
        write_history_lines(run.screen, history, run.output_format)
        _note_omitted_groups(run, history)


def _note_omitted_groups(run: Run, history: History) -> None:
    """Print how many groups the output lacks. Not for a table, which has this in its heading."""
    if note := tell_left_out(history):
        run.print_note(note)


def _not_found(group: str, near: str | None) -> Failure:
    message = "the tables have no data on this group in this period; check the id, or give a longer --since"
    hint = suggest(group, near)
    return Failure(group=group, code=GROUP_ID_NOT_FOUND, name="GROUP_ID_NOT_FOUND", message=message + hint)

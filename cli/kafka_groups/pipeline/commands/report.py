"""`kafka-groups pipeline report`: the history of groups, on a terminal, as JSON, and as a page for a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from kafka_groups.groups.selection import Selectors
from kafka_groups.options.output import output_options
from kafka_groups.options.parameters import NAME, IntegerRange
from kafka_groups.options.selectors import selector_options
from kafka_groups.pipeline.commands.clock import now_ms
from kafka_groups.pipeline.commands.command_run import Run, start_run
from kafka_groups.pipeline.commands.options import data_dir_option, past_option
from kafka_groups.pipeline.commands.page_file import check_page, check_page_directory
from kafka_groups.pipeline.commands.report_check import judge_report, read_report_condition
from kafka_groups.pipeline.commands.report_output import write_report
from kafka_groups.pipeline.commands.report_request import GroupChoice, GroupLimits, choose_groups, choose_limits

if TYPE_CHECKING:
    from kafka_groups.pipeline.report.history import History
    from kafka_groups.pipeline.store import Storage

_MS: Final = 1_000


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
    # The type is text, because a Path loses the slash at the end that marks a directory.
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Also write an HTML page with charts, which needs no network. FILE may be a pipe or a device.",
)
@click.option(
    "--fail-if",
    metavar="COND",
    type=NAME,
    help="Exit with 4 if the condition holds for a selected group, such as 'verdict==STOP or time_lag>1h'.",
)
@output_options()
def report(
    *,
    data_dir: str,
    selectors: Selectors,
    since: float,
    top: int | None,
    html: str | None,
    fail_if: str | None,
    output_format: str,
    colour: str,
) -> None:
    """Show lag with its trend, verdicts with their rules, rebalances and findings of groups.

    Without selectors, these are all groups: the worst first, then those without a verdict, then unused ones, then
    those that were deleted in the period. The values of a group are those of its last row. AS-OF is shown if that row
    is ten minutes older than the newest row of another group. Times are UTC. ndjson and csv have a line for each
    group, csv without points and rebalances. json also has the findings.

    A condition of --fail-if compares keys of the groups in json, as in kafka-groups lag; time_lag is time_lag_ms as a
    duration. All selected groups are judged, also those that --top omits, but no deleted ones. A group without a
    verdict is UNKNOWN. If no group has a lag, a condition on lags or verdicts is not checked (exit code 1).

    A requested group without data in the period is reported as an error, and the others are shown.

    Needs no cluster and no Java, but tables of build in --data-dir, and the extra pipeline.

    \b
    Examples:
      kafka-groups pipeline report --data-dir history --since 1d --html report.html
      kafka-groups pipeline report --data-dir history --format json | jq '.groups[] | {group, lag}'
    """
    condition = None if fail_if is None else read_report_condition(fail_if)
    with start_run("report", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.store import open_storage

        check_page_directory(html)
        storage = open_storage(data_dir)
        check_page(html)
        group_choice = choose_groups(selectors)
        limits = choose_limits(top, group_choice.groups, output_format, has_page=html is not None)
        history = _read_until_now(run, storage, group_choice, limits, period_ms=round(since * _MS))
        incomplete_error = write_report(
            run, history, page_path=html, page_limit=limits.on_page, has_pattern=group_choice.has_pattern
        )
        if condition is not None:
            judge_report(run, condition, history, incomplete_error)
        if incomplete_error is not None:
            raise incomplete_error


def _read_until_now(
    run: Run, storage: Storage, group_choice: GroupChoice, limits: GroupLimits, *, period_ms: int
) -> History:
    """Return the history of the chosen groups in the period (ms) until now. Raises PipelineError."""
    from kafka_groups.pipeline.report.history_reader import read_history

    until_ms = now_ms()
    history = read_history(
        storage,
        since_ms=until_ms - period_ms,
        until_ms=until_ms,
        **group_choice._asdict(),
        shown=limits.shown,
        drawn=limits.drawn,
        progress=run.bar,
    )
    run.bar.stop()
    return history

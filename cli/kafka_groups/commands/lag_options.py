"""The options of `kafka-groups lag`: their decorator, their values, and which of them contradict each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Final, TypeVar

import click

from kafka_groups.commands.lag_watch import WatchOptions
from kafka_groups.files import is_same_file
from kafka_groups.groups.lag.lag_row import ISOLATION_LEVELS, LagKey
from kafka_groups.options import offer
from kafka_groups.options.parameters import NAME, IntegerRange, combine_options, parse_option_duration
from kafka_groups.options.suggestions import Choice
from kafka_groups.options.topics import topic_option
from kafka_groups.options.verdicts import retention_alert_option, stop_after_option
from kafka_groups.verdicts import Limits

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class LagOptions:
    """The options of `lag`. An option that was not given is None.

    `by` names what a row is for. `top` is the number of rows, `samples` the number of polls. `watch` is the interval
    between two polls as text; `stop_after` and `retention_alert` are in ms.
    """

    by: str
    with_time: bool
    top: int | None
    isolation: str
    fail_if: str | None
    watch: str | None
    stop_after: int | None
    retention_alert: int | None
    samples: int | None
    polls_file: str | None
    metrics_file: str | None
    with_all_metrics: bool
    topics: tuple[str, ...]

    @property
    def key(self) -> LagKey:
        """What a row is for."""
        return LagKey(self.by)

    @property
    def has_polls(self) -> bool:
        """Whether the lag is that of several polls, so that rates and verdicts are shown."""
        return self.watch is not None or self.polls_file is not None


# In the order of the help.
_OPTIONS: Final[tuple[Callable[[Any], Any], ...]] = (
    topic_option("Only this topic, or these partitions of it, with their totals. Repeatable."),
    click.option(
        "--by",
        type=Choice([key.value for key in LagKey]),
        default=LagKey.GROUP.value,
        show_default=True,
        help="What a row is for.",
    ),
    click.option("--time", "with_time", is_flag=True, help="Add time lag: the age of the first record not processed."),
    click.option("--top", metavar="N", type=IntegerRange(1), help="Only the N rows that are furthest behind."),
    click.option(
        "--isolation",
        type=Choice(tuple(ISOLATION_LEVELS.values())),
        default="uncommitted",
        show_default=True,
        help="Measure to the log end offset, or (committed) to the last stable offset, where consumers with "
        "isolation.level=read_committed stop.",
    ),
    click.option(
        "--fail-if",
        metavar="COND",
        type=NAME,
        help="Exit with 4 if the condition holds for a row, such as 'lag>1000 and state==Stable'.",
    ),
    click.option(
        "--watch",
        metavar="INTERVAL",
        help="Poll in this interval, such as 5s, and show rates, a verdict and its rule for each group.",
    ),
    stop_after_option(),
    retention_alert_option,
    click.option("--samples", metavar="N", type=IntegerRange(1), help="With --watch: end after N polls."),
    click.option(
        "--polls",
        "polls_file",
        metavar="FILE",
        shell_complete=offer("files"),
        help="Keep the last polls in FILE, so that each run, such as one of cron, can show rates and verdicts. It is "
        "written after each poll.",
    ),
    click.option(
        "--metrics-file",
        metavar="FILE",
        shell_complete=offer("files"),
        help="Also write the metrics of --format openmetrics to FILE, in one step, for node_exporter's textfile "
        "collector.",
    ),
    click.option(
        "--all-metrics",
        "with_all_metrics",
        is_flag=True,
        help="With --by partition: also the metrics that few need: log start and log end offsets, margins, and whether "
        "the partition is behind.",
    ),
)


def lag_options(function: F) -> F:
    """Add the options of `lag`; they arrive as one `options`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return combine_options(function, "options", LagOptions, tuple(field.name for field in fields(LagOptions)))


def read_watch_options(options: LagOptions) -> WatchOptions | None:
    """Return the options of a watch; None without --watch. Raises UsageError for an interval of 0, and others."""
    if options.watch is None:
        if options.samples is not None:
            raise click.UsageError("--samples is only for --watch")
        return None
    interval_s = parse_option_duration("--watch", options.watch)
    if not interval_s:
        raise click.UsageError("--watch needs an interval above 0, such as 5s")
    return WatchOptions(interval_s, options.samples)


def require_consistent(options: LagOptions, output_format: str) -> None:
    """Raise UsageError for options that contradict each other."""
    if options.key is not LagKey.GROUP and options.has_polls:
        msg = f"rates and verdicts are those of groups: --by {options.by} contradicts --watch and --polls"
        raise click.UsageError(msg)
    if options.watch is not None and output_format not in ("table", "ndjson"):
        msg = f"--watch writes table or ndjson; --format {output_format} contradicts it"
        raise click.UsageError(msg)
    if options.with_all_metrics:
        _require_metrics_of_partitions(options, output_format)
    polls_file = options.polls_file
    metrics_file = options.metrics_file
    if options.watch is not None and metrics_file is not None:
        raise click.UsageError("--metrics-file contradicts --watch; run lag by cron instead")
    if polls_file is not None and metrics_file is not None and is_same_file(polls_file, metrics_file):
        msg = f"--polls and --metrics-file name the same file, {polls_file}; each needs a file of its own"
        raise click.UsageError(msg)


def _require_metrics_of_partitions(options: LagOptions, output_format: str) -> None:
    """Raise UsageError if --all-metrics adds nothing."""
    if output_format != "openmetrics" and options.metrics_file is None:
        raise click.UsageError("--all-metrics is only for --format openmetrics and --metrics-file")
    if options.key is not LagKey.PARTITION:
        msg = f"--all-metrics is only for --by partition; --by {options.by} always has all metrics"
        raise click.UsageError(msg)


def read_limits(options: LagOptions, *, with_time: bool) -> Limits:
    """Return the limits of verdicts. Raises UsageError for one that nothing would use.

    `with_time` is true if time lag is measured, which a condition may need without --time.
    """
    if options.stop_after is not None and not options.has_polls:
        raise click.UsageError("--stop-after is only for --watch and --polls")
    if options.retention_alert is not None and not (options.has_polls and with_time):
        raise click.UsageError("--retention-alert is only for --time with --watch or --polls")
    given = {"stop_after_ms": options.stop_after, "retention_alert_ms": options.retention_alert}
    return Limits(**{name: value for name, value in given.items() if value is not None})

"""The options of `kafka-groups exporter`: their decorator, their values, and which of them contradict each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple, TypeVar

import click

from kafka_groups.groups.lag.lag_row import ISOLATION_LEVELS, LagKey
from kafka_groups.options import offer
from kafka_groups.options.parameters import IntegerRange, combine_options, parse_option_duration
from kafka_groups.options.suggestions import Choice
from kafka_groups.options.topics import topic_option
from kafka_groups.options.verdicts import retention_alert_option, stop_after_option
from kafka_groups.verdicts import Limits

F = TypeVar("F", bound=Callable[..., Any])

_KEYS: Final = tuple(key.value for key in LagKey if key is not LagKey.MEMBER)
_LARGEST_PORT: Final = 65_535


@dataclass(frozen=True, kw_only=True)
class ExporterOptions:
    """The options of `exporter`. One that was not given is None; `stop_after` and `retention_alert` are in ms."""

    listen: str
    interval: str | None
    max_age: str | None
    web_config: str | None
    topics: tuple[str, ...]
    by: str
    with_time: bool
    with_verdicts: bool
    with_all_metrics: bool
    max_series: int | None
    isolation: str
    stop_after: int | None
    retention_alert: int | None

    @property
    def key(self) -> LagKey:
        """What has series of its own, besides groups."""
        return LagKey(self.by)


# In the order of the help.
_OPTIONS: Final[tuple[Callable[[Any], Any], ...]] = (
    click.option(
        "--listen",
        metavar="HOST:PORT",
        default="127.0.0.1:9465",
        show_default=True,
        help="The address to listen on; 0.0.0.0 means all addresses, and port 0 a free one. An IPv6 "
        "address stands in brackets.",
    ),
    click.option(
        "--interval",
        metavar="DURATION",
        help="Poll in the background in this interval, such as 30s; a scrape returns the last poll.",
    ),
    click.option(
        "--max-age",
        metavar="DURATION",
        help="Poll when scraped, unless the last poll is younger. [default: 0s, a poll for each scrape]",
    ),
    click.option(
        "--web-config",
        metavar="FILE",
        shell_complete=offer("files"),
        help="TLS and users with passwords, in the format of the Prometheus project's web config file.",
    ),
    topic_option("Only this topic, or these partitions of it, with their totals. Repeatable."),
    click.option(
        "--by",
        type=Choice(_KEYS),
        default=LagKey.GROUP.value,
        show_default=True,
        help="What has series: groups; groups and their topics; or groups and their partitions.",
    ),
    click.option("--time", "with_time", is_flag=True, help="Add time lag: the age of the first record not processed."),
    click.option(
        "--verdicts",
        "with_verdicts",
        is_flag=True,
        help="Add verdicts on groups. They take most of the time of a poll where groups have many partitions.",
    ),
    click.option(
        "--all-metrics",
        "with_all_metrics",
        is_flag=True,
        help="With --by partition: also the metrics that few need, such as log start and log end offsets.",
    ),
    click.option(
        "--max-series",
        metavar="N",
        type=IntegerRange(1),
        help="At most N series of groups for each cluster: those that are least behind have none. A line on stderr and "
        "kafka_groups_skipped_groups report it.",
    ),
    click.option(
        "--isolation",
        type=Choice(tuple(ISOLATION_LEVELS.values())),
        default="uncommitted",
        show_default=True,
        help="Measure to the log end offset, or (committed) to the last stable offset, where consumers with "
        "isolation.level=read_committed stop.",
    ),
    stop_after_option(),
    retention_alert_option,
)


def exporter_options(function: F) -> F:
    """Add the options of `exporter`; they arrive as one `options`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return combine_options(function, "options", ExporterOptions, tuple(field.name for field in fields(ExporterOptions)))


class Polling(NamedTuple):
    """The seconds between two polls in the background, None without them, and how old a poll may be at a scrape."""

    interval_s: float | None
    max_age_s: float


def read_polling(options: ExporterOptions) -> Polling:
    """Return when to poll. Raises UsageError for a duration that cannot be used, or for two contradicting options."""
    if options.interval is not None and options.max_age is not None:
        raise click.UsageError("--interval contradicts --max-age: poll in the background, or when scraped")
    if options.max_age is not None:
        return Polling(None, parse_option_duration("--max-age", options.max_age))
    if options.interval is None:
        return Polling(None, 0.0)
    interval_s = parse_option_duration("--interval", options.interval)
    if not interval_s:
        raise click.UsageError("--interval needs a duration above 0, such as 30s")
    return Polling(interval_s, 0.0)


def read_address(text: str) -> tuple[str, int]:
    """Return the host and the port of HOST:PORT. Raises UsageError for another text."""
    host, colon, port = text.rpartition(":")
    if port.isascii() and port.isdigit() and len(port) <= len(str(_LARGEST_PORT)) and int(port) <= _LARGEST_PORT:
        if host.startswith("[") and host.endswith("]"):
            return host[1:-1], int(port)
        if colon and host and ":" not in host:
            return host, int(port)
    msg = f"--listen {text!r} is not HOST:PORT; write for example 127.0.0.1:9465, [::1]:9465 or 0.0.0.0:9465"
    raise click.UsageError(msg)


def read_limits(options: ExporterOptions) -> Limits:
    """Return the limits of verdicts. Raises UsageError for one that nothing would use."""
    if options.stop_after is not None and not options.with_verdicts:
        raise click.UsageError("--stop-after needs --verdicts")
    if options.retention_alert is not None and not (options.with_verdicts and options.with_time):
        raise click.UsageError("--retention-alert needs --time and --verdicts")
    given = {"stop_after_ms": options.stop_after, "retention_alert_ms": options.retention_alert}
    return Limits(**{name: value for name, value in given.items() if value is not None})


def require_partitions_for_all_metrics(options: ExporterOptions) -> None:
    """Raise UsageError if --all-metrics adds nothing."""
    if options.with_all_metrics and options.key is not LagKey.PARTITION:
        msg = f"--all-metrics is only for --by partition; --by {options.by} always has all metrics"
        raise click.UsageError(msg)

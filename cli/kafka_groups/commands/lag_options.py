"""The options of `kafka-groups lag` that belong together, or contradict each other."""

from __future__ import annotations

import click

from kafka_groups.commands.lag_output import LagOutput
from kafka_groups.commands.lag_watch import WatchOptions
from kafka_groups.files import is_same_file
from kafka_groups.groups.lag.summary import LagKey
from kafka_groups.options.parameters import parse_option_duration
from kafka_groups.verdicts import Limits


def read_watch_options(
    watch: str | None, samples: int | None, top: int | None, output: LagOutput
) -> WatchOptions | None:
    """Return the options of a watch; None without --watch. Raises UsageError for an interval of 0, and others."""
    if watch is None:
        if samples is not None:
            raise click.UsageError("--samples is only for --watch")
        return None
    interval_s = parse_option_duration("--watch", watch)
    if not interval_s:
        raise click.UsageError("--watch needs an interval above 0, such as 5s")
    return WatchOptions(interval_s, samples, top, output.columns)


def require_consistent(
    key: LagKey,
    output_format: str,
    watch: WatchOptions | None,
    *,
    polls_file: str | None,
    metrics_file: str | None,
) -> None:
    """Raise UsageError for options that contradict each other."""
    if key is not LagKey.GROUP and (watch or polls_file):
        msg = f"rates and verdicts are those of groups: --by {key.value} contradicts --watch and --polls"
        raise click.UsageError(msg)
    if watch is not None and output_format not in ("table", "ndjson"):
        msg = f"--watch writes table or ndjson; --format {output_format} contradicts it"
        raise click.UsageError(msg)
    if watch is not None and metrics_file is not None:
        raise click.UsageError("--metrics-file contradicts --watch; run lag by cron instead")
    if polls_file is not None and metrics_file is not None and is_same_file(polls_file, metrics_file):
        msg = f"--polls and --metrics-file name the same file, {polls_file}; each needs a file of its own"
        raise click.UsageError(msg)


def read_limits(
    stop_after_ms: int | None, retention_alert_ms: int | None, *, has_polls: bool, with_time: bool
) -> Limits:
    """Return the limits of verdicts. Raises UsageError for one that nothing would use."""
    if stop_after_ms is not None and not has_polls:
        raise click.UsageError("--stop-after is only for --watch and --polls")
    if retention_alert_ms is not None and not (has_polls and with_time):
        raise click.UsageError("--retention-alert is only for --time with --watch or --polls")
    given = {"stop_after_ms": stop_after_ms, "retention_alert_ms": retention_alert_ms}
    return Limits(**{name: value for name, value in given.items() if value is not None})

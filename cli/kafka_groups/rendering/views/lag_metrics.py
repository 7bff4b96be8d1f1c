"""The metrics of `lag` and of the exporter: what Prometheus stores of a row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from kafka_groups.groups.lag.lag_row import LagKey
from kafka_groups.groups.lag.time_lag import QUALITIES
from kafka_groups.kinds import GROUP_STATES, KINDS
from kafka_groups.rendering.metrics import Metric
from kafka_groups.verdicts import VERDICTS

PREFIX: Final = "kafka_groups"
_LABELS: Final = {
    LagKey.GROUP: ("group", "type"),
    LagKey.TOPIC: ("group", "topic", "type"),
    LagKey.MEMBER: ("group", "member_id", "client_id", "host", "type"),
    LagKey.PARTITION: ("group", "topic", "partition", "type"),
}
# By name behind the prefix and the key: the attribute of the row, and a sentence.
_TOTALS: Final = {
    "lag_messages": ("lag", "Messages between the commits and the log ends."),
    "partitions_behind": ("partitions_behind", "Partitions with a lag above 0."),
    "uncommitted_partitions": ("uncommitted_partitions", "Partitions that the group reads, without a commit."),
    "lost_messages": ("messages_lost", "Messages that retention deleted before they were read."),
    "retention_margin_messages": (
        "retention_margin",
        "Messages between the log start and the commit, of what is left to read.",
    ),
}
_OF_KEY: Final = {
    LagKey.GROUP: {"members": ("members", "Members of the group.")},
    LagKey.PARTITION: {
        "committed_offset": ("committed_offset", "The committed offset."),
        "log_start_offset": ("log_start_offset", "The log start offset."),
        "log_end_offset": ("log_end_offset", "The log end offset."),
    },
}
# Metrics of partitions without --all-metrics: few need the others, and a cluster has a hundred thousand partitions of
# groups.
PARTITION_METRICS: Final = ("lag_messages", "committed_offset")
# The number of failures of a cluster, and the time at which its values were read.
TOTALS: Final = (
    (f"{PREFIX}_poll_failures", "Groups, partitions and brokers that failed in the last poll."),
    (f"{PREFIX}_poll_timestamp_seconds", "When the last poll ended, in seconds since 1970."),
)


def lag_metrics(
    by: LagKey, *, with_time: bool = False, with_all: bool = False, with_verdicts: bool = False
) -> tuple[Metric, ...]:
    """Return the metrics of rows by group, topic, member or partition; each kind of row has its own names.

    `with_all` adds those that few need of each partition; the other rows always have all metrics. `with_verdicts` adds
    the verdict of a group.
    """
    place = f"{PREFIX}_{by.value}"
    labels = tuple((name, name) for name in _LABELS[by])
    values = {**_TOTALS, **_OF_KEY.get(by, {})}
    is_short = by is LagKey.PARTITION and not with_all
    names = PARTITION_METRICS if is_short else tuple(values)
    metrics = [Metric(f"{place}_{name}", values[name][1], values[name][0], labels) for name in names]
    if with_time:
        text = "The age of the first record that is not processed."
        metrics.append(Metric(f"{place}_time_lag_seconds", text, "time_lag_s", labels))
        if not is_short:
            text = "The quality of the time lag."
            name = f"{place}_time_lag_quality"
            metrics.append(Metric(name, text, "time_lag_quality", labels, lambda _row: QUALITIES))
    if by is LagKey.GROUP:
        metrics.append(Metric(f"{place}_state", "The state of the group.", "state", labels, _states_of))
        if with_verdicts:
            text = "The verdict on the group, by its last polls."
            metrics.append(Metric(f"{place}_verdict", text, "verdict", labels, lambda _row: VERDICTS))
    return tuple(metrics)


def _states_of(row: Any) -> Sequence[str]:
    """Return the states that a group of the row's type may have."""
    return _states_of_type(row.type)


@cache
def _states_of_type(group_type: str | None) -> tuple[str, ...]:
    """Return the states of the kinds of a type, or all states for a type that is unknown."""
    known = {state for kind in KINDS if kind.group_type == group_type for state in kind.states}
    return tuple(state for state in GROUP_STATES if state in known or not known)

"""The metrics of `lag`: what Prometheus stores of a row."""

from __future__ import annotations

from typing import Final

from kafka_groups.groups.lag.summary import LagKey
from kafka_groups.rendering.metrics import Metric

PREFIX: Final = "kafka_groups_lag"
_LABELS: Final = {
    LagKey.GROUP: ("group",),
    LagKey.TOPIC: ("group", "topic"),
    LagKey.MEMBER: ("group", "member_id", "client_id", "host"),
    LagKey.PARTITION: ("group", "topic", "partition"),
}
# By name behind the prefix: the attribute of the row, and a sentence.
_TOTALS: Final = {
    "messages": ("lag", "Messages between the commits and the log ends."),
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
# Few need these of each partition, and a cluster has a hundred thousand partitions of groups.
_ON_REQUEST: Final = {
    LagKey.PARTITION: ("partitions_behind", "retention_margin_messages", "log_start_offset", "log_end_offset")
}


def lag_metrics(by: LagKey, *, with_time: bool = False, with_all: bool = False) -> tuple[Metric, ...]:
    """Return the metrics of rows by group, topic, member or partition; each kind of row has its own names.

    `with_all` adds those that few need of each partition; the other rows always have all metrics.
    """
    place = f"{PREFIX}_by_{by.value}"
    labels = tuple((name, name) for name in _LABELS[by])
    hidden = () if with_all else _ON_REQUEST.get(by, ())
    values = {name: value for name, value in {**_TOTALS, **_OF_KEY.get(by, {})}.items() if name not in hidden}
    metrics = [Metric(f"{place}_{name}", text, attribute, labels) for name, (attribute, text) in values.items()]
    if with_time:
        text = "The age of the first record that is not processed."
        metrics.append(Metric(f"{place}_time_lag_seconds", text, "time_lag_s", labels))
        quality = (*labels, ("quality", "time_lag_quality"))
        text = "The quality of the time lag, as a label; the value is 1."
        metrics.append(Metric(f"{place}_time_lag_quality", text, "", quality))
    if by is LagKey.GROUP:
        state = (*labels, ("state", "state"))
        metrics.append(Metric(f"{place}_state", "The state of the group, as a label; the value is 1.", "", state))
    return tuple(metrics)

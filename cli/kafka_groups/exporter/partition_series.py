"""The samples of partitions: lag and committed offset, for clusters with a hundred thousand partitions of groups.

Labels hardly change between polls. The lines of a group are a template in which a poll only replaces the numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from operator import attrgetter
from typing import Final, NamedTuple

from kafka_groups.groups.lag.columns import PartitionColumns
from kafka_groups.model import GroupDescription
from kafka_groups.rendering.metrics import Metric, format_label

# Groups whose lines become one part of the response.
_CHUNK: Final = 500


class _Templates(NamedTuple):
    """The lines of a group with a place for each value, by metric, and what the labels were made of."""

    identity: tuple[object, ...]
    texts: tuple[bytes, ...]


class GroupLines(NamedTuple):
    """The encoded lines of a group, by metric, and the number of its series."""

    texts: tuple[bytes, ...]
    series: int


class PartitionSeries:
    """The lines of the partitions of each group; labels are kept from one poll to the next.

    `lines` are those of the current poll, by group. Unless the caller limits the number of series, they are joined
    while the poll is read: those of a large cluster are in memory once.
    """

    def __init__(self, metrics: Sequence[Metric], *, is_limited: bool) -> None:
        self._metrics = metrics
        self._is_limited = is_limited
        self._values = [attrgetter(metric.value) for metric in metrics]
        self._kept: dict[str, _Templates] = {}
        self._current: dict[str, _Templates] = {}
        self._joined: dict[str, list[bytes]] = {}
        self.lines: dict[str, GroupLines] = {}

    def begin(self) -> None:
        """Begin a poll: forget the lines of the last one, and the labels of groups that it did not have."""
        self._kept = self._current
        self._current = {}
        self._joined = {metric.name: [] for metric in self._metrics}
        self.lines = {}

    def add(self, description: GroupDescription, partitions: PartitionColumns, cluster: str) -> None:
        """Add the lines of the partitions of a group."""
        if not partitions.partition:
            return
        self._add(description.group, description.type, partitions, cluster)
        if not self._is_limited and len(self.lines) >= _CHUNK:
            self._join([*self.lines])

    def take(self, groups: Iterable[str]) -> dict[str, list[bytes]]:
        """Return the lines of these groups by metric, in parts, and the lines that are joined already. Forget all."""
        rest = (group for group in groups if group in self.lines)
        while chunk := [*islice(rest, _CHUNK)]:
            self._join(chunk)
        joined = self._joined
        self._joined = {}
        self.lines = {}
        return joined

    def _join(self, groups: Iterable[str]) -> None:
        """Join the lines of groups, at least one."""
        texts = zip(*(self.lines.pop(group).texts for group in groups), strict=True)
        for metric, parts in zip(self._metrics, texts, strict=True):
            self._joined[metric.name].append(b"".join(parts))

    def _add(self, group: str, group_type: str | None, partitions: PartitionColumns, cluster: str) -> None:
        columns = [tuple(value_of(partitions)) for value_of in self._values]
        if any(None in column for column in columns):
            self.lines[group] = self._format_known(group, group_type, partitions, cluster)
            return
        identity = (cluster, group_type, tuple(partitions.topic), tuple(partitions.partition))
        templates = self._kept.get(group)
        if templates is None or templates.identity != identity:
            templates = _Templates(identity, self._make_templates(group, group_type, partitions, cluster))
        self._current[group] = templates
        texts = tuple(text % column for text, column in zip(templates.texts, columns, strict=True))
        self.lines[group] = GroupLines(texts, len(partitions.partition) * len(texts))

    def _make_templates(
        self, group: str, group_type: str | None, partitions: PartitionColumns, cluster: str
    ) -> tuple[bytes, ...]:
        labels = [label.replace("%", "%%") for label in _format_labels(group, group_type, partitions, cluster)]
        return tuple("".join([f"{metric.name}{label} %d\n" for label in labels]).encode() for metric in self._metrics)

    def _format_known(
        self, group: str, group_type: str | None, partitions: PartitionColumns, cluster: str
    ) -> GroupLines:
        """Return the lines of partitions; those without a value have no sample."""
        labels = _format_labels(group, group_type, partitions, cluster)
        lines = [
            [
                f"{metric.name}{label} {value}\n"
                for label, value in zip(labels, value_of(partitions), strict=True)
                if value is not None
            ]
            for metric, value_of in zip(self._metrics, self._values, strict=True)
        ]
        return GroupLines(tuple("".join(each).encode() for each in lines), sum(map(len, lines)))


def _format_labels(group: str, group_type: str | None, partitions: PartitionColumns, cluster: str) -> list[str]:
    """Return the labels of each partition in braces, in the order of `lag_metrics` by partition."""
    lead = f"{{{format_label('cluster', cluster)},{format_label('group', group)}"
    end = f"{format_label('type', group_type)}}}"
    topics = {topic: format_label("topic", topic) for topic in {*partitions.topic}}
    return [
        f'{lead},{topics[topic]},partition="{number}",{end}'
        for topic, number in zip(partitions.topic, partitions.partition, strict=True)
    ]

"""The samples of rows as lines of text, for Prometheus' text formats.

A scrape may have half a million samples. The labels of a row are joined once for all metrics that have them, and each
distinct value of a label is escaped once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, Final

from kafka_groups.rendering.metrics import Metric, format_label

# Rows whose samples become one text. Few of them stay in the processor's cache, which takes half of the time.
_CHUNK: Final = 1_000
# Values of a label are kept until they are this many times as many as the rows.
_KEPT: Final = 2


class RowSamples:
    """The samples of rows that have the same metrics. Labels are kept for the next rows."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics
        self._labels = {metric.labels: _Labels(metric.labels) for metric in metrics}

    def format(self, rows: Sequence[Any], cluster: str | None) -> Iterator[tuple[str, str]]:
        """Yield parts of the samples: the name of a metric, and lines. Rows have the label of the cluster, if any."""
        for kept in self._labels.values():
            kept.forget_many(_KEPT * len(rows))
        lead = "" if cluster is None else f"{format_label('cluster', cluster)},"
        for start in range(0, len(rows), _CHUNK):
            chunk = rows[start : start + _CHUNK]
            labels = {names: each.join(chunk, lead) for names, each in self._labels.items()}
            for metric in self._metrics:
                yield metric.name, _format_samples(metric, chunk, labels[metric.labels])


def _format_samples(metric: Metric, rows: Sequence[Any], labels: Iterable[str]) -> str:
    """Return the lines of rows; `labels` are those of each row, without braces."""
    name = metric.name
    values = map(attrgetter(metric.value), rows)
    if metric.states_of is None:
        pairs = zip(labels, values, strict=True)
        return "".join([f"{name}{{{label}}} {value}\n" for label, value in pairs if value is not None])
    return "".join(
        [
            _join_states(f"{name}{{{label},", _ends_of_states(name, metric.states_of(row), value))
            for row, label, value in zip(rows, labels, values, strict=True)
            if value is not None
        ]
    )


def _join_states(begin: str, ends: Sequence[str]) -> str:
    """Return the lines of a StateSet for one row, which begin alike."""
    return begin + begin.join(ends)


@cache
def _ends_of_states(name: str, states: Sequence[str], value: str) -> tuple[str, ...]:
    """Return the ends of the lines of a StateSet; a state that is not one of the known states is one more."""
    every = (*states, *(() if value in states else (value,)))
    return tuple(f"{format_label(name, state)}}} {int(state == value)}\n" for state in every)


class _Labels:
    """The labels of rows; `names` are names and attributes."""

    def __init__(self, names: Iterable[tuple[str, str]]) -> None:
        self._columns: list[tuple[_Label, Callable[[Any], object]]] = [
            (_Label(name), attrgetter(attribute)) for name, attribute in names
        ]

    def forget_many(self, limit: int) -> None:
        """Forget the values of a label if they are more than a limit: rows come and go."""
        for label, _ in self._columns:
            if len(label) > limit:
                label.clear()

    def join(self, rows: Sequence[Any], lead: str) -> list[str]:
        """Return the labels of each row behind the lead."""
        columns = [map(label.__getitem__, map(value_of, rows)) for label, value_of in self._columns]
        return [f"{lead}{','.join(texts)}" for texts in zip(*columns, strict=True)]


class _Label(dict[object, str]):
    """A label by its value. Thousands of rows have the same group or the same topic."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def __missing__(self, value: object) -> str:
        """Return the label, and keep it."""
        self[value] = text = format_label(self._name, value)
        return text

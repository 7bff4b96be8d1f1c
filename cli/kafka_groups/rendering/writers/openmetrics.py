"""The OpenMetrics text format, for Prometheus and for the textfile collector of node_exporter.

All metrics are gauges, and the units are parts of their names: Prometheus' older text format, which the collector
reads, knows no other types, and takes the lines that it does not know as comments.

A scrape may have half a million samples. The labels of a row are joined once for all metrics that have them, and each
distinct value of a label is escaped once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from operator import attrgetter
from typing import Any, Final

from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure
from kafka_groups.rendering.columns import Entry
from kafka_groups.rendering.metrics import Metric

_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


# Rows whose samples become one text. Few of them stay in the processor's cache, which takes half of the time.
_CHUNK: Final = 1_000


class OpenMetricsWriter:
    """The samples of all rows, by metric. `write` receives the parts of the text, once."""

    def __init__(
        self,
        write: Callable[[Iterable[str]], object],
        metrics: Sequence[Metric],
        *,
        prefix: str,
        clock: Callable[[], float],
    ) -> None:
        self._write = write
        self._metrics = metrics
        self._prefix = prefix
        self._clock = clock
        # By the label of the cluster, with a comma behind it.
        self._rows: dict[str, list[Any]] = {}

    def add(self, entry: Entry) -> None:
        """Keep the rows: the samples of a metric stand together."""
        cluster = _cluster_label(None if entry.cluster is None else entry.cluster.name)
        self._rows.setdefault(cluster, []).extend(entry.rows)

    def end(self, notes: Iterable[Note], failures: Iterable[Failure], *, status: str) -> None:
        """Write all samples, the number of failures of each cluster, and the time."""
        families = {metric.name: [_head(metric.name, metric.help)] for metric in self._metrics}
        labels = {metric.labels: _Labels(metric.labels) for metric in self._metrics}
        for cluster, rows in self._chunks():
            texts = {names: each.join(rows, cluster) for names, each in labels.items()}
            for metric in self._metrics:
                families[metric.name].append(_format_samples(metric, rows, texts[metric.labels]))
        read = f"{self._prefix}_read_timestamp_seconds"
        read_head = _head(read, "When the values were read, in seconds since 1970.")
        totals = [self._count(failures), f"{read_head}{read} {self._clock():.3f}\n"]
        self._write([*chain.from_iterable(families.values()), *totals, "# EOF\n"])

    def _count(self, failures: Iterable[Failure]) -> str:
        """Return the lines of the numbers of failures: one for each cluster with rows or failures."""
        name = f"{self._prefix}_failures"
        numbers = Counter(_cluster_label(failure.cluster) for failure in failures)
        clusters = dict.fromkeys([*self._rows, *sorted(numbers)]) or [""]
        lines = [f"{name}{_in_braces(label)} {numbers[label]}\n" for label in clusters]
        return "".join([_head(name, "Groups, partitions and brokers that failed."), *lines])

    def _chunks(self) -> Iterator[tuple[str, Sequence[Any]]]:
        for cluster, rows in self._rows.items():
            for start in range(0, len(rows), _CHUNK):
                yield cluster, rows[start : start + _CHUNK]


def _cluster_label(name: str | None) -> str:
    """Return the label of a cluster, with a comma behind it; empty without a name."""
    return f'cluster="{_escape(name)}",' if name else ""


def _in_braces(label: str) -> str:
    return f"{{{label.removesuffix(',')}}}" if label else ""


def _format_samples(metric: Metric, rows: Sequence[Any], labels: Iterable[str]) -> str:
    """Return the lines of rows; `labels` are those of each row."""
    name = metric.name
    values = map(attrgetter(metric.value), rows) if metric.value else repeat(1)
    return "".join(
        [f"{name}{label} {value}\n" for label, value in zip(labels, values, strict=False) if value is not None]
    )


class _Labels:
    """The labels of rows; `names` are names and attributes."""

    def __init__(self, names: Iterable[tuple[str, str]]) -> None:
        self._columns = [(_Label(name).__getitem__, attrgetter(attribute)) for name, attribute in names]

    def join(self, rows: Sequence[Any], cluster: str) -> list[str]:
        """Return the labels of each row, in braces, that of the cluster first."""
        columns = [map(text_of, map(value_of, rows)) for text_of, value_of in self._columns]
        return [f"{{{cluster}{','.join(texts)}}}" for texts in zip(*columns, strict=True)]


class _Label(dict[object, str]):
    """A label by its value. Thousands of rows have the same group or the same topic."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def __missing__(self, value: object) -> str:
        """Return the name with the escaped value, and keep it."""
        self[value] = text = f'{self._name}="{_escape(value)}"'
        return text


def _head(name: str, text: str) -> str:
    return f"# TYPE {name} gauge\n# HELP {name} {text.translate(_ESCAPES)}\n"


def _escape(value: object) -> str:
    text = "" if value is None else str(value)
    # A name that is not UTF-8 has surrogates, which no file can hold.
    return text.encode(errors="backslashreplace").decode().translate(_ESCAPES)

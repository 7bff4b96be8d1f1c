"""The OpenMetrics text format, for Prometheus and for the textfile collector of node_exporter.

All metrics are gauges, and the units are parts of their names: Prometheus' older text format, which the collector
reads, knows no other types, and takes the lines that it does not know as comments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Final

from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure
from kafka_groups.rendering.columns import Entry
from kafka_groups.rendering.metrics import Metric

_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class OpenMetricsWriter:
    """The samples of all rows, by metric. `write` receives the text, once."""

    def __init__(
        self, write: Callable[[str], object], metrics: Sequence[Metric], *, prefix: str, clock: Callable[[], float]
    ) -> None:
        self._write = write
        self._metrics = metrics
        self._prefix = prefix
        self._clock = clock
        self._rows: list[tuple[str, Sequence[Any]]] = []

    def add(self, entry: Entry) -> None:
        """Keep the rows: the samples of a metric stand together."""
        cluster = "" if entry.cluster is None else f'cluster="{_label(entry.cluster.name)}",'
        self._rows.append((cluster, entry.rows))

    def end(self, notes: Iterable[Note], failures: Iterable[Failure], *, status: str) -> None:
        """Write all samples, the number of failures, and the time."""
        lines = [line for metric in self._metrics for line in _family(metric, self._rows)]
        failed = f"{self._prefix}_failures"
        lines += [*_head(failed, "Groups, partitions and brokers that failed."), f"{failed} {len(list(failures))}"]
        read = f"{self._prefix}_read_timestamp_seconds"
        lines += [*_head(read, "When the values were read, in seconds since 1970."), f"{read} {self._clock():.3f}"]
        self._write("\n".join([*lines, "# EOF", ""]))


def _family(metric: Metric, parts: Iterable[tuple[str, Sequence[Any]]]) -> list[str]:
    """Return the lines of a metric; each part has the label of a cluster, and the rows of it."""
    values = attrgetter(metric.value) if metric.value else lambda _row: 1
    labels = [(name, attrgetter(attribute)) for name, attribute in metric.labels]
    samples = [
        f"{metric.name}{{{cluster}{_labels(row, labels)}}} {value}"
        for cluster, rows in parts
        for row in rows
        if (value := values(row)) is not None
    ]
    return [*_head(metric.name, metric.help), *samples]


def _labels(row: object, labels: Iterable[tuple[str, Callable[[Any], object]]]) -> str:
    return ",".join(f'{name}="{_label(get(row))}"' for name, get in labels)


def _head(name: str, text: str) -> tuple[str, str]:
    return f"# TYPE {name} gauge", f"# HELP {name} {text.translate(_ESCAPES)}"


def _label(value: object) -> str:
    text = "" if value is None else str(value)
    # A name that is not UTF-8 has surrogates, which no file can hold.
    return text.encode(errors="backslashreplace").decode().translate(_ESCAPES)

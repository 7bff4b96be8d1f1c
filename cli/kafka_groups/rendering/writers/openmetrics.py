"""The OpenMetrics text format, and Prometheus' older one for the textfile collector of node_exporter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure
from kafka_groups.rendering.columns import Entry
from kafka_groups.rendering.metrics import Metric, MetricType, format_head, format_label
from kafka_groups.rendering.samples import RowSamples


class OpenMetricsWriter:
    """The samples of all rows, by metric. `write` receives the parts of the text, once.

    `totals` are the names and help texts of two gauges of each cluster: the number of failures, and the time of the
    reading. Without `is_openmetrics` the text has Prometheus' older format.
    """

    def __init__(
        self,
        write: Callable[[Iterable[str]], object],
        metrics: Sequence[Metric],
        *,
        totals: tuple[tuple[str, str], tuple[str, str]],
        clock: Callable[[], float],
        is_openmetrics: bool = True,
    ) -> None:
        self._write = write
        self._metrics = metrics
        self._totals = totals
        self._clock = clock
        self._is_openmetrics = is_openmetrics
        # By the name of the cluster, None if it is unknown.
        self._rows: dict[str | None, list[Any]] = {}

    def add(self, entry: Entry) -> None:
        """Keep the rows: the samples of a metric stand together."""
        cluster = None if entry.cluster is None else entry.cluster.name
        self._rows.setdefault(cluster, []).extend(entry.rows)

    def end(self, notes: Iterable[Note], failures: Iterable[Failure], *, status: str) -> None:
        """Write all samples, the number of failures of each cluster, and the time."""
        families = {metric.name: [metric.head(is_openmetrics=self._is_openmetrics)] for metric in self._metrics}
        samples = RowSamples(self._metrics)
        for cluster, rows in self._rows.items():
            for name, text in samples.format(rows, cluster):
                families[name].append(text)
        end = ["# EOF\n"] if self._is_openmetrics else []
        self._write([*chain.from_iterable(families.values()), *self._format_totals(failures), *end])

    def _format_totals(self, failures: Iterable[Failure]) -> list[str]:
        counts = dict.fromkeys(self._rows, 0)
        for failure in failures:
            counts[failure.cluster] = counts.get(failure.cluster, 0) + 1
        read_at = f"{self._clock():.3f}"
        failed, read = self._totals
        lines = []
        for (name, text), values in ((failed, counts), (read, dict.fromkeys(counts, read_at))):
            lines.append(format_head(name, text, MetricType.GAUGE, is_openmetrics=self._is_openmetrics))
            for cluster, value in (values or {None: 0 if name == failed[0] else read_at}).items():
                labels = "" if cluster is None else f"{{{format_label('cluster', cluster)}}}"
                lines.append(f"{name}{labels} {value}\n")
        return lines

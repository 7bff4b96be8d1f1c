"""The output of `kafka-groups lag`: columns, writers of the formats, and what each entry has."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from kafka_groups.groups.lag.lag_row import LagKey, LagRow
from kafka_groups.groups.lag.summary import GroupSummary
from kafka_groups.options.export import export_text
from kafka_groups.rendering.columns import Column, Entry, View
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.views.lag import PACE_VIEW, lag_columns, lag_document
from kafka_groups.rendering.writers import Writer, open_writer


class LagOutput(NamedTuple):
    """What a row is for, what it shows, and where it is written."""

    view: View
    key: LagKey
    with_time: bool
    output_format: str
    metrics_file: str | None
    with_all_metrics: bool = False

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the columns of a table."""
        return lag_columns(self.view, with_time=self.with_time)

    @property
    def has_order(self) -> bool:
        """Whether the order of the rows is seen: samples of metrics have none."""
        return self.output_format != "openmetrics"

    def entries(self, groups: Sequence[GroupSummary], shown: Sequence[LagRow]) -> Iterator[Entry]:
        """Yield an entry for each group in JSON, else one for all rows, because they are sorted over all groups."""
        columns = self.columns
        if self.output_format != "json":
            yield Entry(columns, shown, dict)
            return
        by_group: dict[str, list[LagRow]] = {}
        for row in shown:
            by_group.setdefault(row.group, []).append(row)
        for total in (group.total for group in groups):
            if total.group in by_group:
                parts = by_group[total.group]
                yield Entry(columns, parts, partial(lag_document, self.key, total, parts))

    def make_writer(self, screen: Screen) -> Writer:
        """Return the writer of the format, together with that of the metrics file."""
        writer = self._make_format_writer(screen)
        if self.metrics_file is None:
            return writer
        from kafka_groups.rendering.writers.pair import PairWriter

        export = partial(_export_metrics, self.metrics_file)
        # The textfile collector reads Prometheus' older format.
        return PairWriter(writer, self._make_metrics_writer(export, is_openmetrics=False))

    def _make_format_writer(self, screen: Screen) -> Writer:
        if self.output_format == "openmetrics":
            return self._make_metrics_writer(screen.out.writelines, is_openmetrics=True)
        return open_writer(screen, self.output_format, command="lag", view=self.view, columns=self.columns)

    def _make_metrics_writer(self, write: Callable[[Iterable[str]], object], *, is_openmetrics: bool) -> Writer:
        from kafka_groups.rendering.views.lag_metrics import TOTALS, lag_metrics
        from kafka_groups.rendering.writers.openmetrics import OpenMetricsWriter

        metrics = lag_metrics(
            self.key,
            with_time=self.with_time,
            with_all=self.with_all_metrics,
            with_verdicts=self.view is PACE_VIEW,
        )
        return OpenMetricsWriter(write, metrics, totals=TOTALS, clock=time.time, is_openmetrics=is_openmetrics)


def _export_metrics(name: str, parts: Iterable[str]) -> None:
    """Write the metrics to a file in one step. Raises ExportError if that fails."""
    export_text(name, "".join(parts), what="the metrics")

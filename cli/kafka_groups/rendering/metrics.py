"""Metrics of views: what Prometheus stores of a row, and the lines that introduce a metric in each text format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple


class MetricType(StrEnum):
    """The types of metrics, as OpenMetrics spells them."""

    GAUGE = "gauge"
    COUNTER = "counter"
    INFO = "info"
    STATESET = "stateset"


class Metric(NamedTuple):
    """A metric with samples for each row: labels by name with the attributes they come from, and the row's value.

    `value` is the attribute of the sample's value; a row without a value has no sample. A StateSet has a sample for
    each of the states that `states_of` returns for the row: 1 for the row's value, 0 for the others. The name of its
    last label is the name of the metric, in both text formats.
    """

    name: str
    help: str
    value: str
    labels: tuple[tuple[str, str], ...]
    states_of: Callable[[Any], Sequence[str]] | None = None

    @property
    def type(self) -> MetricType:
        """Return the type: a metric of rows is a gauge, or a StateSet."""
        return MetricType.GAUGE if self.states_of is None else MetricType.STATESET

    def head(self, *, is_openmetrics: bool) -> str:
        """Return the lines before its samples."""
        return format_head(self.name, self.help, self.type, is_openmetrics=is_openmetrics)


# The ends of sample names that OpenMetrics does not count to the name of the metric.
_SUFFIXES: Final = {MetricType.COUNTER: "_total", MetricType.INFO: "_info"}
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_HELP_ESCAPES: Final = str.maketrans({"\\": r"\\", "\n": r"\n"})


def format_head(name: str, text: str, metric_type: MetricType, *, is_openmetrics: bool) -> str:
    """Return the TYPE and HELP lines of the samples with a name.

    Prometheus' older text format, which node_exporter's textfile collector reads, knows neither StateSets nor infos:
    they are gauges there.
    """
    if is_openmetrics:
        name = name.removesuffix(_SUFFIXES.get(metric_type, ""))
        escaped = escape(text)
    else:
        escaped = text.translate(_HELP_ESCAPES)
        metric_type = metric_type if metric_type is MetricType.COUNTER else MetricType.GAUGE
    return f"# HELP {name} {escaped}\n# TYPE {name} {metric_type}\n"


def format_label(name: str, value: object) -> str:
    """Return a label with its value; the value of None is empty, which Prometheus reads as no label."""
    return f'{name}="{escape("" if value is None else str(value))}"'


def escape(text: str) -> str:
    """Return a text as it stands between quotation marks.

    A name that is not UTF-8 has surrogates, which no file can hold.
    """
    return text.encode(errors="backslashreplace").decode().translate(_ESCAPES)

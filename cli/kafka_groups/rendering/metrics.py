"""Metrics of views: what Prometheus stores of a row."""

from __future__ import annotations

from typing import NamedTuple


class Metric(NamedTuple):
    """A metric with a sample for each row: the row's value, and labels by name with the attributes they come from.

    `value` is the attribute of the sample's value, empty for the value 1; a row without a value has no sample.
    """

    name: str
    help: str
    value: str
    labels: tuple[tuple[str, str], ...]

"""The samples of rows: the same lines in every poll, with labels that are kept and forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kafka_groups.rendering.metrics import Metric
from kafka_groups.rendering.samples import RowSamples


class Row(NamedTuple):
    """A row with a value and a state."""

    group: str
    lag: int | None
    state: str | None = None


LABELS = (("group", "group"),)
METRICS = (
    Metric("lag", "The lag.", "lag", LABELS),
    Metric("state", "The state.", "state", LABELS, lambda _row: ("Empty", "Stable")),
)


def lines_of(samples: RowSamples, rows: Sequence[Row], cluster: str | None = "c") -> list[str]:
    return [line for _, text in samples.format(rows, cluster) for line in text.splitlines()]


def test_a_state_has_a_line_for_each_known_state_and_for_its_own() -> None:
    rows = [Row('a"b', 1, "Stable"), Row("g", None), Row("h", None, "New")]
    assert lines_of(RowSamples(METRICS), rows) == [
        'lag{cluster="c",group="a\\"b"} 1',
        'state{cluster="c",group="a\\"b",state="Empty"} 0',
        'state{cluster="c",group="a\\"b",state="Stable"} 1',
        'state{cluster="c",group="h",state="Empty"} 0',
        'state{cluster="c",group="h",state="Stable"} 0',
        'state{cluster="c",group="h",state="New"} 1',
    ]


def test_rows_of_later_polls_have_the_lines_of_a_first_poll() -> None:
    samples = RowSamples(METRICS)
    for poll in range(20):
        rows = [Row(f"g{number}", poll, "Empty") for number in range(poll, 2 * poll)]
        assert lines_of(samples, rows) == lines_of(RowSamples(METRICS), rows)
        assert lines_of(samples, rows, None) == lines_of(RowSamples(METRICS), rows, None)


def test_labels_of_rows_that_vanish_are_forgotten() -> None:
    samples = RowSamples(METRICS)
    for poll in range(50):
        lines_of(samples, [Row(f"g{poll}-{number}", 1) for number in range(100)])
    ((label, _),) = samples._labels[LABELS]._columns
    assert len(label) <= 300

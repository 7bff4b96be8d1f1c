"""The lines of partitions: the same as those of the writer of `lag`, with labels that are kept."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.exporter.partition_series import PartitionSeries
from kafka_groups.groups.lag.columns import columns_of
from kafka_groups.groups.lag.lag_row import LagKey
from kafka_groups.groups.lag.rows import distinct_partitions, lag_of
from kafka_groups.groups.lag.summary import summarize_lag
from kafka_groups.model import GroupDescription, OffsetRow
from kafka_groups.rendering.samples import RowSamples
from kafka_groups.rendering.views.lag_metrics import lag_metrics

METRICS = lag_metrics(LagKey.PARTITION)
OFFSETS = st.none() | st.integers(0, 100)


def row(group: str, topic: str, partition: int, committed: int | None, end: int | None) -> OffsetRow:
    lag = lag_of(committed, end)
    return OffsetRow(group, topic, partition, None, committed, end, lag, None, None, None, 0, None)


def description(group: str, group_type: str | None = "Classic") -> GroupDescription:
    return GroupDescription(group, group_type, "Empty", "consumer", None)


class Exporters:
    """The series of an exporter with a limit, and of one without: both have the same lines."""

    def __init__(self) -> None:
        self.limited = PartitionSeries(METRICS, is_limited=True)
        self.unlimited = PartitionSeries(METRICS, is_limited=False)

    def lines_of(self, groups: Sequence[tuple[GroupDescription, list[OffsetRow]]]) -> set[str]:
        """Return the lines of a poll."""
        found = []
        for series in (self.limited, self.unlimited):
            series.begin()
            for description, rows in groups:
                series.add(description, columns_of(distinct_partitions(rows)), "c")
            count = sum(each.series for each in series.lines.values()) if series is self.limited else None
            joined = series.take(group.group for group, _ in groups)
            lines = [line for parts in joined.values() for part in parts for line in part.decode().split("\n") if line]
            assert count in (None, len(lines))
            assert series.lines == {}
            found.append(set(lines))
        assert found[0] == found[1]
        return found[0]


def written(groups: Sequence[tuple[GroupDescription, list[OffsetRow]]]) -> set[str]:
    """Return the lines that `lag --by partition --format openmetrics` writes."""
    rows = [part for group, rows in groups for part in summarize_lag(group, rows, LagKey.PARTITION).rows]
    return {line for _, text in RowSamples(METRICS).format(rows, "c") for line in text.split("\n") if line}


@given(
    st.lists(
        st.dictionaries(
            st.text(max_size=3),
            st.lists(st.tuples(st.sampled_from(["t", "u%d", 'v"']), st.integers(0, 3), OFFSETS, OFFSETS), max_size=5),
            max_size=3,
        ),
        min_size=1,
        max_size=3,
    )
)
def test_the_lines_of_any_polls_are_those_of_lag(
    polls: list[dict[str, list[tuple[str, int, int | None, int | None]]]],
) -> None:
    exporters = Exporters()
    for poll in polls:
        # One row of each partition, as for groups without members.
        groups = [
            (description(group), [row(group, *key, *offsets) for key, offsets in {r[:2]: r[2:] for r in rows}.items()])
            for group, rows in poll.items()
        ]
        assert exporters.lines_of(groups) == written(groups)


def test_labels_change_with_the_type_of_a_group() -> None:
    exporters = Exporters()
    for group_type in ("Classic", "Consumer", None):
        groups = [(description("g", group_type), [row("g", "t", 0, 1, 3)])]
        assert exporters.lines_of(groups) == written(groups)


def test_a_partition_that_two_members_own_has_one_series() -> None:
    rows = [row("g", "t", 0, 1, 3), row("g", "t", 0, 1, 3)]
    assert len(Exporters().lines_of([(description("g"), rows)])) == len(METRICS)


@pytest.mark.parametrize("groups", [0, 1])
def test_labels_of_groups_that_vanish_are_forgotten(groups: int) -> None:
    exporters = Exporters()
    for poll in range(3):
        names = [f"g{poll}-{number}" for number in range(100)]
        exporters.lines_of([(description(name), [row(name, "t", 0, 1, 3)]) for name in names])
    exporters.lines_of([(description("g"), [row("g", "t", 0, 1, 3)])] * groups)
    for series in (exporters.limited, exporters.unlimited):
        assert len(series._current) == groups
        series.begin()
        assert len(series._kept) == groups


def test_the_lines_of_more_groups_than_one_part_has_are_complete() -> None:
    groups = [(description(f"g{number}"), [row(f"g{number}", "t", 0, 1, 3)]) for number in range(1_001)]
    assert Exporters().lines_of(groups) == written(groups)

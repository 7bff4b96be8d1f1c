"""Verdicts on share groups, whose progress no offset shows."""

from __future__ import annotations

import pytest

from kafka_groups.groups.lag.start_offsets import judge_start_offsets
from kafka_groups.model import OffsetRow
from kafka_groups.verdicts import Limits, Verdict


def row(start: int | None, lag: int | None, *, log_start: int | None = 0, end: int | None = 100) -> OffsetRow:
    """Return a partition of a share group."""
    return OffsetRow("g", "t", 0, 0, start, end, lag, None, None, None, log_start, None)


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([row(90, 0)], ("OK", "no_lag")),
        ([row(90, 4)], ("UNKNOWN", "out_of_order")),
        ([row(90, None)], ("UNKNOWN", "lag_unknown")),
        ([row(None, None)], ("UNKNOWN", "lag_unknown")),
        ([row(90, 5, log_start=95)], ("WARN", "losing_data")),
        ([row(90, 5, log_start=None)], ("UNKNOWN", "out_of_order")),
        ([row(90, 0), row(90, 4)], ("UNKNOWN", "out_of_order")),
        ([row(90, 0), row(90, 5, log_start=95)], ("WARN", "losing_data")),
        ([], ("UNKNOWN", "no_commits")),
    ],
)
def test_only_lag_and_lost_records_judge_a_share_group(rows: list[OffsetRow], verdict: tuple[str, str]) -> None:
    assert judge_start_offsets(rows, Limits()) == Verdict(*verdict)


def test_an_allowed_lag_is_no_lag() -> None:
    assert judge_start_offsets([row(90, 4)], Limits(allowed_lag=5)).rule == "no_lag"

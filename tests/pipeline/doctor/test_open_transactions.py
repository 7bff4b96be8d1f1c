"""The doctor's check of open transactions."""

from __future__ import annotations

import pytest

from kafka_groups.pipeline.doctor.open_transactions import judge_transactions

HELD_BACK = {3: (10, 17), 4: (10, 12)}


@pytest.mark.parametrize(
    ("begin_ms", "status", "age"),
    [
        ({3: 1_000, 4: 300_999}, "ok", ", the oldest open since 1970-01-01T00:00:01Z"),
        ({3: 999, 4: 300_999}, "warning", ", the oldest open since 1970-01-01T00:00:00Z"),
        ({4: None}, "ok", ""),
        ({}, "ok", ""),
    ],
)
def test_a_transaction_that_is_open_for_minutes_is_a_warning(
    begin_ms: dict[int, int | None], status: str, age: str
) -> None:
    check = judge_transactions(HELD_BACK, begin_ms, now_ms=300_999)
    assert check.status == status
    assert check.detail.startswith(f"9 offsets of partitions 3, 4 wait for transactions to end{age}: until then")


def test_without_an_open_transaction_nothing_is_delayed() -> None:
    assert judge_transactions({}, {}, now_ms=1).detail == "no open transaction delays ingest"

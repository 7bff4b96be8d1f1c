"""A backfill that ends in the middle: what it has committed is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.facts.backfill import BackfillResult
from kafka_groups.pipeline.store import NewFile, Storage
from tests.fakes.scripted_cluster import ScriptedCluster
from tests.pipeline.facts.backfill.backfills import DAY_MS, MIDNIGHT_MS, rows_of, run

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


def test_committed_days_are_counted_and_the_day_that_failed_is_not(
    cluster: ScriptedCluster, storage: Storage, mocker: MockerFixture
) -> None:
    append = storage.append
    begun: list[BackfillResult] = []

    def until_it_is_full(files: Sequence[NewFile], *given: Any, **named: Any) -> None:
        if begun[0].days:
            raise StorageError("full")
        append(files, *given, **named)

    mocker.patch.object(storage, "append", until_it_is_full)
    with pytest.raises(StorageError, match="full"):
        run(cluster, storage, since_ms=MIDNIGHT_MS - DAY_MS, step_ms=DAY_MS // 24, on_start=begun.append)

    assert begun[0].days == 1
    assert begun[0].rows == len(rows_of(storage)) > 0

"""A report goes on where a compaction took files away that it had listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.compacting import compact
from kafka_groups.pipeline.reporting import report
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.tables import Table
from tests.pipeline.fact_rows import NOON, at, commit, put_all
from tests.pipeline.transform.builds import build_here

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
NOON_MS = round(NOON.timestamp() * 1_000)


def test_a_report_reads_anew_what_was_joined_meanwhile(
    spark: SparkSession, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for batch in range(3):
        put_all(storage, f"b{batch}", {"offset_commits": [commit(batch, batch, source=batch, group=f"g{batch}")]})
    build_here(storage)
    read, listed = storage.read, []

    def compacted_once(session: SparkSession, table: Table) -> DataFrame:
        rows = read(session, table)
        if table.name == "offset_commits" and table.name not in listed:
            assert compact(storage, now=at(0)).files_after > 0
        listed.append(table.name)
        return rows

    monkeypatch.setattr(storage, "read", compacted_once)
    history = report(spark, storage, since_ms=NOON_MS - 60_000, until_ms=NOON_MS + 60_000)

    assert listed.count("offset_commits") > 1
    assert {group.group for group in history.groups} == {"g0", "g1", "g2"}

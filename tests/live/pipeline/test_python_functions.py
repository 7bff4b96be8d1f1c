"""The functions of `kafka_groups.pipeline`, one after the other on a real cluster."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pyarrow.dataset as ds
import pytest

from kafka_groups.pipeline.api import backfill, build, export, ingest, read_table, report, sample
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import commit

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.live, pytest.mark.spark]


def test_a_program_reads_samples_looks_back_builds_reports_and_exports(
    spark: SparkSession, broker: str, tmp_path: Path
) -> None:
    group, topic = unique_name("functions"), make_topic(broker, records=9)
    commit(broker, group, topic, 2, 4)
    settings, history = {"bootstrap.servers": broker}, str(tmp_path / "history")

    read = ingest(spark, settings, history)
    sampled = sample(settings, history)
    looked_up = backfill(settings, history, since=timedelta(minutes=10), interval=timedelta(minutes=5), topics=[topic])
    built = build(history)

    assert read.rows["offset_commits"] >= 2
    assert (sampled.failures, sampled.rows["partition_offsets"] > 0) == ((), True)
    assert looked_up.times == 2
    assert build(history, spark=spark).dates == ()
    assert built.rows["lag_history"] == read_table(spark, history, "lag_history").count() > 0
    (found,) = report(history, groups=[group]).groups
    assert (found.group, found.lag) == (group, 5)
    assert [one.group for one in report(history, match=f"{group}|x", top=1).groups] == [group]
    rows = export(history, tmp_path / "plain", kind="parquet", tables=["lag_history"])
    assert rows == {"lag_history": ds.dataset(tmp_path / "plain" / "lag_history", partitioning="hive").count_rows()}
    with pytest.raises(ValueError, match="there is no table 'nosuch'"):
        read_table(spark, history, "nosuch")
    with pytest.raises(ValueError, match="there is no table 'nosuch'"):
        export(history, tmp_path / "other", kind="csv", tables=["nosuch"])

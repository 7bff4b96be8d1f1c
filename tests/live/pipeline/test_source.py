"""`__consumer_offsets` as a data source, as a notebook uses it."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.admin import AdminClient

from kafka_groups.pipeline.api import KafkaGroupsSource
from kafka_groups.pipeline.facts.decode.partitioner import partition_for
from kafka_groups.pipeline.spark.spark_errors import error_in
from tests.live.groups.topics import client_properties, make_topic, unique_name
from tests.live.pipeline.offsets_topic import IDENTITY, TOPIC, commit, read_directly

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.live, pytest.mark.spark]

SECRETS = {"kafka.sasl.password": "hunter2-a", "kafka.ssl.key.pem": "hunter2-b", "kafka.sasl.username": "hunter2-c"}


@pytest.fixture(scope="module")
def group(broker: str) -> str:
    topic = make_topic(broker, records=8)
    for name in (wanted := unique_name("wanted"), unique_name("other")):
        commit(broker, name, topic, 1, 2, 3)
    return wanted


@pytest.fixture(scope="module")
def partitions(broker: str, group: str) -> int:
    """How many the topic has, which is there once a group has committed."""
    assert group
    return len(AdminClient(client_properties(broker)).list_topics(TOPIC, timeout=30).topics[TOPIC].partitions)


def _read(spark: SparkSession, broker: str, **options: Any) -> DataFrame:
    spark.dataSource.register(KafkaGroupsSource)
    return spark.read.format("kafka_groups").option("kafka.bootstrap.servers", broker).options(**options).load()


@pytest.mark.usefixtures("group")
def test_a_notebook_reads_all_commits(spark: SparkSession, broker: str) -> None:
    rows = _read(spark, broker).where("kind = 'offset_commit'").select(*IDENTITY).collect()

    assert {tuple(row) for row in rows} == set(read_directly(broker))


def test_one_group_is_read_only_from_its_partition(
    spark: SparkSession, broker: str, group: str, partitions: int
) -> None:
    rows = _read(spark, broker, group=group).collect()

    assert [row["committed_offset"] for row in rows] == [1, 2, 3]
    assert {row["source_partition"] for row in rows} == {partition_for(group, partitions)}


def test_starting_offsets_may_be_numbers(spark: SparkSession, broker: str, group: str, partitions: int) -> None:
    home = str(partition_for(group, partitions))
    last = max(row["source_offset"] for row in _read(spark, broker, group=group).collect())

    rows = _read(spark, broker, group=group, startingOffsets=f'{{"{home}": {last}}}').collect()

    assert [row["source_offset"] for row in rows] == [last]


def test_starting_offsets_may_be_earliest_or_latest(spark: SparkSession, broker: str, group: str) -> None:
    assert _read(spark, broker, group=group, startingOffsets="latest").count() == 0
    assert _read(spark, broker, group=group, startingOffsets="earliest").count() == 3


def test_starting_offsets_behind_the_end_are_refused(
    spark: SparkSession, broker: str, group: str, partitions: int
) -> None:
    home = str(partition_for(group, partitions))
    with pytest.raises(Exception, match=rf"offset 99999 for partition {home} of __consumer_offsets, which ends at"):
        _read(spark, broker, group=group, startingOffsets=f'{{"{home}": 99999}}').collect()


def test_a_stream_continues_at_its_checkpoint(
    spark: SparkSession, broker: str, partitions: int, tmp_path: Path
) -> None:
    group, topic = unique_name("streamed"), make_topic(broker, records=8)
    commit(broker, group, topic, 1, 2, 3)

    def committed() -> list[int]:
        options: dict[str, Any] = {"kafka.bootstrap.servers": broker, "group": group, "maxRecordsPerBatch": 3}
        rows = spark.readStream.format("kafka_groups").options(**options).load().select("committed_offset")
        writer = rows.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(availableNow=True).start(str(tmp_path / "rows"))
        query.awaitTermination()
        return sorted(row[0] for row in spark.read.parquet(str(tmp_path / "rows")).collect())

    spark.dataSource.register(KafkaGroupsSource)
    assert committed() == [1, 2, 3]
    commit(broker, group, topic, 7)
    assert committed() == [1, 2, 3, 7]
    position = json.loads((tmp_path / "checkpoint" / "offsets" / "0").read_text().splitlines()[-1])
    assert {"cluster_id", "topic_id", "leader_epochs", "ends"} == position.keys()
    assert position["ends"].keys() == {str(partition_for(group, partitions))}


def test_no_secret_is_in_a_plan_or_in_an_error(spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    frame = _read(spark, "127.0.0.1:1", timeout="1", **SECRETS)
    plan = io.StringIO()
    with contextlib.redirect_stdout(plan):
        frame.explain("extended")
    with pytest.raises(Exception, match="UnreachableError") as caught:
        frame.collect()

    assert "hunter2" not in plan.getvalue() + str(caught.value) + "".join(capfd.readouterr())
    assert "\n" not in str(error_in(str(caught.value)))


def test_an_unknown_option_is_named(spark: SparkSession, broker: str) -> None:
    with pytest.raises(Exception, match="no option 'startingofset'"):
        _read(spark, broker, startingOfset="earliest")

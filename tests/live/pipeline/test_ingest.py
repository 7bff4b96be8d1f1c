"""`__consumer_offsets` of a real broker, brought into tables by Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.facts.ingestion import IngestResult, ingest
from kafka_groups.pipeline.tables import GROUP_EVENTS, INGEST_GAPS, OFFSET_COMMITS
from tests.live.groups.clients import open_admin
from tests.live.groups.members import stable
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import commit, commit_and_abort, commits_in, read_directly

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_groups.pipeline.store import Storage

pytestmark = [pytest.mark.live, pytest.mark.spark]


@pytest.fixture(scope="module")
def topic(broker: str) -> str:
    topic = make_topic(broker, records=8)
    for number in range(20):
        commit(broker, unique_name("committing"), topic, *range(number % 7 + 1))
    with stable(broker, topic, commits=[(topic, 0, 3)]):
        pass
    return topic


def _ingest(spark: SparkSession, storage: Storage, broker: str, **settings: int) -> IngestResult:
    return ingest(spark, storage, {"bootstrap.servers": broker}, **settings)


@pytest.mark.usefixtures("topic")
def test_the_tables_have_the_commits_that_a_plain_client_reads(
    spark: SparkSession, storage: Storage, broker: str
) -> None:
    done = _ingest(spark, storage, broker)

    there = read_directly(broker)
    assert there.total() > 20
    assert commits_in(spark, storage) == there
    assert done.rows["offset_commits"] == there.total()
    assert done.records == there.total() + storage.read(spark, GROUP_EVENTS).count()


def test_a_second_run_adds_only_new_records(spark: SparkSession, storage: Storage, broker: str, topic: str) -> None:
    _ingest(spark, storage, broker)
    again = _ingest(spark, storage, broker)
    commit(broker, unique_name("later"), topic, 1, 2, 3)
    later = _ingest(spark, storage, broker)

    assert (again.batches, again.records) == (0, 0)
    assert (later.batches, later.rows) == (1, {"offset_commits": 3})
    assert commits_in(spark, storage) == read_directly(broker)


@pytest.mark.usefixtures("topic")
def test_a_limit_makes_several_batches_with_the_same_rows(spark: SparkSession, storage: Storage, broker: str) -> None:
    reported: list[tuple[str, int, int]] = []

    done = ingest(
        spark,
        storage,
        {"bootstrap.servers": broker},
        records_per_batch=40,
        progress=lambda *so_far: reported.append(so_far),
    )

    assert done.batches > 1
    there = done.records + done.rows.get("ingest_gaps", 0)
    assert (reported[0][:2], reported[-1][0]) == (("ingesting", 0), "ingesting")
    assert reported[-1][1] == reported[-1][2] == reported[0][2] >= there
    assert len(reported) > 2
    assert len({batch.batch for batch in storage.files(OFFSET_COMMITS)}) == done.batches
    assert commits_in(spark, storage) == read_directly(broker)


def test_commits_of_an_aborted_transaction_are_a_data_gap(
    spark: SparkSession, storage: Storage, broker: str, topic: str
) -> None:
    _ingest(spark, storage, broker)
    before = set(storage.read(spark, INGEST_GAPS).collect())
    group = unique_name("aborting")
    commit_and_abort(broker, group, topic, 666)
    commit(broker, group, topic, 5)

    _ingest(spark, storage, broker)

    rows = storage.read(spark, OFFSET_COMMITS).where(f"`group` = '{group}'").collect()
    assert [row["committed_offset"] for row in rows] == [5]
    gaps = set(storage.read(spark, INGEST_GAPS).collect()) - before
    assert {(row["missing"], row["reason"]) for row in gaps} == {(2, "compacted")}  # the commit, and its mark


@pytest.mark.usefixtures("topic")
def test_reading_leaves_no_group_and_no_record(spark: SparkSession, storage: Storage, broker: str) -> None:
    with open_admin(broker) as admin:
        before = set(admin.list_groups().succeeded)
        _ingest(spark, storage, broker)
        after = set(admin.list_groups().succeeded)

    assert after == before
    assert _ingest(spark, storage, broker).records == 0


@pytest.mark.usefixtures("topic")
def test_a_continuous_run_stops_on_request(spark: SparkSession, storage: Storage, broker: str) -> None:
    asked: list[bool] = []

    def stop() -> bool:
        asked.append(bool(storage.files(OFFSET_COMMITS)))
        return asked[-1]

    done = ingest(spark, storage, {"bootstrap.servers": broker}, continuous=True, interval_s=0.2, should_stop=stop)

    assert done.records > 0
    assert commits_in(spark, storage) == read_directly(broker)


def test_unreachable_brokers_are_reported_in_one_sentence(spark: SparkSession, storage: Storage) -> None:
    reported = r"^cannot connect to 127\.0\.0\.1:1: Connection refused$"
    with pytest.raises(SourceError, match=reported):
        ingest(spark, storage, {"bootstrap.servers": "127.0.0.1:1"}, timeout_s=1)

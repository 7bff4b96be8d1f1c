"""An ingest that dies at the worst moment, and the run after it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.pipeline.facts.ingestion import ingest
from kafka_groups.pipeline.facts.source.brokers import Brokers
from kafka_groups.pipeline.store import Storage
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import commit, delete, missing_in, places, places_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.live, pytest.mark.spark]


def offsets_of(broker: str) -> int:
    """How many there are in all partitions."""
    brokers = Brokers({"bootstrap.servers": broker}, 30.0)
    there = brokers.topic().partitions
    return sum(brokers.end_offsets(there).values()) - sum(brokers.log_start_offsets(there).values())


def write_records(broker: str) -> None:
    """Let some groups commit and be deleted: more records than a batch of these tests has."""
    topic = make_topic(broker, records=8)
    for _ in range(8):
        commit(broker, group := unique_name("dying"), topic, *range(8))
        delete(broker, group)


def test_the_next_run_repairs_a_commit_that_was_killed(spark: SparkSession, storage: Storage, broker: str) -> None:
    write_records(broker)
    died = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("killed_ingest.py")), broker, storage.location],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        check=False,
        timeout=300,
    )
    half = places_in(spark, storage)
    ingest(spark, storage, {"bootstrap.servers": broker})

    there = places(broker)
    assert died.returncode == -signal.SIGKILL
    assert 0 < half.total() < there.total()
    assert places_in(spark, storage) == there
    # Each other offset is part of a gap, and one that a table had before the others may be there twice.
    assert missing_in(spark, storage) + there.total() >= offsets_of(broker)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_ingest_that_ends_before_or_after_a_commit_leaves_whole_batches(
    spark: SparkSession, storage: Storage, broker: str, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_records(broker)
    append, batches = Storage.append, count(1)

    def die(self: Storage, *given: Any, **named: Any) -> None:
        is_last = next(batches) == 2
        if not is_last or moment == "after":
            append(self, *given, **named)
        if is_last:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Storage, "append", die)
        with pytest.raises(KeyboardInterrupt):
            ingest(spark, storage, {"bootstrap.servers": broker}, records_per_batch=50)
    half = places_in(spark, storage)
    ingest(spark, storage, {"bootstrap.servers": broker})

    there = places(broker)
    assert 0 < half.total() < there.total()
    assert places_in(spark, storage) == there
    assert missing_in(spark, storage) + there.total() == offsets_of(broker)

"""An ingest that dies at the worst moment, and the run after it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.ingestion import ingest
from kafka_groups.pipeline.source.brokers import Brokers
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import commit, delete, missing_in, places, places_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_groups.pipeline.storage import Storage

pytestmark = [pytest.mark.live, pytest.mark.spark]


def offsets_of(broker: str) -> int:
    """How many there are in all partitions."""
    brokers = Brokers({"bootstrap.servers": broker}, 30.0)
    there = brokers.topic().partitions
    return sum(brokers.latest(there).values()) - sum(brokers.earliest(there).values())


@pytest.mark.parametrize("moment", ["before", "amid", "after"])
def test_the_next_run_makes_it_as_if_it_had_never_died(
    spark: SparkSession, storage: Storage, broker: str, moment: str
) -> None:
    topic = make_topic(broker, records=8)
    for _ in range(20):
        commit(broker, group := unique_name("dying"), topic, *range(8))
        delete(broker, group)

    died = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("killed_ingest.py")), broker, storage.into, moment],
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
    # Each other offset is part of a gap, and only one that a table had before the others may be there twice.
    told = missing_in(spark, storage) + there.total()
    assert told >= offsets_of(broker) if moment == "amid" else told == offsets_of(broker)

"""An ingest that dies at the worst moment, and the run after it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.ingesting import ingest
from tests.live.groups.topics import fresh, make_topic
from tests.live.pipeline.offsets_topic import commit, commits_in, read_directly

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_groups.pipeline.storage import Storage

pytestmark = [pytest.mark.live, pytest.mark.spark]


@pytest.mark.parametrize("moment", ["before", "after"])
def test_the_next_run_makes_it_as_if_it_had_never_died(
    spark: SparkSession, storage: Storage, broker: str, moment: str
) -> None:
    topic = make_topic(broker, records=8)
    for _ in range(30):
        commit(broker, fresh("dying"), topic, *range(8))

    died = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("killed_ingest.py")), broker, storage.into, moment],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        check=False,
        timeout=300,
    )
    half = commits_in(spark, storage)
    ingest(spark, storage, {"bootstrap.servers": broker})

    there = read_directly(broker)
    assert died.returncode == -signal.SIGKILL
    assert 0 < half.total() < there.total()
    assert commits_in(spark, storage) == there

"""A broker and a small Spark session for each worker.

The broker is not shared, because most of these tests count every record of `__consumer_offsets`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kafka_groups import sandbox
from kafka_groups.pipeline.facts.backfill import backfill
from kafka_groups.pipeline.facts.ingestion import ingest
from kafka_groups.pipeline.facts.sample import sample
from kafka_groups.pipeline.facts.time_grid import LookupPeriod
from kafka_groups.pipeline.store import Storage
from tests.live.groups.clients import open_admin
from tests.live.pipeline.filled_tables import FilledTables, now_ms
from tests.live.pipeline.group_kinds import run_groups
from tests.live.pipeline.timed import REACH_MS, STEP_MS, Timed, make_timed
from tests.pipeline.build.builds import build_here
from tests.pipeline.conftest import spark, storage
from tests.pipeline.fact_rows import new_storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pytest import TempPathFactory  # noqa: PT013 - only its type is needed

__all__ = ["spark", "storage"]


@pytest.fixture(scope="session")
def broker(tmp_path_factory: TempPathFactory) -> Iterator[str]:
    """The address of a broker of the newest Kafka, which has no topic at first."""
    home = tmp_path_factory.mktemp("pipeline-broker")
    wanted = sandbox.SandboxSpec(
        name="pipeline", kafka_version="4.3.1", port=0, heap_mb=512, seed=False, profile=False, home=home
    )
    try:
        yield sandbox.up(wanted).bootstrap
    finally:
        sandbox.down("pipeline", home=home)


@pytest.fixture(scope="session")
def filled(spark: SparkSession, broker: str, tmp_path_factory: TempPathFactory) -> FilledTables:
    """Everything that may happen on a broker, brought into tables by one run of each command."""
    storage = new_storage(tmp_path_factory.mktemp("filled") / "tables")
    timed = make_timed(broker, now_ms())
    with run_groups(broker) as kinds:
        grid = _look(broker, storage, timed)
    ingested = ingest(spark, storage, {"bootstrap.servers": broker})
    build_here(storage)
    return FilledTables(kinds=kinds, timed=timed, grid=grid, storage=storage, ingested=ingested)


def _look(bootstrap: str, storage: Storage, timed: Timed) -> range:
    """Take a sample, a backfill and a sample; return the times of the backfill."""
    # The grid has multiples of the step only, and its last time is to be after the commits.
    until = -(-now_ms() // STEP_MS) * STEP_MS
    with open_admin(bootstrap) as admin:
        sample(admin, storage, now_ms=now_ms)
        backfill(
            admin,
            storage,
            LookupPeriod(until - REACH_MS, until, step_ms=STEP_MS, now_ms=until),
            topics=[timed.topic],
        )
        sample(admin, storage, now_ms=now_ms)
    return range(until - REACH_MS, until + 1, STEP_MS)

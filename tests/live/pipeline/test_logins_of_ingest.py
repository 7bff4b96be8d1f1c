"""`pipeline ingest` with each way to log in: Spark's tasks log in themselves, with tokens that they fetch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.facts.ingestion import ingest
from kafka_groups.pipeline.tables import OFFSET_COMMITS
from kafka_groups.settings.librdkafka import resolve_client
from tests.live.conftest import secure
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import commit
from tests.live.secure_broker import SecureBroker
from tests.live.ways_in import WAYS_IN, WaysIn, open_ways_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_groups.pipeline.store import Storage

__all__ = ["secure"]
pytestmark = [pytest.mark.live, pytest.mark.spark]


@pytest.fixture
def ways_in(secure: SecureBroker, tmp_path: Path) -> Iterator[WaysIn]:
    """Yield the ways in of a broker that has a group with three commits."""
    commit(secure.bootstrap, unique_name("ingest"), make_topic(secure.bootstrap, records=8), 1, 2, 3)
    with open_ways_in(secure, tmp_path) as opened:
        yield opened


def client(ways: WaysIn, way: str, **changes: str | None) -> dict[str, str]:
    pairs = [f"{name}={value}" for name, value in ways.properties(way, **changes).items()]
    return dict(resolve_client(properties=pairs, environment={}).properties)


@pytest.mark.parametrize("way", WAYS_IN)
def test_each_way_in_reads_the_records(spark: SparkSession, storage: Storage, ways_in: WaysIn, way: str) -> None:
    done = ingest(spark, storage, client(ways_in, way))
    assert done.rows["offset_commits"] >= 3
    assert storage.read(spark, OFFSET_COMMITS).count() == done.rows["offset_commits"]


def test_each_process_that_reads_fetches_a_token_of_its_own(
    spark: SparkSession, storage: Storage, ways_in: WaysIn
) -> None:
    ingest(spark, storage, client(ways_in, "OIDC"))
    # The driver's client, and those of tasks: none of them has the callback of another one.
    assert len(ways_in.endpoint.requests) >= 2


def test_a_token_that_cannot_be_fetched_ends_the_ingest(spark: SparkSession, storage: Storage, ways_in: WaysIn) -> None:
    wrong = {"sasl.oauthbearer.client.credentials.client.secret": "wrong"}
    with pytest.raises(SourceError, match="returned status 401: invalid_client"):
        ingest(spark, storage, client(ways_in, "OIDC", **wrong))

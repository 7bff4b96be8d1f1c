"""A group on the broker that knows users, and an ingest from it."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.pipeline.store import Storage
from tests.fakes.command_line import Outcome, run
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import commit
from tests.live.pipeline.refusals.ingests import Ingest
from tests.live.secured_broker import SecuredBroker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pytest_mock import MockerFixture


@pytest.fixture(scope="package")
def topic(secured: SecuredBroker) -> str:
    return make_topic(secured.bootstrap, records=8)


@pytest.fixture
def committed(secured: SecuredBroker, topic: str) -> str:
    """A group that has committed three times, whatever became of the commits before."""
    group = unique_name("committed")
    commit(secured.bootstrap, group, topic, 1, 2, 3)
    return group


@pytest.fixture
def run_ingest(spark: SparkSession, storage: Storage, mocker: MockerFixture) -> Ingest:
    """`pipeline ingest --format json` with these options, on the Spark of the tests; and its document."""
    mocker.patch("kafka_groups.pipeline.spark.session.start_session", side_effect=lambda **_: nullcontext(spark))

    def work(*flags: str) -> tuple[Outcome, dict[str, Any]]:
        reported = run("pipeline", "ingest", "--data-dir", storage.location, *flags, "--format", "json", bootstrap=None)
        return reported, json.loads(reported.stdout)

    return work

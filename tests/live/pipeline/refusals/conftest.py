"""One broker that knows users, for all tests of this folder, and an ingest from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.admin import AclOperation

from kafka_groups.pipeline.storage import Storage
from tests.fakes.fake_admin import Outcome, run
from tests.live.groups.topics import fresh, make_topic
from tests.live.pipeline.guarded import Guarded, guarded_broker
from tests.live.pipeline.offsets_topic import TOPIC, commit
from tests.live.pipeline.refusals.ingests import Ingest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pytest_mock import MockerFixture


@pytest.fixture(scope="package")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A broker on which only the operator may read the commits, and the describer may at least describe them."""
    with guarded_broker(tmp_path_factory.mktemp("guarded")) as guarded:
        guarded.allow("describer", AclOperation.DESCRIBE, TOPIC)
        yield guarded


@pytest.fixture(scope="package")
def topic(guarded: Guarded) -> str:
    return make_topic(guarded.bootstrap, records=8)


@pytest.fixture
def committed(guarded: Guarded, topic: str) -> str:
    """A group that has committed three times, whatever became of the commits before."""
    group = fresh("committed")
    commit(guarded.bootstrap, group, topic, 1, 2, 3)
    return group


@pytest.fixture
def run_ingest(spark: SparkSession, storage: Storage, mocker: MockerFixture) -> Ingest:
    """`pipeline ingest --format json` with these options, on the Spark of the tests; and its document."""
    mocker.patch("kafka_groups.pipeline.session.start_session", side_effect=lambda **_: nullcontext(spark))

    def work(*flags: str) -> tuple[Outcome, dict[str, Any]]:
        told = run("pipeline", "ingest", "--into", storage.into, *flags, "--format", "json", bootstrap=None)
        return told, json.loads(told.stdout)

    return work

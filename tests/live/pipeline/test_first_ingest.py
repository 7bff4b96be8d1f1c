"""A cluster on which no group has ever been: there is no `__consumer_offsets` yet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from kafka_groups import sandbox
from tests.fakes.fake_admin import run
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import TOPIC, commit, commits_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pytest_mock import MockerFixture

    from kafka_groups.pipeline.storage import Storage

pytestmark = [pytest.mark.live, pytest.mark.spark]


@pytest.fixture
def untouched(tmp_path_factory: pytest.TempPathFactory, mocker: MockerFixture) -> Iterator[str]:
    """The address of a broker without a request for a coordinator, which would make the topic."""
    mocker.patch("kafka_groups.sandbox.startup.await_coordinators")
    home = tmp_path_factory.mktemp("untouched")
    wanted = sandbox.SandboxSpec(name="untouched", port=0, heap_mb=512, seed=False, profile=False, home=home)
    try:
        yield sandbox.up(wanted).bootstrap
    finally:
        sandbox.down("untouched", home=home)


def test_it_brings_nothing_and_ends_well_and_a_later_one_brings_all(
    untouched: str, spark: SparkSession, storage: Storage, mocker: MockerFixture
) -> None:
    mocker.patch("kafka_groups.pipeline.spark.start_session", side_effect=lambda **_: nullcontext(spark))
    flags = ("pipeline", "ingest", "--data-dir", storage.into, "--format", "json")

    first = run(*flags, bootstrap=untouched)
    group = unique_name("first")
    commit(untouched, group, make_topic(untouched, records=8), 1, 2)
    second = run(*flags, bootstrap=untouched)

    assert first.exit_code == 0, first.stdout + first.stderr
    document = json.loads(first.stdout)
    assert (first.exit_code, document["status"], document["records"], document["tables"]) == (0, "complete", 0, [])
    lines = first.stderr.splitlines()  # on a busy machine workers may be started again between them
    assert lines[0] == f"{TOPIC} does not exist yet: this cluster has had no consumer group so far."
    assert lines[-1].startswith("Done in ")
    assert (second.exit_code, json.loads(second.stdout)["records"]) == (0, 2)
    assert {key[2] for key in commits_in(spark, storage)} == {group}

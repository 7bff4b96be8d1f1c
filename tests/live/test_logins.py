"""Each way to log in: every kind of command works with it, on a real broker (`sandbox up --secure`)."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException

from kafka_groups.admin.librdkafka import open_consumer
from kafka_groups.settings import settings_from
from kafka_groups.settings.librdkafka import client_properties
from tests.fakes.command_line import run
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import commit
from tests.live.secure_broker import SecureBroker
from tests.live.ways_in import WAYS_IN, WaysIn, open_ways_in

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]
_SHORT_LIFETIME_S = 12
# `make proof-access` repeats each way.
REPETITIONS = range(int(os.environ.get("PROOF_REPETITIONS", "1")))


@pytest.fixture
def ways_in(secure: SecureBroker, tmp_path: Path) -> Iterator[WaysIn]:
    """Yield the ways in, with an endpoint of this test."""
    with open_ways_in(secure, tmp_path) as opened:
        yield opened


@pytest.fixture
def group(secure: SecureBroker) -> str:
    """Return a group with the committed offset 3 on a topic of 8 records."""
    name = unique_name("login")
    commit(secure.bootstrap, name, make_topic(secure.bootstrap, records=8), 1, 2, 3)
    return name


@pytest.mark.parametrize("repetition", REPETITIONS)
@pytest.mark.parametrize("way", WAYS_IN)
def test_each_way_in_lists_describes_measures_and_resets(
    ways_in: WaysIn, group: str, way: str, repetition: int
) -> None:
    del repetition
    config = ways_in.config(way)
    listed = run("list", "-q", *config, bootstrap=None)
    assert (listed.exit_code, listed.stderr, group in listed.stdout.split()) == (0, "", True)

    described = run("describe", group, "--format", "json", *config, bootstrap=None)
    assert described.exit_code == 0, described.stderr
    (document,) = json.loads(described.stdout)["groups"]
    assert [row["committed_offset"] for row in document["offsets"]] == [3]

    # The record at the commit is read through librdkafka.
    measured = run("lag", group, "--time", "--format", "json", *config, bootstrap=None)
    assert measured.exit_code == 0, measured.stderr
    (row,) = json.loads(measured.stdout)["groups"]
    assert (row["lag"], row["time_lag_quality"]) == (5, "exact")

    changed = run("reset", group, "--all-topics", "--to-earliest", "--execute", "--yes", *config, bootstrap=None)
    assert changed.exit_code == 0, changed.stderr
    again = run("offsets", group, "--format", "json", *config, bootstrap=None)
    assert [row["committed_offset"] for row in json.loads(again.stdout)["groups"][0]["offsets"]] == [0]


def test_a_consumer_of_librdkafka_gets_new_tokens_while_it_reads(ways_in: WaysIn, group: str) -> None:
    """The broker ends a session when its token expires (KIP-368), so that an old token would be refused."""
    del group
    ways_in.endpoint.lifetime_s = _SHORT_LIFETIME_S
    properties = client_properties(settings_from(ways_in.properties("OIDC")))
    consumer = open_consumer(Consumer, properties, {})
    started = time.monotonic()
    last_success = started
    try:
        while time.monotonic() < started + 2.2 * _SHORT_LIFETIME_S:
            # librdkafka may begin two authentications within a second, which the broker refuses; it tries again.
            with suppress(KafkaException):
                consumer.list_topics(timeout=2)
                last_success = time.monotonic()
            consumer.poll(0.2)
    finally:
        consumer.close()
    assert last_success > started + 2 * _SHORT_LIFETIME_S
    assert len(ways_in.endpoint.requests) >= 3


def test_one_command_requests_one_token_for_each_client(ways_in: WaysIn, group: str) -> None:
    config = ways_in.config("OIDC")
    run("describe", group, *config, bootstrap=None)
    assert len(ways_in.endpoint.requests) == 1
    run("lag", group, "--time", *config, bootstrap=None)
    assert len(ways_in.endpoint.requests) == 3

"""A backfill of a broker that has a compacted topic beside a plain one."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_groups.model import TopicPartition
from kafka_groups.pipeline.store import open_storage
from kafka_groups.pipeline.tables import PARTITION_OFFSETS
from tests.fakes.command_line import run
from tests.live.groups.clients import open_admin
from tests.live.groups.topics import client_properties, make_topic, unique_name

pytestmark = pytest.mark.live

_TIMEOUT_S = 30


def make_compacted(bootstrap: str, policy: str) -> str:
    """A topic of this policy, with records of one key."""
    topic = unique_name("compacted")
    client = AdminClient(client_properties(bootstrap))  # dropped before the result, it takes the request back
    client.create_topics([NewTopic(topic, 1, 1, config={"cleanup.policy": policy})])[topic].result(_TIMEOUT_S)
    producer = Producer(client_properties(bootstrap))
    for number in range(5):
        producer.produce(topic, key="same", value=str(number))
    assert producer.flush(_TIMEOUT_S) == 0
    with open_admin(bootstrap) as admin:
        assert admin.list_offsets([TopicPartition(topic, 0)]).succeeded == {TopicPartition(topic, 0): 5}
    return topic


def topics_in(into: str) -> set[str]:
    files = [file.path for file in open_storage(into).files(PARTITION_OFFSETS)]
    return set(ds.dataset(files, partitioning="hive").to_table(columns=["topic"])["topic"].to_pylist())


def test_compacted_topics_are_skipped_and_named_once(broker: str, tmp_path: Path) -> None:
    both = sorted(make_compacted(broker, policy) for policy in ("compact", "compact,delete"))
    plain, into = make_topic(broker, records=5), str(tmp_path / "history")
    topics = [argument for topic in (*both, plain) for argument in ("--topic", topic)]

    outcome = run(
        *("pipeline", "backfill", "--data-dir", into, "--since", "5m", "--format", "json", *topics), bootstrap=broker
    )

    assert outcome.exit_code == 0, outcome
    note, done = outcome.stderr.splitlines()
    assert note == (
        f"2 topics are compacted and skipped, because their logs no longer hold every record: {', '.join(both)}."
    )
    assert done.startswith("Done in ")
    assert json.loads(outcome.stdout)["status"] == "complete"
    assert topics_in(into) == {plain}


def test_a_backfill_without_compacted_topics_has_no_note_on_them(broker: str, tmp_path: Path) -> None:
    plain, into = make_topic(broker, records=5), str(tmp_path / "history")
    outcome = run("pipeline", "backfill", "--data-dir", into, "--since", "5m", "--topic", plain, bootstrap=broker)

    assert (outcome.exit_code, outcome.stderr.count("\n")) == (0, 1), outcome
    assert topics_in(into) == {plain}

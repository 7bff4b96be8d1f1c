"""A real Kafka Streams application with `group.protocol=streams` (KIP-1071): Kafka's example that counts words.

It has two subtopologies with a task for each partition, and creates a repartition topic and a changelog topic.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from kafka_groups.sandbox.applications import COUNTS_TOPIC, WORD_COUNT, WORDS_TOPIC, streams_properties
from kafka_groups.sandbox.artifacts import streams_artifacts
from kafka_groups.sandbox.kafka import find_program
from kafka_groups.sandbox.versions import parse_version
from tests.live.groups.applications import Instances
from tests.live.groups.conditions import wait_until
from tests.live.groups.group_configs import configure_group
from tests.live.groups.raw_descriptions import describe_streams_group
from tests.live.groups.topics import client_properties, make_topic, unique_name

PARTITIONS = 2
RECORDS = 20
_STORE = "KSTREAM-AGGREGATE-STATE-STORE-0000000003"
_TIMEOUT_S = 30


@dataclass(kw_only=True)
class StreamsApplication:
    """An application whose group has one member for each running instance."""

    bootstrap: str
    group: str
    instances: Instances

    @property
    def input_topic(self) -> str:
        """The topic of words, which all such applications of a cluster read."""
        return WORDS_TOPIC

    @property
    def repartition_topic(self) -> str:
        """The internal topic between the two subtopologies."""
        return f"{self.group}-{_STORE}-repartition"

    @property
    def changelog_topic(self) -> str:
        """The internal topic of the store, of which one instance has a standby."""
        return f"{self.group}-{_STORE}-changelog"

    def start(self, number: int) -> None:
        """Start an instance."""
        state = self.instances.directory / str(number) / "state"
        self.instances.start(number, streams_properties(self.bootstrap, self.group, number, state=state))

    def stop(self, number: int) -> None:
        """Shut an instance down cleanly: its member leaves at once."""
        self.instances.stop(number)

    def stop_all(self) -> None:
        """Shut all instances down, and return when the group is Empty."""
        self.instances.stop_all()
        self._await("Empty", members=0)

    def await_stable(self, *, members: int) -> None:
        """Return when the group is Stable with that many members and each has the tasks of its target assignment."""
        self._await("Stable", members=members)

    def _await(self, state: str, *, members: int) -> None:
        wait_until(
            lambda: _is_in_state(describe_streams_group(self.bootstrap, self.group), state, members),
            lambda: f"{describe_streams_group(self.bootstrap, self.group)}\n{self.instances.last_lines()}",
            timeout_s=_TIMEOUT_S,
        )


@contextmanager
def word_count(
    bootstrap: str, directory: Path, *, version: str, instances: int = 2, name: str | None = None
) -> Iterator[StreamsApplication]:
    """Yield a Stable application with one standby for each task of its store; `directory` has its files."""
    group = name or unique_name("streams")
    kafka = find_program(streams_artifacts(parse_version(version)), report=lambda _: None)
    _make_topics(bootstrap)
    configure_group(bootstrap, group, {"streams.num.standby.replicas": "1"})
    application = StreamsApplication(
        bootstrap=bootstrap, group=group, instances=Instances(kafka=kafka, main=WORD_COUNT, directory=directory)
    )
    try:
        for number in range(1, instances + 1):
            application.start(number)
        application.await_stable(members=instances)
        yield application
    finally:
        application.instances.stop_all()


def write_words(bootstrap: str, records: int) -> None:
    """Write that many lines of words to each partition of the input topic."""
    producer = Producer(client_properties(bootstrap))
    for partition in range(PARTITIONS):
        for number in range(records):
            producer.produce(WORDS_TOPIC, value=f"the fox number {number % 7}", partition=partition)
    assert producer.flush(_TIMEOUT_S) == 0


def _make_topics(bootstrap: str) -> None:
    try:
        make_topic(bootstrap, partitions=PARTITIONS, name=WORDS_TOPIC)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
        return
    make_topic(bootstrap, partitions=PARTITIONS, name=COUNTS_TOPIC)
    write_words(bootstrap, RECORDS)


def _is_in_state(found: Any, state: str, members: int) -> bool:
    if (found.group_state, len(found.members)) != (state, members):
        return False
    return all(member.assignment == member.target_assignment for member in found.members)

"""Reading records at positions: what is assigned, when a partition is finished, errors, the deadline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_NOT_AVAILABLE, KafkaError, TopicPartition

from kafka_groups.admin import Deadline, IsolationLevel
from kafka_groups.admin.api import RecordPosition, RecordTime
from kafka_groups.admin.record_times import read_record_times
from kafka_groups.errors import SettingsError
from kafka_groups.model import Results

SERVERS = {"bootstrap.servers": "b1:9092"}
TIMEOUT_S = 10.0


class Record(NamedTuple):
    """A message of librdkafka: a record, or an error of a partition."""

    place: tuple[str | None, int | None]
    at: int | None = None
    ms: int | None = None
    code: int | None = None

    def topic(self) -> str | None:
        return self.place[0]

    def partition(self) -> int | None:
        return self.place[1]

    def offset(self) -> int | None:
        return self.at

    def timestamp(self) -> tuple[int, int]:
        return (TIMESTAMP_NOT_AVAILABLE, -1) if self.ms is None else (TIMESTAMP_CREATE_TIME, self.ms)

    def error(self) -> KafkaError | None:
        return None if self.code is None else KafkaError(self.code)


class FakeConsumer:
    """A consumer that returns these batches, and then nothing; each call takes a second."""

    def __init__(self, *batches: Sequence[Record], errors: Sequence[KafkaError] = ()) -> None:
        self._batches = list(batches)
        self._errors = errors
        self.now = 0.0
        self.properties: dict[str, Any] = {}
        self.assigned: list[tuple[str, int, int]] = []
        self.unassigned: list[list[tuple[str, int]]] = []
        self.sought: list[tuple[str, int, int]] = []
        self.is_closed = False

    def assign(self, partitions: list[TopicPartition]) -> None:
        self.assigned = [(each.topic, each.partition, each.offset) for each in partitions]

    def incremental_unassign(self, partitions: list[TopicPartition]) -> None:
        self.unassigned.append([(each.topic, each.partition) for each in partitions])

    def seek(self, partition: TopicPartition) -> None:
        self.sought.append((partition.topic, partition.partition, partition.offset))

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Any]:
        self.now += 1
        for error in self._errors:
            self.properties["error_cb"](error)
        return list(self._batches.pop(0)) if self._batches else []

    def close(self) -> None:
        self.is_closed = True


def read(
    consumer: FakeConsumer,
    *positions: tuple[str, int, int],
    properties: dict[str, str] | None = None,
    isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> Results[RecordPosition, RecordTime | None]:
    """Read these positions with a fake consumer."""

    def make(given: dict[str, Any]) -> FakeConsumer:
        consumer.properties = given
        return consumer

    found = read_record_times(
        properties or SERVERS,
        [RecordPosition(*position) for position in positions],
        isolation_level=isolation_level,
        deadline=Deadline.after(TIMEOUT_S, lambda: consumer.now),
        make_consumer=make,
    )
    assert consumer.is_closed
    return found


def test_all_partitions_are_assigned_at_once_and_left_as_soon_as_their_record_is_known() -> None:
    consumer = FakeConsumer([Record(("t", 1), 7, 70), Record(("t", 1), 8, 71)], [Record(("t", 0), 5, 50)])
    found = read(consumer, ("t", 0, 5), ("t", 1, 6))
    assert sorted(consumer.assigned) == [("t", 0, 5), ("t", 1, 6)]
    assert consumer.unassigned == [[("t", 1)], [("t", 0)]]
    assert found == Results({("t", 1, 6): RecordTime(7, 70), ("t", 0, 5): RecordTime(5, 50)}, {})
    assert consumer.now == 2


def test_positions_of_a_partition_are_read_in_order_and_one_record_may_stand_for_several() -> None:
    batches = [Record(("t", 0), 5, 50), Record(("t", 0), 6, 60), Record(("t", 0), 9, 90)], [Record(("t", 0), 5000, 99)]
    consumer = FakeConsumer(*batches)
    found = read(consumer, ("t", 0, 5), ("t", 0, 7), ("t", 0, 9), ("t", 0, 5000))
    assert consumer.assigned == [("t", 0, 5)]
    assert consumer.sought == [("t", 0, 5000)]
    assert found.succeeded == {
        ("t", 0, 5): RecordTime(5, 50),
        ("t", 0, 7): RecordTime(9, 90),
        ("t", 0, 9): RecordTime(9, 90),
        ("t", 0, 5000): RecordTime(5000, 99),
    }


def test_at_the_end_of_a_partition_there_is_no_record() -> None:
    eof = Record(("t", 0), 9, code=KafkaError._PARTITION_EOF)
    assert read(FakeConsumer([eof]), ("t", 0, 7), ("t", 0, 8)).succeeded == {("t", 0, 7): None, ("t", 0, 8): None}


def test_a_record_may_have_no_timestamp() -> None:
    assert read(FakeConsumer([Record(("t", 0), 5)]), ("t", 0, 5)).succeeded == {("t", 0, 5): RecordTime(5, None)}


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "TOPIC_AUTHORIZATION_FAILED"),
        (KafkaError._AUTO_OFFSET_RESET, "OFFSET_OUT_OF_RANGE"),
        (KafkaError._UNKNOWN_PARTITION, "UNKNOWN_TOPIC_OR_PARTITION"),
        (KafkaError._BAD_MSG, "MALFORMED_RESPONSE"),
    ],
)
def test_an_error_of_a_partition_fails_its_positions_and_no_other(code: int, name: str) -> None:
    consumer = FakeConsumer([Record(("t", 0), code=code), Record(("t", 1), 5, 50)])
    found = read(consumer, ("t", 0, 5), ("t", 1, 5))
    assert found.succeeded == {("t", 1, 5): RecordTime(5, 50)}
    failed = found.failed[RecordPosition("t", 0, 5)]
    assert (failed.topic, failed.partition, failed.name) == ("t", 0, name)
    assert consumer.now == 1


def test_a_topic_that_may_only_be_described_names_the_right_that_reading_needs() -> None:
    denied = Record(("t", 0), code=KafkaError.TOPIC_AUTHORIZATION_FAILED)
    failed = read(FakeConsumer([denied]), ("t", 0, 5)).failed[RecordPosition("t", 0, 5)]
    assert failed.message == "not allowed: the age of a record needs READ on the topic"


def test_errors_that_name_no_partition_are_ignored() -> None:
    batch = [Record((None, None), code=KafkaError.GROUP_AUTHORIZATION_FAILED), Record(("t", 0), 5, 50)]
    assert read(FakeConsumer(batch), ("t", 0, 5)).failed == {}


def test_what_is_not_read_at_the_deadline_fails_with_the_reason() -> None:
    errors = [KafkaError(KafkaError._TRANSPORT, "b2:9092: refused"), KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1")]
    consumer = FakeConsumer([Record(("t", 1), 5, 50)], errors=errors)
    found = read(consumer, ("t", 0, 5), ("t", 1, 5))
    assert found.succeeded == {("t", 1, 5): RecordTime(5, 50)}
    failed = found.failed[RecordPosition("t", 0, 5)]
    assert failed.name == "TIMEOUT"
    assert failed.message == "the record was not read within 10 s: b2:9092: refused; try a longer --timeout"
    assert consumer.now == TIMEOUT_S


def test_refused_credentials_end_the_reading_and_no_password_is_shown() -> None:
    consumer = FakeConsumer(errors=[KafkaError(KafkaError._AUTHENTICATION, "refused: hunter2")])
    found = read(consumer, ("t", 0, 5), properties={**SERVERS, "sasl.password": "hunter2"})
    failed = found.failed[RecordPosition("t", 0, 5)]
    assert (failed.name, consumer.now) == ("AUTHENTICATION_FAILED", 1)
    assert failed.message == "the record cannot be read: refused: (hidden)"


def test_without_positions_no_consumer_is_created() -> None:
    level, deadline = IsolationLevel.READ_UNCOMMITTED, Deadline.after(1)
    assert read_record_times({}, [], isolation_level=level, deadline=deadline) == Results({}, {})


@pytest.mark.parametrize("level", IsolationLevel)
def test_the_consumer_commits_nothing_and_writes_no_log(level: IsolationLevel) -> None:
    consumer = FakeConsumer([Record(("t", 0), 5, 50)])
    read(consumer, ("t", 0, 5), isolation_level=level)
    assert consumer.properties["isolation.level"] == level.name.lower()
    assert not consumer.properties["enable.auto.commit"]
    assert not consumer.properties["allow.auto.create.topics"]
    assert consumer.properties["log_level"] == 0
    assert consumer.properties["bootstrap.servers"] == "b1:9092"


def test_properties_that_librdkafka_refuses_are_a_settings_error() -> None:
    level, deadline = IsolationLevel.READ_UNCOMMITTED, Deadline.after(1)
    properties = {**SERVERS, "security.protocol": "ssl", "ssl.ca.location": "/no/such/file"}
    with pytest.raises(SettingsError, match=r"librdkafka refuses the connection properties: .*ssl\.ca\.location"):
        read_record_times(properties, [RecordPosition("t", 0, 5)], isolation_level=level, deadline=deadline)

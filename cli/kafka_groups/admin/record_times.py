"""The times of records: one librdkafka consumer reads the first record at or after each of many positions.

The consumer is assigned all partitions at once. It joins no group and commits nothing. A partition is unassigned as
soon as its records are known, so one that cannot be read delays no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, Message
from confluent_kafka import TopicPartition as Assigned

from kafka_groups.admin.api import Deadline, IsolationLevel, RecordPosition, RecordTime
from kafka_groups.admin.librdkafka import CREDENTIAL_CODES, TOKEN_TIMEOUT_S, describe_error, open_consumer
from kafka_groups.errors import (
    AdminError,
    AuthenticationFailedError,
    MalformedResponseError,
    SettingsError,
    TimeoutExceededError,
    TokenFailedError,
)
from kafka_groups.model import Failure, Results, TopicPartition
from kafka_groups.progress import StepProgress, ignore_step_progress
from kafka_groups.protocol.errors import (
    OFFSET_OUT_OF_RANGE,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
    broker_error,
)
from kafka_groups.settings.librdkafka import ClientProperties

_READING: Final[Mapping[str, Any]] = {
    # Most batches fit into this size. A larger batch is returned only when its partition is the first of a request, so
    # 1,000 partitions with larger batches take hundreds of requests, and with smaller ones a few.
    "fetch.message.max.bytes": 65_536,
    "fetch.max.bytes": 4 * 2**20,
    "queued.min.messages": 1,
    "fetch.queue.backoff.ms": 1,
    # A broker without records to return responds after this time.
    "fetch.wait.max.ms": 50,
}
_ISOLATION: Final = {
    IsolationLevel.READ_UNCOMMITTED: "read_uncommitted",
    IsolationLevel.READ_COMMITTED: "read_committed",
}
_MAX_MESSAGES: Final = 500
_POLL_S: Final = 0.1
# The next position of a partition is reached by reading on if it is so near, else by a seek.
_NEAR: Final = 500
_CODES: Final = {
    KafkaError._AUTO_OFFSET_RESET: OFFSET_OUT_OF_RANGE,
    KafkaError._UNKNOWN_TOPIC: UNKNOWN_TOPIC_OR_PARTITION,
    KafkaError._UNKNOWN_PARTITION: UNKNOWN_TOPIC_OR_PARTITION,
}
# Requests for offsets need DESCRIBE, and reading more.
_SENTENCES: Final = {TOPIC_AUTHORIZATION_FAILED: "not allowed: the age of a record needs READ on the topic"}
# The text of such an error names one partition, and is no reason for the others.
_OF_PARTITIONS: Final = frozenset(_CODES)


class RecordConsumer(Protocol):
    """The methods of confluent_kafka.Consumer that reading needs."""

    def assign(self, partitions: list[Assigned]) -> None:
        """Start reading partitions at their offsets."""

    def incremental_unassign(self, partitions: list[Assigned]) -> None:
        """Stop reading partitions."""

    def seek(self, partition: Assigned) -> None:
        """Read on at another offset."""

    def consume(self, num_messages: int = ..., timeout: float = ...) -> list[Message]:
        """Return records and errors."""

    def close(self) -> None:
        """Stop reading."""


def read_record_times(
    properties: ClientProperties,
    positions: Iterable[RecordPosition],
    *,
    isolation_level: IsolationLevel,
    deadline: Deadline,
    make_consumer: Callable[[dict[str, Any]], RecordConsumer] = Consumer,
    progress: StepProgress = ignore_step_progress,
) -> Results[RecordPosition, RecordTime | None]:
    """Return the offset and the timestamp of the first record at or after each position.

    None if there is no such record: the partition ends, or nothing but control records and, with READ_COMMITTED,
    aborted records follow. Raises SettingsError if librdkafka refuses the properties. A position that is not read at
    the deadline fails with TIMEOUT, one below the log start with OFFSET_OUT_OF_RANGE.
    """
    reading = _Reading(properties, positions)
    if not reading.pending:
        return reading.results()
    errors = _LastError(properties)
    how = {**_READING, "isolation.level": _ISOLATION[isolation_level]}
    try:
        timeout_s = min(deadline.at - deadline.clock(), TOKEN_TIMEOUT_S)
        consumer = open_consumer(make_consumer, properties, how, on_error=errors.add, token_timeout_s=timeout_s)
    except TokenFailedError as error:
        reading.end(TokenFailedError(f"the record cannot be read: {error}"))
        return reading.results()
    except SettingsError as error:
        msg = f"records cannot be read, because {error}"
        raise SettingsError(msg) from None
    try:
        consumer.assign([Assigned(*key, offsets[-1]) for key, offsets in reading.pending.items()])
        while reading.pending and not errors.are_final and (remaining_s := deadline.at - deadline.clock()) > 0:
            finished, sought = reading.add(consumer.consume(_MAX_MESSAGES, min(remaining_s, _POLL_S)))
            if finished:
                consumer.incremental_unassign([Assigned(*key) for key in finished])
            for key, offset in sought.items():
                consumer.seek(Assigned(*key, offset))
            progress(reading.done, reading.total)
    finally:
        consumer.close()
    reading.end(errors.to_error(deadline))
    return reading.results()


class _LastError:
    """The last error of the whole client: the reason why a position was not read."""

    def __init__(self, properties: ClientProperties) -> None:
        self._properties = properties
        self._text: str | None = None
        self.are_final = False

    def add(self, error: KafkaError) -> None:
        """Keep an error. librdkafka tries refused credentials again and again, which nobody waits for."""
        if error.code() not in _OF_PARTITIONS and (error.code() != KafkaError._ALL_BROKERS_DOWN or not self._text):
            self._text = describe_error(error, self._properties)
        self.are_final = self.are_final or error.code() in CREDENTIAL_CODES

    def to_error(self, deadline: Deadline) -> AdminError:
        """Return the error of what was not read."""
        reason = f": {self._text}" if self._text else ""
        if self.are_final:
            return AuthenticationFailedError(f"the record cannot be read{reason}")
        return TimeoutExceededError(
            f"the record was not read within {deadline.timeout_s:g} s{reason}; try a longer --timeout"
        )


class _Reading:
    """What is known of the positions. `pending` has the offsets of each partition, the smallest one last."""

    def __init__(self, properties: ClientProperties, positions: Iterable[RecordPosition]) -> None:
        self._properties = properties
        self.pending: dict[TopicPartition, list[int]] = {}
        self._found: dict[RecordPosition, RecordTime | None] = {}
        self._failed: dict[RecordPosition, Failure] = {}
        wanted = sorted(set(positions), reverse=True)
        self.total = len(wanted)
        for topic, partition, offset in wanted:
            self.pending.setdefault(TopicPartition(topic, partition), []).append(offset)

    @property
    def done(self) -> int:
        """Return the number of positions that are found or failed."""
        return len(self._found) + len(self._failed)

    def results(self) -> Results[RecordPosition, RecordTime | None]:
        """Return what was found, and what failed."""
        return Results(succeeded=self._found, failed=self._failed)

    def add(self, messages: Iterable[Message]) -> tuple[list[TopicPartition], dict[TopicPartition, int]]:
        """Add messages; return the partitions that are finished, and the offsets that others should go on at."""
        finished: list[TopicPartition] = []
        last: dict[TopicPartition, int] = {}
        for message in messages:
            key = TopicPartition(message.topic() or "", -1 if (number := message.partition()) is None else number)
            offsets = self.pending.get(key)
            if offsets is None:
                # An error without a partition, such as one of a group that this consumer does not join.
                continue
            if (error := message.error()) is not None:
                self._end_partition(key, offsets, error)
            elif (offset := message.offset()) is not None and offset >= offsets[-1]:
                self._add_record(key, offsets, offset, message)
                last[key] = offset
            if not offsets:
                del self.pending[key]
                finished.append(key)
        sought = {
            key: offsets[-1]
            for key, offset in last.items()
            if (offsets := self.pending.get(key)) and offsets[-1] - offset > _NEAR
        }
        return finished, sought

    def end(self, error: AdminError) -> None:
        """Let everything fail that is not known."""
        for key, offsets in self.pending.items():
            self._fail(key, offsets, error)

    def _add_record(self, key: TopicPartition, offsets: list[int], offset: int, message: Message) -> None:
        kind, timestamp_ms = message.timestamp()
        is_known = kind != TIMESTAMP_NOT_AVAILABLE and timestamp_ms >= 0
        record = RecordTime(offset, timestamp_ms if is_known else None)
        while offsets and offsets[-1] <= offset:
            self._found[RecordPosition(*key, offsets.pop())] = record

    def _end_partition(self, key: TopicPartition, offsets: list[int], error: KafkaError) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            self._found |= dict.fromkeys(RecordPosition(*key, offset) for offset in offsets)
        else:
            code = _CODES.get(error.code(), error.code())
            # The codes below 0 are librdkafka's own, such as those of a corrupt batch.
            text = describe_error(error, self._properties)
            malformed = MalformedResponseError(f"the record cannot be read: {text}")
            self._fail(key, offsets, broker_error(code, _SENTENCES.get(code)) if code >= 0 else malformed)
        offsets.clear()

    def _fail(self, key: TopicPartition, offsets: Iterable[int], error: AdminError) -> None:
        failure = Failure.of(error, topic=key.topic, partition=key.partition)
        self._failed |= dict.fromkeys((RecordPosition(*key, offset) for offset in offsets), failure)

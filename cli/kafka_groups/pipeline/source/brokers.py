"""What is asked of the brokers about `__consumer_offsets`, and their errors as sentences that hold no secret."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

from kafka_groups.errors import SourceError

TOPIC: Final = "__consumer_offsets"
_LEAST_SECRET: Final = 4  # characters; hiding shorter values would make holes in every sentence
_PLAIN: Final = frozenset({"bootstrap.servers", "client.id", "security.protocol", "sasl.mechanism", "sasl.mechanisms"})

_READING: Final = {
    # Never used: nothing is subscribed to and nothing is committed, but a consumer cannot be made without one.
    "group.id": "kafka-groups-pipeline-reads-without-a-group",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "isolation.level": "read_committed",
    "enable.partition.eof": True,
    # Records that retention took are to be noticed, not passed over.
    "auto.offset.reset": "error",
    "allow.auto.create.topics": False,
    # Bounds what waits in memory, and what is fetched beyond a range's end for nothing.
    "queued.max.messages.kbytes": 8_192,
    "fetch.message.max.bytes": 2 * 2**20,
    "fetch.max.bytes": 8 * 2**20,
    # At the end of a partition the broker is to say so at once.
    "fetch.wait.max.ms": 10,
    "fetch.queue.backoff.ms": 5,
}
_POLL_S: Final = 0.01
_LATE: Final = frozenset({KafkaError._TIMED_OUT, KafkaError._TIMED_OUT_QUEUE})  # noqa: SLF001 librdkafka's own codes
_VAGUE: Final = frozenset({KafkaError._ALL_BROKERS_DOWN})  # noqa: SLF001 it follows what says which and why
_NOT_FOUND: Final = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC})  # noqa: SLF001 public
_CREDENTIALS: Final = (
    "the brokers refused the credentials. Check sasl.mechanism, sasl.username and sasl.password, or the certificate"
)
_REFUSED: Final = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: (
        "this user has no right to it. Have Describe and Read allowed on that topic, or do without: "
        "`kafka-groups pipeline sample` needs neither, and build tells lag and verdicts from samples"
    ),
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "this user may not describe the cluster. Have Describe allowed on it",
    KafkaError.SASL_AUTHENTICATION_FAILED: _CREDENTIALS,
    KafkaError._AUTHENTICATION: _CREDENTIALS,  # noqa: SLF001 librdkafka's own codes
}


class Brokers:
    """Questions to a cluster about the topic; each fails with SourceError, at the latest after the timeout."""

    def __init__(self, client: Mapping[str, str], timeout_s: float) -> None:
        """Connect lazily with these properties of librdkafka."""
        self._client = dict(client)
        self._timeout_s = timeout_s
        self._said: KafkaError | None = None
        properties = {**self._client, **_silent(), "error_cb": self._listen}
        self._admin = _made(AdminClient, properties, self._client)

    def cluster_id(self) -> str:
        """Kafka's id of the cluster."""
        described = self._answer(self._admin.describe_cluster(request_timeout=self._timeout_s))
        return str(described.cluster_id)

    def partitions(self) -> list[int]:
        """The partitions of the topic; none if no group has ever been on the cluster."""
        asked = self._admin.describe_topics(TopicCollection([TOPIC]), request_timeout=self._timeout_s)
        try:
            described = self._result(asked[TOPIC])
        except KafkaException as error:
            if error.args[0].code() in _NOT_FOUND:
                return []
            raise self._error(error.args[0]) from None
        return sorted(partition.id for partition in described.partitions)

    def earliest(self, partitions: Sequence[int]) -> dict[int, int]:
        """The first offset of each partition that can still be read."""
        return self._offsets(partitions, OffsetSpec.earliest())  # type: ignore[no-untyped-call]

    def latest(self, partitions: Sequence[int]) -> dict[int, int]:
        """Where a reader of committed records has to stop: the last stable offset of each partition."""
        return self._offsets(partitions, OffsetSpec.latest())  # type: ignore[no-untyped-call]

    def _offsets(self, partitions: Sequence[int], spec: OffsetSpec) -> dict[int, int]:
        if not partitions:
            return {}
        asked = self._admin.list_offsets(
            {TopicPartition(TOPIC, partition): spec for partition in partitions},
            isolation_level=IsolationLevel.READ_COMMITTED,
            request_timeout=self._timeout_s,
        )
        return {found.partition: int(self._answer(answer).offset) for found, answer in asked.items()}

    def _answer(self, asked: Future[Any]) -> Any:
        try:
            return self._result(asked)
        except KafkaException as error:
            raise self._error(error.args[0]) from None

    def _result(self, asked: Future[Any]) -> Any:
        """What was answered. librdkafka tries refused credentials again and again: that is not waited for."""
        self._said = None
        until = time.monotonic() + self._timeout_s + 1
        while not asked.done() and time.monotonic() < until:
            self._admin.poll(_POLL_S)
            if self._said is not None and self._said.code() in _REFUSED:
                raise source_error(self._said, self._client)
        if not asked.done():
            raise self._too_late()
        return asked.result()

    def _listen(self, error: KafkaError) -> None:
        """What librdkafka says beside the answers: a refusal counts most, else its first words say which and why."""
        if self._said is None or self._said.code() in _VAGUE or error.code() in _REFUSED:
            self._said = error

    def _error(self, error: KafkaError) -> SourceError:
        return self._too_late() if error.code() in _LATE else source_error(error, self._client)

    def _too_late(self) -> SourceError:
        why = f": {hidden(self._said.str(), self._client)}" if self._said is not None else ""
        return SourceError(f"no broker answered within {self._timeout_s:g} s at {_where(self._client)}{why}")


def new_consumer(client: Mapping[str, str]) -> Consumer:
    """A consumer that reads what it is assigned, and nothing else."""
    consumer: Consumer = _made(Consumer, {**client, **_READING, **_silent()}, client)
    return consumer


def source_error(error: KafkaError, client: Mapping[str, str]) -> SourceError:
    """What a broker or librdkafka said, as one sentence."""
    said = _REFUSED.get(error.code()) or f"Kafka says: {hidden(error.str(), client)}"
    return SourceError(f"__consumer_offsets cannot be read from {_where(client)}: {said}")


def hidden(text: str, client: Mapping[str, str]) -> str:
    """The text without any value of the properties that may be secret."""
    for name, value in client.items():
        if name not in _PLAIN and len(value) >= _LEAST_SECRET:
            text = text.replace(value, "(hidden)")
    return text


def _made(kind: Callable[[dict[str, Any]], Any], properties: dict[str, Any], client: Mapping[str, str]) -> Any:
    try:
        return kind(properties)
    except (KafkaException, ValueError, TypeError) as error:
        said = error.args[0].str() if isinstance(error, KafkaException) else str(error)
        msg = f"librdkafka does not take these properties: {hidden(said, client)}"
        raise SourceError(msg) from None


def _silent() -> dict[str, Any]:
    """It writes to stderr unless told otherwise; what is wrong is told by errors."""
    return {"log_level": 0, "error_cb": _ignore}


def _ignore(_error: KafkaError) -> None:
    pass


def _where(client: Mapping[str, str]) -> str:
    return client.get("bootstrap.servers", "no address")

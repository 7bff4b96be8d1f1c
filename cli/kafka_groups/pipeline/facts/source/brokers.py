"""Requests to the brokers about `__consumer_offsets`, and their errors as sentences without secrets."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin._listoffsets import OffsetSpec

from kafka_groups.admin.librdkafka import (
    CREDENTIAL_CODES,
    ErrorCallback,
    describe_error,
    ignore_error,
    open_admin_client,
    open_consumer,
)
from kafka_groups.errors import MissingFeatureError, SettingsError, SourceError, TokenFailedError, UnreachableError
from kafka_groups.pipeline.facts.decode.partitioner import partition_for
from kafka_groups.pipeline.facts.source.addresses import unreachable_reason
from kafka_groups.pipeline.facts.source.position import Position
from kafka_groups.pipeline.tables import OFFSETS_TOPIC
from kafka_groups.protocol.errors import error_code
from kafka_groups.settings.librdkafka import ClientProperties
from kafka_groups.settings.sasl import OAUTHBEARER

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

DEFAULT_TIMEOUT_S: Final = 60.0
_SERVERS: Final = "bootstrap.servers"
_CONSUMER_PROPERTIES: Final[Mapping[str, Any]] = {
    "isolation.level": "read_committed",
    # These limit the memory of fetched records, and the records that are fetched past the end of a range and not used.
    "queued.max.messages.kbytes": 8_192,
    "fetch.message.max.bytes": 2 * 2**20,
    "fetch.max.bytes": 8 * 2**20,
    # At the end of a partition the broker responds at once, without a wait for further records.
    "fetch.wait.max.ms": 10,
    "fetch.queue.backoff.ms": 5,
}
_POLL_S: Final = 0.01
# librdkafka's own timeout is equally long, so its response may come a little later.
_RESPONSE_DELAY_S: Final = 1.0
_TIMEOUT_CODES: Final = frozenset({KafkaError._TIMED_OUT, KafkaError._TIMED_OUT_QUEUE})
# These are librdkafka's own errors after which it retries. It reports them repeatedly.
_RETRIABLE_CODES: Final = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TRANSPORT,
        KafkaError._RESOLVE,
        KafkaError._TIMED_OUT,
        KafkaError._MSG_TIMED_OUT,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
    }
)
_UNKNOWN_TOPIC_CODES: Final = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC})
_CREDENTIALS_REFUSED: Final = (
    "the brokers refused the credentials; check sasl.mechanism, sasl.username and sasl.password, or the certificate"
)
_REFUSED_BEARER: Final = (
    "the brokers refused the token; `kafka-groups list` with the same settings says what the token has"
)
# Errors that end a request at once, because no retry helps: the reason and the next step.
_REFUSALS: Final = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: (
        "not allowed: this needs READ on that topic; allow it, or use `kafka-groups pipeline sample`, which does not "
        "need it: build derives lag and verdicts from samples"
    ),
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "not allowed: this needs DESCRIBE on the cluster; allow it",
    **dict.fromkeys(CREDENTIAL_CODES, _CREDENTIALS_REFUSED),
}

_LATEST: Final = OffsetSpec.latest()
# librdkafka's text for the zero id, which a broker without topic ids (before 2.8) has.
_ZERO_TOPIC_ID: Final = "A" * 22
# Kafka prints topic ids in base64 for URLs, librdkafka in plain base64.
_BASE64_FOR_URLS: Final = str.maketrans("+/", "-_")


class Topic(NamedTuple):
    """The topic `__consumer_offsets`: its id (None if brokers return none, before 2.8) and its sorted partitions."""

    id: str | None
    partitions: list[int]


class Brokers:
    """Requests to a cluster about `__consumer_offsets`.

    Each request ends within the timeout, in seconds. Methods raise UnreachableError if no broker responds, and
    SourceError for other errors.
    """

    def __init__(self, client: ClientProperties, timeout_s: float) -> None:
        """Create a client of librdkafka with these properties; it connects at the first request."""
        self._client = dict(client)
        self._timeout_s = timeout_s
        self._reported_error: KafkaError | None = None
        self._admin = new_admin(client, timeout_s, self._note_error)

    def cluster(self) -> tuple[str, int]:
        """Return the cluster's id and its number of brokers.

        If nothing listens at any of the addresses, the error is raised at once, before the timeout.
        """
        reason = unreachable_reason(self._client.get(_SERVERS, ""), self._timeout_s)
        if reason is not None:
            msg = f"cannot connect to {_format_addresses(self._client)}: {reason}"
            raise UnreachableError(msg)
        cluster = self._wait_for(self._admin.describe_cluster(request_timeout=self._timeout_s))
        return str(cluster.cluster_id), len(cluster.nodes)

    def topic(self) -> Topic:
        """Return the topic; it has no id and no partitions if it does not exist, because no group has ever existed."""
        responses = self._admin.describe_topics(TopicCollection([OFFSETS_TOPIC]), request_timeout=self._timeout_s)
        description = self._wait_for(responses[OFFSETS_TOPIC], absent_codes=_UNKNOWN_TOPIC_CODES)
        if description is None:
            return Topic(None, [])
        topic_id = str(description.topic_id).translate(_BASE64_FOR_URLS)
        partitions = sorted(partition.id for partition in description.partitions)
        return Topic(None if topic_id == _ZERO_TOPIC_ID else topic_id, partitions)

    def log_start_offsets(self, partitions: Sequence[int]) -> dict[int, int]:
        """Return the log start offset of each of these partitions."""
        responses = self._list_offsets(partitions, OffsetSpec.earliest())
        return {partition: response.offset for partition, response in responses.items()}

    def end_offsets(
        self, partitions: Sequence[int], isolation_level: IsolationLevel = IsolationLevel.READ_COMMITTED
    ) -> dict[int, int]:
        """Return the last stable offset of each of these partitions; with READ_UNCOMMITTED, the log end offset."""
        responses = self._list_offsets(partitions, isolation_level=isolation_level)
        return {partition: response.offset for partition, response in responses.items()}

    def end_position(self, group: str | None = None) -> Position:
        """Return the topic's id, and the last stable offset and the leader epoch of each partition.

        With a group, the result has only the partition that has the group's records.
        """
        topic_id, partitions = self.topic()
        if group is not None and partitions:
            partitions = [partition_for(group, len(partitions))]
        next_offsets: dict[int, int] = {}
        leader_epochs: dict[int, int] = {}
        for partition, response in self._list_offsets(partitions).items():
            next_offsets[partition] = response.offset
            if response.leader_epoch is not None:
                leader_epochs[partition] = response.leader_epoch
        return Position(topic_id, next_offsets, leader_epochs)

    def _list_offsets(
        self,
        partitions: Sequence[int],
        spec: OffsetSpec = _LATEST,
        isolation_level: IsolationLevel = IsolationLevel.READ_COMMITTED,
    ) -> dict[int, Any]:
        """Return librdkafka's result for each of these partitions, with one request."""
        if not partitions:
            return {}
        responses = self._admin.list_offsets(
            {TopicPartition(OFFSETS_TOPIC, partition): spec for partition in partitions},
            isolation_level=isolation_level,
            request_timeout=self._timeout_s,
        )
        return {partition.partition: self._wait_for(response) for partition, response in responses.items()}

    def _wait_for(self, response: Future[Any], absent_codes: frozenset[int] = frozenset()) -> Any:
        """Wait for a response, and return its result; None for an error with one of these codes.

        Raises SourceError at once for a refusal, which librdkafka would retry until the timeout.
        """
        self._reported_error = None
        deadline = time.monotonic() + self._timeout_s + _RESPONSE_DELAY_S
        while not response.done() and time.monotonic() < deadline:
            self._admin.poll(_POLL_S)
            if self._reported_error is not None and self._reported_error.code() in _REFUSALS:
                raise source_error(self._reported_error, self._client)
        try:
            return response.result(0)
        except KafkaException as exception:
            error = exception.args[0]
            if error.code() in absent_codes:
                return None
            if error.code() not in _TIMEOUT_CODES:
                raise source_error(error, self._client) from None
        except TimeoutError:
            pass
        raise self._timeout_error()

    def _timeout_error(self) -> UnreachableError:
        reason = ""
        if self._reported_error is not None:
            reason = f": {describe_error(self._reported_error, self._client)}"
        return UnreachableError(
            f"no broker of {_format_addresses(self._client)} responded within {self._timeout_s:g} s{reason}"
        )

    def _note_error(self, error: KafkaError) -> None:
        """Remember an error that librdkafka reports outside of responses: a refusal, or else the first other error."""
        is_first = self._reported_error is None
        # This error follows another one, which has the reason.
        is_without_reason = self._reported_error is not None and (
            self._reported_error.code() == KafkaError._ALL_BROKERS_DOWN
        )
        if is_first or is_without_reason or error.code() in _REFUSALS:
            self._reported_error = error


def new_admin(client: ClientProperties, timeout_s: float, on_error: ErrorCallback = ignore_error) -> AdminClient:
    """Return an Admin client of librdkafka; `on_error` is called with errors that belong to no request.

    A token of the user may take `timeout_s` seconds.

    Raises SourceError if librdkafka refuses a property, or if the user's token cannot be fetched.
    """
    try:
        return open_admin_client(client, on_error=on_error, token_timeout_s=timeout_s)
    except (SettingsError, TokenFailedError, MissingFeatureError) as error:
        raise SourceError(str(error)) from None


def new_consumer(client: ClientProperties, timeout_s: float, properties: Mapping[str, Any] | None = None) -> Consumer:
    """Return a consumer for the topic; `properties` replace the default ones.

    A token of the user may take `timeout_s` seconds.

    Raises SourceError if librdkafka refuses a property, or if the user's token cannot be fetched.
    """
    try:
        reading = {**_CONSUMER_PROPERTIES, **(properties or {})}
        return open_consumer(Consumer, client, reading, token_timeout_s=timeout_s)
    except (SettingsError, TokenFailedError, MissingFeatureError) as error:
        raise SourceError(str(error)) from None


def check_client(client: ClientProperties, timeout_s: float) -> None:
    """Raise SettingsError with librdkafka's own words if it refuses one of these properties.

    Raises TokenFailedError if a token of the user cannot be fetched within `timeout_s` seconds, and MissingFeatureError
    if librdkafka is built without what the properties need.
    """
    open_consumer(Consumer, client, _CONSUMER_PROPERTIES, token_timeout_s=timeout_s).close()


def is_retriable(error: KafkaError) -> bool:
    """Return whether the same request may succeed if it is sent again soon."""
    # An unknown topic may also have been deleted. The next request for its id shows that.
    return error.code() in _RETRIABLE_CODES or error_code(error.code()).retriable


def source_error(error: KafkaError, client: ClientProperties) -> SourceError:
    """Return the error of a broker or of librdkafka as one sentence, UnreachableError if a retry may succeed."""
    reason = _describe_refusal(error, client) or describe_error(error, client)
    error_class = UnreachableError if is_retriable(error) else SourceError
    return error_class(f"__consumer_offsets cannot be read from {_format_addresses(client)}: {reason}")


def _describe_refusal(error: KafkaError, client: ClientProperties) -> str | None:
    is_token = client.get("sasl.mechanism") == OAUTHBEARER and error.code() in CREDENTIAL_CODES
    return _REFUSED_BEARER if is_token else _REFUSALS.get(error.code())


def _format_addresses(client: ClientProperties) -> str:
    return client.get(_SERVERS, "no address")

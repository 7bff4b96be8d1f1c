"""Requests to the brokers about `__consumer_offsets`, and their errors as sentences that hold no secret."""

from __future__ import annotations

import re
import socket
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
from kafka_groups.errors import SettingsError, SourceError, UnreachableError
from kafka_groups.pipeline.facts.decode import partition_of
from kafka_groups.pipeline.facts.source.plan import Log
from kafka_groups.pipeline.tables import OFFSETS_TOPIC
from kafka_groups.protocol.errors import error_code
from kafka_groups.settings.librdkafka import ClientProperties

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

_READING: Final[Mapping[str, Any]] = {
    "isolation.level": "read_committed",
    # Bounds what waits in memory, and what is fetched beyond a range's end for nothing.
    "queued.max.messages.kbytes": 8_192,
    "fetch.message.max.bytes": 2 * 2**20,
    "fetch.max.bytes": 8 * 2**20,
    # At the end of a partition the broker is to say so at once.
    "fetch.wait.max.ms": 10,
    "fetch.queue.backoff.ms": 5,
}
_POLL_S: Final = 0.01
_LATE: Final = frozenset({KafkaError._TIMED_OUT, KafkaError._TIMED_OUT_QUEUE})
# librdkafka's own errors that pass by themselves: it goes on after these, and says them again and again.
_PASSING: Final = frozenset(
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
_NOT_FOUND: Final = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC})
_CREDENTIALS: Final = (
    "the brokers refused the credentials; check sasl.mechanism, sasl.username and sasl.password, or the certificate"
)
_REFUSED: Final = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: (
        "not allowed: this needs READ on that topic; allow it, or use `kafka-groups pipeline sample`, which does not "
        "need it: build derives lag and verdicts from samples"
    ),
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "not allowed: this needs DESCRIBE on the cluster; allow it",
    **dict.fromkeys(CREDENTIAL_CODES, _CREDENTIALS),
}

_LATEST: Final = OffsetSpec.latest()
_NO_ID: Final = "A" * 22  # as a broker without topic ids returns them
_FOR_URLS: Final = str.maketrans("+/", "-_")
_ADDRESS: Final = re.compile(r"(?:\w+://)?(?:\[(?P<v6>[^\]]+)\]|(?P<host>[^:/\[\]]+))(?::(?P<port>[0-9]+))?")
_PORT: Final = 9092  # librdkafka's, where an address names none
_LONGEST_TRY_S: Final = 5.0


class Topic(NamedTuple):
    """The topic: its id, None where brokers return none (before 2.8), and its partitions."""

    id: str | None
    partitions: list[int]


class Brokers:
    """Requests to a cluster about the topic; each fails with SourceError, at the latest after the timeout."""

    def __init__(self, client: ClientProperties, timeout_s: float) -> None:
        """Connect lazily with these properties of librdkafka."""
        self._client = dict(client)
        self._timeout_s = timeout_s
        self._said: KafkaError | None = None
        self._admin = new_admin(client, self._listen)

    def cluster(self) -> tuple[str, int]:
        """Return the cluster's id and its number of brokers; does not wait where nobody listens."""
        if why := why_unreachable(self._client.get("bootstrap.servers", ""), self._timeout_s):
            msg = f"cannot connect to {_where(self._client)}: {why}"
            raise UnreachableError(msg)
        found = self._answer(self._admin.describe_cluster(request_timeout=self._timeout_s))
        return str(found.cluster_id), len(found.nodes)

    def topic(self) -> Topic:
        """Return the topic as it is now; without an id and partitions if no group has ever been on the cluster."""
        responses = self._admin.describe_topics(TopicCollection([OFFSETS_TOPIC]), request_timeout=self._timeout_s)
        described = self._answer(responses[OFFSETS_TOPIC], absent=_NOT_FOUND)
        if described is None:
            return Topic(None, [])
        # Kafka writes ids for URLs, librdkafka does not.
        topic_id = str(described.topic_id).translate(_FOR_URLS)
        return Topic(None if topic_id == _NO_ID else topic_id, sorted(each.id for each in described.partitions))

    def earliest(self, partitions: Sequence[int]) -> dict[int, int]:
        """Return the first offset of each partition that can still be read."""
        return {number: found.offset for number, found in self._listed(partitions, OffsetSpec.earliest()).items()}

    def latest(self, partitions: Sequence[int], *, is_stable: bool = True) -> dict[int, int]:
        """Return the last stable offsets, where committed records end; without `is_stable`, the log end offsets."""
        return {number: found.offset for number, found in self._listed(partitions, is_stable=is_stable).items()}

    def log(self, group: str | None = None) -> Log:
        """Return the topic with the offsets of `latest`, or only the partition that has the records of the group."""
        topic_id, partitions = self.topic()
        if group is not None and partitions:
            partitions = [partition_of(group, len(partitions))]
        found = self._listed(partitions)
        epochs = {number: offset.leader_epoch for number, offset in found.items() if offset.leader_epoch is not None}
        return Log(topic_id, {number: offset.offset for number, offset in found.items()}, epochs)

    def _listed(
        self, partitions: Sequence[int], spec: OffsetSpec = _LATEST, *, is_stable: bool = True
    ) -> dict[int, Any]:
        if not partitions:
            return {}
        responses = self._admin.list_offsets(
            {TopicPartition(OFFSETS_TOPIC, partition): spec for partition in partitions},
            isolation_level=IsolationLevel.READ_COMMITTED if is_stable else IsolationLevel.READ_UNCOMMITTED,
            request_timeout=self._timeout_s,
        )
        return {found.partition: self._answer(response) for found, response in responses.items()}

    def _answer(self, response: Future[Any], absent: frozenset[int] = frozenset()) -> Any:
        """Return the response, None for an error of `absent`; what librdkafka retries in vain is not waited for."""
        self._said = None
        until = time.monotonic() + self._timeout_s + 1
        while not response.done() and time.monotonic() < until:
            self._admin.poll(_POLL_S)
            if self._said is not None and self._said.code() in _REFUSED:
                raise source_error(self._said, self._client)
        try:
            return response.result(0)
        except KafkaException as error:
            if error.args[0].code() in absent:
                return None
            if error.args[0].code() not in _LATE:
                raise source_error(error.args[0], self._client) from None
        except TimeoutError:
            pass
        raise self._too_late()

    def _too_late(self) -> SourceError:
        why = f": {describe_error(self._said, self._client)}" if self._said is not None else ""
        return UnreachableError(f"no broker of {_where(self._client)} responded within {self._timeout_s:g} s{why}")

    def _listen(self, error: KafkaError) -> None:
        """Note what librdkafka says beside the responses: a refusal counts most, else its first words with a reason."""
        # _ALL_BROKERS_DOWN follows what says which and why.
        if self._said is None or self._said.code() == KafkaError._ALL_BROKERS_DOWN or error.code() in _REFUSED:
            self._said = error


def new_admin(client: ClientProperties, listen: ErrorCallback = ignore_error) -> AdminClient:
    """Return an Admin client; `listen` receives errors of the whole client. SourceError: a property is refused."""
    try:
        return open_admin_client(client, on_error=listen)
    except SettingsError as error:
        raise SourceError(str(error)) from None


def new_consumer(client: ClientProperties, properties: Mapping[str, Any] | None = None) -> Consumer:
    """Return a consumer of the topic; `properties` replace its own. SourceError: a property is refused."""
    try:
        return open_consumer(Consumer, client, {**_READING, **(properties or {})})
    except SettingsError as error:
        raise SourceError(str(error)) from None


def check_client(client: ClientProperties) -> None:
    """Raise SettingsError with librdkafka's own words if it refuses one of these properties."""
    open_consumer(Consumer, client, _READING).close()


def is_passing(error: KafkaError) -> bool:
    """Return whether the same request may succeed soon."""
    # A topic that is unknown may have been deleted, too: the next look at the brokers compares its id.
    return error.code() in _PASSING or error_code(error.code()).retriable


def source_error(error: KafkaError, client: ClientProperties) -> SourceError:
    """Return what a broker or librdkafka said, as one sentence."""
    said = _REFUSED.get(error.code()) or describe_error(error, client)
    kind = UnreachableError if is_passing(error) else SourceError
    return kind(f"__consumer_offsets cannot be read from {_where(client)}: {said}")


def _where(client: ClientProperties) -> str:
    return client.get("bootstrap.servers", "no address")


def why_unreachable(servers: str, timeout_s: float) -> str | None:
    """Return why none of these addresses can be reached; None if one can, or one does not respond soon."""
    reasons = []
    for address in filter(None, map(str.strip, servers.split(","))):
        if (found := _ADDRESS.fullmatch(address)) is None:
            return None
        host, port = found["v6"] or found["host"], int(found["port"] or _PORT)
        try:
            socket.create_connection((host, port), timeout=min(timeout_s, _LONGEST_TRY_S)).close()
        except (TimeoutError, OverflowError, UnicodeError):
            return None
        except socket.gaierror as error:
            # A resolver that is away says nothing of the name.
            away = "cannot be resolved now" if error.errno == socket.EAI_AGAIN else "has no address"
            reasons.append(f"the host name {host!r} {away}")
        except OSError as error:
            reasons.append(error.strerror or str(error))
        else:
            return None
    return "; ".join(dict.fromkeys(reasons)) or None

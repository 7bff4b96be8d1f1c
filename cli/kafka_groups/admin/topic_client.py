"""The operations of the Admin client on topics and partitions, which only read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kafka_groups.admin import handlers
from kafka_groups.admin.api import IsolationLevel, OffsetSpec, Timeout, Topic, to_names
from kafka_groups.admin.cluster_client import ClusterClient
from kafka_groups.admin.lookup import PartitionLeaderStrategy, store_locations
from kafka_groups.admin.network.connection_pool import ANY_BROKER
from kafka_groups.admin.producer_state import ProducerState
from kafka_groups.errors import UnsupportedVersionError
from kafka_groups.model import Results, TopicPartition


class TopicClient(ClusterClient):
    """A client that reads log offsets of partitions, and topics with their configuration."""

    def list_offsets(
        self,
        partitions: Iterable[tuple[str, int]],
        *,
        spec: OffsetSpec = OffsetSpec.latest(),
        isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        timeout: Timeout | None = None,
    ) -> Results[TopicPartition, int | None]:
        """List the log offset of each partition that `spec` specifies; None if no record is at or after its time.

        With READ_COMMITTED the latest offset is the last stable offset, where a consumer of that level stops.
        Leaders are looked up for all topics in one request.
        """
        deadline = self._connect(timeout)
        keys = [TopicPartition(*partition) for partition in partitions]
        handler = handlers.ListOffsetsHandler(spec, isolation_level)
        lookup = PartitionLeaderStrategy[TopicPartition]()
        driver = self._request("listing log offsets", handler, keys, self._known.leaders, deadline, lookup=lookup)
        store_locations(self._known.leaders, driver.locations, driver.failed)
        self._known.store_topics(lookup.leaders, self._clock(), requested=set(keys))
        return driver.results()

    def describe_producers(
        self, partitions: Iterable[tuple[str, int]], *, timeout: Timeout | None = None
    ) -> Results[TopicPartition, tuple[ProducerState, ...]]:
        """Describe the producers that the leader of each partition knows, by producer id, with their open transactions.

        Needs READ on the topics, and Kafka 2.8. A leader forgets idle producers (producer.id.expiration.ms).
        """
        deadline = self._connect(timeout)
        keys = [TopicPartition(*partition) for partition in partitions]
        handler = handlers.DescribeProducersHandler()
        lookup = PartitionLeaderStrategy[TopicPartition]()
        driver = self._request("describing producers", handler, keys, self._known.leaders, deadline, lookup=lookup)
        store_locations(self._known.leaders, driver.locations, driver.failed)
        self._known.store_topics(lookup.leaders, self._clock(), requested=set(keys))
        return driver.results()

    def describe_topics(
        self, topics: Iterable[str], *, authorized_operations: bool = False, timeout: Timeout | None = None
    ) -> Results[str, Topic]:
        """Describe topics: id and partitions. A topic that does not exist fails; none is created.

        With `authorized_operations` also what the user may do with them (KIP-430).
        """
        deadline = self._connect(timeout)
        known = dict.fromkeys(to_names(topics), ANY_BROKER)
        handler = handlers.DescribeTopicsHandler(authorized_operations=authorized_operations)
        results = self._request("reading topics", handler, known, known, deadline).results()
        self._known.store_topics(handler.leaders, self._clock())
        return results

    def describe_topic_configs(
        self, topics: Iterable[str], names: Sequence[str], *, timeout: Timeout | None = None
    ) -> Results[str, Mapping[str, str | None]]:
        """Return the values that the topics have for these names of the configuration, such as retention.ms.

        Needs DESCRIBE_CONFIGS on the topics.
        """
        deadline = self._connect(timeout)
        known = dict.fromkeys(to_names(topics), ANY_BROKER)
        handler = handlers.DescribeTopicConfigsHandler(names)
        return self._request("reading configurations of topics", handler, known, known, deadline).results()

    def list_partitions(
        self, topics: Iterable[str], *, max_age_s: float | None = None, timeout: Timeout | None = None
    ) -> Results[str, tuple[int, ...]]:
        """List the partitions of each topic, ascending. A topic that does not exist fails; none is created.

        With `max_age_s` only those topics are requested that no response has contained within this time.
        """
        recent = {} if max_age_s is None else self._known.partitions_since(self._clock() - max_age_s)
        names = to_names(topics)
        read = self.describe_topics([name for name in names if name not in recent], timeout=timeout)
        found = {**recent, **{name: topic.partitions for name, topic in read.succeeded.items()}}
        return Results(succeeded={name: found[name] for name in names if name in found}, failed=read.failed)

    def offsets_for_times(
        self, times: Iterable[tuple[str, int, int]], *, timeout: Timeout | None = None
    ) -> Results[handlers.PartitionTime, handlers.OffsetAndTimestamp | None]:
        """Return the first record at or after each time; each is (topic, partition, milliseconds since 1970).

        None if there is no such record. A request may name a partition only once (brokers refuse it otherwise, with
        INVALID_REQUEST), so a leader gets as many requests as one of its partitions has times.
        """
        deadline = self._connect(timeout)
        keys = [handlers.PartitionTime(*time) for time in times]
        known = {key: self._known.leaders[TopicPartition(*key[:2])] for key in keys if key[:2] in self._known.leaders}
        handler = handlers.OffsetsForTimesHandler()
        lookup = PartitionLeaderStrategy[handlers.PartitionTime]()
        driver = self._request("looking up times", handler, keys, known, deadline, lookup=lookup)
        located = {TopicPartition(*key[:2]): leader for key, leader in driver.locations.items()}
        store_locations(
            self._known.leaders, located, {TopicPartition(*key[:2]): why for key, why in driver.failed.items()}
        )
        return driver.results()

    def list_topics(self, *, timeout: Timeout | None = None) -> Results[str, Topic]:
        """List all topics that the user may see, internal ones included. Raises AdminError if the request fails."""
        deadline = self._connect(timeout)
        known = {ANY_BROKER: ANY_BROKER}
        driver = self._request("listing topics", handlers.ListTopicsHandler(), known, known, deadline)
        listing = driver.results().all()[ANY_BROKER]
        self._known.store_topics(listing.leaders, self._clock())
        return Results(succeeded=listing.topics, failed=listing.failed)

    def describe_cluster(self, *, timeout: Timeout | None = None) -> handlers.ClusterDescription:
        """Return the id of the cluster, and what the user may do with it (KIP-430). AdminError if the request fails."""
        deadline = self._connect(timeout)
        known = {ANY_BROKER: ANY_BROKER}
        results = self._request("describing the cluster", handlers.DescribeClusterHandler(), known, known, deadline)
        failure = results.failed.get(ANY_BROKER)
        if failure is not None and failure.name == UnsupportedVersionError.name:
            handler = handlers.ClusterMetadataHandler()
            results = self._request("describing the cluster", handler, known, known, deadline)
        return results.results().all()[ANY_BROKER]

    def describe_features(self, *, timeout: Timeout | None = None) -> Results[int, handlers.Features]:
        """Return the features that each broker supports and that the cluster uses, by broker id."""
        deadline = self._connect(timeout)
        known = {broker: broker for broker in sorted(self._pool.brokers)}
        return self._request("reading versions", handlers.DescribeFeaturesHandler(), known, known, deadline).results()

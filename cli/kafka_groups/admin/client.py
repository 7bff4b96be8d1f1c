"""GroupAdmin: the Admin client for groups. Every operation takes many groups and returns a result for each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from kafka_groups.admin import handlers
from kafka_groups.admin.api import Deadline, IsolationLevel, OffsetSpec, Timeout, Topic, to_names
from kafka_groups.admin.change_client import ChangeClient
from kafka_groups.admin.driver import ApiDriver
from kafka_groups.admin.lookup import CoordinatorStrategy, PartitionLeaderStrategy, store_locations
from kafka_groups.admin.network.connection_pool import ANY_BROKER
from kafka_groups.model import (
    GroupDescription,
    GroupListing,
    GroupOffsets,
    Results,
    TopicPartition,
)


class GroupAdmin(ChangeClient):
    """A client of one cluster, for reading and changing its groups. It joins no group.

    Four methods change groups: they alter or delete committed offsets, delete groups, and remove members. If the
    response to a change is lost, the change is not sent again, and its failure is OUTCOME_UNKNOWN. All others change
    nothing on the cluster.

    `settings` are properties by Java's or librdkafka's names, as on the command line; one that has no effect is
    refused with a SettingsError. The environment, profiles and config files are not read. The client connects at the
    first call; use it as a context manager, or `close` it. Each call takes many items, and a `timeout`: seconds, or a
    Deadline that several calls share; the default is 30 s. A call that returns Results raises an AdminError only
    if nothing could be requested at all; failures of single groups, partitions and brokers are in its Results.

        with GroupAdmin({"bootstrap.servers": "localhost:9092"}) as admin:
            results = admin.describe_consumer_groups(["billing", "no-such-group"], timeout=10)
            for group, description in results.succeeded.items():
                print(group, description.state, description.member_count)
            for group, failure in results.failed.items():
                print(group, failure.name)

    Calls block, and a client is for one thread at a time. Connections, coordinators and leaders are kept for later
    calls: groups that were just listed need no lookup, because brokers list what they coordinate. `progress` receives
    the name of the operation, the number of items that are completed, and of all.
    """

    def list_groups(
        self,
        *,
        states: Collection[str] | None = None,
        types: Collection[str] | None = None,
        timeout: Timeout | None = None,
    ) -> Results[str, GroupListing]:
        """List groups of every type, by id; with filters only those in one of the states and of one of the types.

        The brokers apply the filters (ListGroups 4 and 5). `failed` is keyed by broker id.
        Raises ValueError for an empty filter (KIP-518), or a name that is no state or type.
        """
        handler = handlers.ListGroupsHandler(states=states, types=types)
        deadline = self._connect(timeout)
        self._refresh(deadline)
        brokers = sorted(self._pool.brokers)
        driver = self._request("listing groups", handler, brokers, {broker: broker for broker in brokers}, deadline)
        listings = handlers.merge_listings([group for groups in driver.completed.values() for group in groups])
        self._known.listed = listings
        return Results(succeeded=listings, failed=driver.failed)

    def describe_consumer_groups(
        self, groups: Iterable[str], *, timeout: Timeout | None = None
    ) -> Results[str, GroupDescription]:
        """Describe classic, simple and KIP-848 groups: state and members.

        A group whose type the client does not know yet is requested by the APIs of all types at once; one whose type
        has changed since (an online upgrade, or back) by the others. An absent, share or streams group fails with
        GROUP_ID_NOT_FOUND, code 69, and a classic one that is not of consumers with code 23.
        """
        fetch = handlers.ListConsumerGroupOffsetsHandler({})
        return self._describe("describing groups", groups, fetch, (), self._connect(timeout))[0]

    def describe_with_offsets(
        self,
        described: Iterable[str],
        offsets: Mapping[str, Sequence[tuple[str, int]] | None],
        *,
        require_stable: bool = False,
        timeout: Timeout | None = None,
    ) -> tuple[Results[str, GroupDescription], Results[str, GroupOffsets]]:
        """Describe the groups in `described` and list the committed offsets of those in `offsets`.

        Both take one round of requests. The results are those of `describe_consumer_groups` and
        `list_consumer_group_offsets`, except for `require_stable`: nothing waits for open transactions. A partition on
        which one has a commit is in `failed` of the offsets, with UNSTABLE_OFFSET_COMMIT. Brokers before 2.5 are read
        without it, as `is_stable` of the offsets shows.
        """
        fetch = handlers.ListConsumerGroupOffsetsHandler(
            _to_partitions(offsets), require_stable=require_stable, waits=False
        )
        return self._describe("reading groups", described, fetch, offsets, self._connect(timeout))

    def list_consumer_group_offsets(
        self,
        groups: Mapping[str, Sequence[tuple[str, int]] | None],
        *,
        require_stable: bool = False,
        timeout: Timeout | None = None,
    ) -> Results[str, GroupOffsets]:
        """List the committed offsets of each group: of the partitions that it is mapped to, of all if None (KIP-709).

        A partition without a commit is None. A group that does not exist has no commits; brokers return the same for
        a group that never committed. With `require_stable` the call waits for open transactions that commit
        offsets; what is still unstable at the deadline is in `failed` of the offsets, with UNSTABLE_OFFSET_COMMIT.
        """
        deadline = self._connect(timeout)
        self._known.take_listing()
        requested = _to_partitions(groups)
        handler = handlers.ListConsumerGroupOffsetsHandler(requested, require_stable=require_stable)
        known = self._known.coordinators
        lookup = CoordinatorStrategy()
        driver = self._request("fetching offsets", handler, requested, known, deadline, lookup=lookup)
        store_locations(self._known.coordinators, driver.locations, driver.failed)
        return handler.with_unstable(driver.results())

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

    def describe_topics(self, topics: Iterable[str], *, timeout: Timeout | None = None) -> Results[str, Topic]:
        """Describe topics: id and partitions. A topic that does not exist fails; none is created."""
        deadline = self._connect(timeout)
        known = dict.fromkeys(to_names(topics), ANY_BROKER)
        handler = handlers.DescribeTopicsHandler()
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

    def describe_features(self, *, timeout: Timeout | None = None) -> Results[int, handlers.Features]:
        """Return the features that each broker supports and that the cluster uses, by broker id."""
        deadline = self._connect(timeout)
        known = {broker: broker for broker in sorted(self._pool.brokers)}
        return self._request("reading versions", handlers.DescribeFeaturesHandler(), known, known, deadline).results()

    def _describe(
        self,
        operation: str,
        described: Iterable[str],
        fetch_handler: handlers.ListConsumerGroupOffsetsHandler,
        fetched_groups: Iterable[str],
        deadline: Deadline,
    ) -> tuple[Results[str, GroupDescription], Results[str, GroupOffsets]]:
        from kafka_groups.admin.describer import GroupDescriber

        self._known.take_listing()
        groups = to_names(described)
        fetched = to_names(fetched_groups)
        unlocated = self._locate(dict.fromkeys((*groups, *fetched)), deadline)
        located = (group for group in groups if group not in unlocated)
        describer = GroupDescriber(located, types=self._known.types, coordinators=self._known.coordinators)
        fetch: ApiDriver[str, GroupOffsets] = ApiDriver(
            (group for group in fetched if group not in unlocated),
            handler=fetch_handler,
            lookup=CoordinatorStrategy(),
            known=self._known.coordinators,
        )
        self._run(operation, [*describer.drivers(), fetch], deadline, follow_up=describer.follow_up)
        descriptions = describer.results(self._pool.brokers).with_failed(groups, unlocated)
        failed = {**descriptions.failed, **fetch.failed}
        store_locations(self._known.coordinators, {**describer.locations(), **fetch.locations}, failed)
        self._known.types.update({group: found.type for group, found in descriptions.succeeded.items()})
        return descriptions, fetch.results().with_failed(fetched, unlocated)


def _to_partitions(
    groups: Mapping[str, Sequence[tuple[str, int]] | None],
) -> dict[str, list[TopicPartition] | None]:
    return {
        group: None if partitions is None else [TopicPartition(*partition) for partition in partitions]
        for group, partitions in groups.items()
    }

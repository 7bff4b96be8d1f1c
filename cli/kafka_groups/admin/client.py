"""GroupAdmin: the Admin client for groups. Every operation takes many groups and returns a result for each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from kafka_groups.admin import handlers
from kafka_groups.admin.api import Deadline, Timeout, to_names
from kafka_groups.admin.api_handler import STATE_AND_MEMBERS, ApiHandler, DescribeOptions
from kafka_groups.admin.change_client import ChangeClient
from kafka_groups.admin.lookup import CoordinatorStrategy, store_locations
from kafka_groups.kinds import CLASSIC_CONSUMER, CONSUMER, SHARE, SIMPLE, STREAMS, Kind
from kafka_groups.model import (
    GroupDescription,
    GroupListing,
    GroupOffsets,
    Results,
    TopicPartition,
)


class GroupAdmin(ChangeClient):
    """A client of one cluster, for reading and changing its groups. It joins no group.

    Six methods change groups: they alter or delete committed offsets, or the start offsets of share groups, delete
    groups, and remove members. If the response to a change is lost, the change is not sent again, and its failure is
    OUTCOME_UNKNOWN. All others change nothing on the cluster.

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

    def describe_groups(
        self,
        groups: Iterable[str],
        *,
        topology: bool = False,
        authorized_operations: bool = False,
        timeout: Timeout | None = None,
    ) -> Results[str, GroupDescription]:
        """Describe groups of every kind that can be described: state and members.

        A group whose type the client does not know yet is requested as a classic and as a KIP-848 group at once, and if
        it is neither, as a share and as a streams group; one whose type has changed since (an online upgrade, or back)
        as the others. An absent group fails with GROUP_ID_NOT_FOUND, code 69, and a classic one that is neither of
        consumers nor of Connect workers with code 23. `topology` is that of `describe_streams_groups`. With
        `authorized_operations` a description has what the user may do with the group (KIP-430).
        """
        options = DescribeOptions(topology, authorized_operations)
        return self._describe_kinds(None, groups, timeout, options)

    def describe_consumer_groups(
        self, groups: Iterable[str], *, timeout: Timeout | None = None
    ) -> Results[str, GroupDescription]:
        """Describe classic, simple and KIP-848 groups: state and members.

        An absent, share or streams group fails with GROUP_ID_NOT_FOUND, code 69, and a classic one that is not of
        consumers with code 23.
        """
        return self._describe_kinds((CLASSIC_CONSUMER, SIMPLE, CONSUMER), groups, timeout)

    def describe_share_groups(
        self, groups: Iterable[str], *, timeout: Timeout | None = None
    ) -> Results[str, GroupDescription]:
        """Describe share groups: state and members (KIP-932). A group of another kind fails with GROUP_ID_NOT_FOUND."""
        return self._describe_kinds((SHARE,), groups, timeout)

    def describe_streams_groups(
        self, groups: Iterable[str], *, topology: bool = False, timeout: Timeout | None = None
    ) -> Results[str, GroupDescription]:
        """Describe streams groups: state, topology, and members with their tasks (KIP-1071).

        With `topology` also the nodes of the topology (KIP-1331, Kafka 4.4); `Topology.description` says whether the
        broker has them. A group of another kind fails with GROUP_ID_NOT_FOUND.
        """
        return self._describe_kinds((STREAMS,), groups, timeout, DescribeOptions(topology))

    def describe_with_offsets(
        self,
        described: Iterable[str],
        offsets: Mapping[str, Sequence[tuple[str, int]] | None],
        *,
        require_stable: bool = False,
        topology: bool = False,
        authorized_operations: bool = False,
        timeout: Timeout | None = None,
    ) -> tuple[Results[str, GroupDescription], Results[str, GroupOffsets]]:
        """Describe the groups in `described` and list the offsets of those in `offsets`.

        Both take one round of requests. The results are those of `describe_groups` and `list_group_offsets`, except for
        `require_stable`: nothing waits for open transactions. A partition on which one has a commit is in `failed` of
        the offsets, with UNSTABLE_OFFSET_COMMIT. Brokers before 2.5 are read without it, as `is_stable` of the offsets
        shows.
        """
        deadline = self._connect(timeout)
        requested = _to_partitions(offsets)
        fetch = handlers.ListConsumerGroupOffsetsHandler(requested, require_stable=require_stable, waits=False)
        options = DescribeOptions(topology, authorized_operations)
        return self._describe("reading groups", described, deadline, options=options, fetch=fetch, requested=requested)

    def list_group_offsets(
        self,
        groups: Mapping[str, Sequence[tuple[str, int]] | None],
        *,
        require_stable: bool = False,
        timeout: Timeout | None = None,
    ) -> Results[str, GroupOffsets]:
        """List the offsets of groups of every kind: committed offsets, and the start offsets of share groups.

        They are those of `list_consumer_group_offsets` and `list_share_group_offsets`.
        """
        from kafka_groups.admin.offset_lister import OffsetLister

        deadline = self._connect(timeout)
        self._known.take_listing()
        requested = _to_partitions(groups)
        fetch = handlers.ListConsumerGroupOffsetsHandler(requested, require_stable=require_stable)
        types = self._known.types
        coordinators = self._known.coordinators
        lister = OffsetLister(fetch, requested, requested, types=types, coordinators=coordinators)
        self._run("fetching offsets", lister.drivers(), deadline, follow_up=lambda: lister.follow_up(None))
        results = lister.results(types)
        store_locations(self._known.coordinators, lister.locations(), results.failed)
        return results

    def list_consumer_group_offsets(
        self,
        groups: Mapping[str, Sequence[tuple[str, int]] | None],
        *,
        require_stable: bool = False,
        timeout: Timeout | None = None,
    ) -> Results[str, GroupOffsets]:
        """List the committed offsets of each group: of the partitions that it is mapped to, of all if None (KIP-709).

        A partition without a commit is None. A group that does not exist has no commits; brokers return the same for
        a group that never committed. So they do for a share group. With `require_stable` the call waits
        for open transactions that commit offsets; what is still unstable at the deadline is in `failed` of the offsets,
        with UNSTABLE_OFFSET_COMMIT.
        """
        requested = _to_partitions(groups)
        handler = handlers.ListConsumerGroupOffsetsHandler(requested, require_stable=require_stable)
        return handler.with_unstable(self._list_group_offsets(handler, requested, timeout))

    def list_share_group_offsets(
        self, groups: Mapping[str, Sequence[tuple[str, int]] | None], *, timeout: Timeout | None = None
    ) -> Results[str, GroupOffsets]:
        """List the start offsets of each share group: of the partitions that it is mapped to, of all if None (KIP-932).

        `lags` has the records that are not finally delivered, as the coordinator computes them (Kafka 4.2); a partition
        without a known lag is absent. A start offset that the broker does not know is None. A group that does not exist
        has no offsets.
        """
        requested = _to_partitions(groups)
        return self._list_group_offsets(handlers.ListShareGroupOffsetsHandler(requested), requested, timeout)

    def _list_group_offsets(
        self, handler: ApiHandler[str, GroupOffsets], groups: Iterable[str], timeout: Timeout | None
    ) -> Results[str, GroupOffsets]:
        deadline = self._connect(timeout)
        self._known.take_listing()
        known = self._known.coordinators
        lookup = CoordinatorStrategy()
        driver = self._request("fetching offsets", handler, groups, known, deadline, lookup=lookup)
        store_locations(self._known.coordinators, driver.locations, driver.failed)
        return driver.results()

    def _describe_kinds(
        self,
        kinds: Collection[Kind] | None,
        groups: Iterable[str],
        timeout: Timeout | None,
        options: DescribeOptions = STATE_AND_MEMBERS,
    ) -> Results[str, GroupDescription]:
        deadline = self._connect(timeout)
        descriptions, _ = self._describe("describing groups", groups, deadline, kinds=kinds, options=options)
        return descriptions

    def _describe(
        self,
        operation: str,
        described: Iterable[str],
        deadline: Deadline,
        *,
        kinds: Collection[Kind] | None = None,
        options: DescribeOptions = STATE_AND_MEMBERS,
        fetch: handlers.ListConsumerGroupOffsetsHandler | None = None,
        requested: Mapping[str, Sequence[TopicPartition] | None] = MappingProxyType({}),
    ) -> tuple[Results[str, GroupDescription], Results[str, GroupOffsets]]:
        from kafka_groups.admin.describer import GroupDescriber
        from kafka_groups.admin.offset_lister import OffsetLister

        self._known.take_listing()
        groups = to_names(described)
        fetched = to_names(requested)
        unlocated = self._locate(dict.fromkeys((*groups, *fetched)), deadline)
        types = self._known.types
        coordinators = self._known.coordinators
        located = (group for group in groups if group not in unlocated)
        describer = GroupDescriber(located, kinds=kinds, types=types, coordinators=coordinators, options=options)
        to_fetch = (group for group in fetched if group not in unlocated)
        fetch = fetch or handlers.ListConsumerGroupOffsetsHandler({})
        lister = OffsetLister(fetch, to_fetch, requested, types=types, coordinators=coordinators)
        self._run(
            operation,
            [*describer.drivers(), *lister.drivers()],
            deadline,
            follow_up=lambda: [*describer.follow_up(), *lister.follow_up(describer.types())],
        )
        descriptions = describer.results(self._pool.brokers).with_failed(groups, unlocated)
        types.update({group: found.type for group, found in descriptions.succeeded.items()})
        offsets = lister.results(types)
        failed = {**descriptions.failed, **offsets.failed}
        store_locations(self._known.coordinators, {**describer.locations(), **lister.locations()}, failed)
        return descriptions, offsets.with_failed(fetched, unlocated)


def _to_partitions(
    groups: Mapping[str, Sequence[tuple[str, int]] | None],
) -> dict[str, list[TopicPartition] | None]:
    return {
        group: None if partitions is None else [TopicPartition(*partition) for partition in partitions]
        for group, partitions in groups.items()
    }

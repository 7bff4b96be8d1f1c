"""GroupAdmin: every handler about groups, asked of many groups at once and answered for each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from kafka_groups.admin.describing import merge_descriptions, not_found, with_moved
from kafka_groups.admin.driver import ApiDriver, ApiHandler
from kafka_groups.admin.handlers.describe_features import DescribeFeaturesHandler, Features
from kafka_groups.admin.handlers.describe_groups import DescribeClassicGroupsHandler, DescribeConsumerGroupsHandler
from kafka_groups.admin.handlers.list_consumer_group_offsets import ListConsumerGroupOffsetsHandler
from kafka_groups.admin.handlers.list_groups import ListGroupsHandler
from kafka_groups.admin.handlers.list_offsets import ListOffsetsHandler
from kafka_groups.admin.handlers.list_partitions import ListPartitionsHandler
from kafka_groups.admin.handlers.list_topics import ListTopicsHandler, Topic
from kafka_groups.admin.handlers.offsets_for_times import OffsetsForTimesHandler, PartitionTime, Point
from kafka_groups.admin.lookup import CoordinatorStrategy, PartitionLeaderStrategy
from kafka_groups.admin.network.connection_pool import ANY_BROKER
from kafka_groups.admin.offsets import GroupOffsets
from kafka_groups.admin.reaching import Reaching
from kafka_groups.errors import TimeoutExceededError
from kafka_groups.model import (
    GROUP_STATES,
    GROUP_TYPES,
    Failure,
    GroupDescription,
    GroupListing,
    Results,
    TopicPartition,
    spell,
)
from kafka_groups.protocol.messages.list_offsets import LATEST

A = TypeVar("A")


class GroupAdmin(Reaching):
    """A cluster, reached when first asked. Use it as a context manager, or `close` it.

    Every call has `settings.timeout_s` to answer, or what its `timeout_s` says; with
    `one_deadline` all calls together have `settings.timeout_s` from the first one on, and `share` says
    how much of what is left a call may use, for a broker that is silent in one handler must not keep
    the next one from being asked. A call raises
    an AdminError only if the cluster cannot be reached at all; what fails for one group, partition
    or broker is in its Results. What a call learns of coordinators and types of groups serves the
    next: groups that were just listed need no look-up, because the broker that lists a group
    coordinates it. `progress` is told what is being asked, how many items are settled, of how many.
    """

    def list_groups(
        self,
        *,
        states: Collection[str] | None = None,
        types: Collection[str] | None = None,
        timeout_s: float | None = None,
        share: float = 1.0,
    ) -> Results[str, GroupListing]:
        """Groups of every kind, by id; only those in one of the states and of one of the types, if given.

        The filters are applied by the brokers (ListGroups 4 and 5). `failed` is keyed by broker id.
        ValueError: an empty set (KIP-518), or a name that is no state or type.
        """
        handler = ListGroupsHandler(
            states=_known(states, GROUP_STATES, "states"), types=_known(types, GROUP_TYPES, "types")
        )
        deadline = self._deadline(timeout_s, share)
        self._reach(deadline)
        self._look_around(deadline)
        brokers = sorted(self._pool.brokers)
        driver = self._ask("listing groups", handler, brokers, {broker: broker for broker in brokers}, deadline)
        listings = {group.group: group for broker in brokers for group in driver.completed.get(broker, ())}
        for listing in listings.values():
            self._coordinators[listing.group] = listing.coordinator
            self._types[listing.group] = listing.type
        return Results(succeeded=dict(sorted(listings.items())), failed=driver.failed)

    def describe_groups(
        self, groups: Iterable[str], *, timeout_s: float | None = None, share: float = 1.0
    ) -> Results[str, GroupDescription]:
        """State and members of classic, simple and KIP-848 groups.

        A group whose kind is not known is asked about in both ways at once; one that is no longer of the kind that it
        was (an online upgrade, or back) in the other way, too. A group that does not exist, or is of another kind,
        fails with GROUP_ID_NOT_FOUND.
        """
        deadline = self._deadline(timeout_s, share)
        self._reach(deadline)
        wanted = tuple(dict.fromkeys(groups))
        known, lost = self._locate(wanted, deadline)
        reachable = [group for group in wanted if group not in lost]
        consumer = [group for group in reachable if self._types.get(group) != "Classic"]
        classic = [group for group in reachable if self._types.get(group) != "Consumer"]
        drivers = self._describe(consumer, classic, known, deadline)
        # Those that were asked about in one way only, and are not there in that one.
        gone = [not_found(driver) - set(others) for driver, others in zip(drivers, (classic, consumer), strict=True)]
        answers = merge_descriptions(wanted, *drivers, lost, self._pool.brokers)
        if gone[0] or gone[1]:
            moved = self._describe(sorted(gone[1]), sorted(gone[0]), known, deadline)
            again = merge_descriptions(sorted(gone[0] | gone[1]), *moved, {}, self._pool.brokers)
            answers = with_moved(wanted, answers, again)
        self._types.update({group: description.type for group, description in answers.succeeded.items()})
        return answers

    def list_consumer_group_offsets(
        self,
        groups: Mapping[str, Sequence[tuple[str, int]] | None],
        *,
        require_stable: bool = False,
        timeout_s: float | None = None,
        share: float = 1.0,
    ) -> Results[str, GroupOffsets]:
        """What each group has committed: for the partitions that it is mapped to, or for all if to None (KIP-709).

        A partition without a commit is None. A group that does not exist has no commits, and is not
        told from one that never committed. With `require_stable`, offsets that an open transaction
        may still change are waited for; those that it still may at the deadline are in `refused`, with
        UNSTABLE_OFFSET_COMMIT.
        """
        deadline = self._deadline(timeout_s, share)
        self._reach(deadline)
        wanted = {
            group: None if partitions is None else [TopicPartition(*partition) for partition in partitions]
            for group, partitions in groups.items()
        }
        handler = ListConsumerGroupOffsetsHandler(wanted, require_stable=require_stable)
        driver = self._ask(
            "fetching offsets", handler, wanted, self._coordinators, deadline, lookup=CoordinatorStrategy()
        )
        self._coordinators.update(driver.locations)
        for group in driver.failed.keys() & handler.unstable.keys():
            # The deadline passed: what is stable is told, the rest refused with Kafka's own code.
            if driver.failed[group].name == TimeoutExceededError.name:
                del driver.failed[group]
                driver.completed[group] = handler.unstable[group]
        return driver.results()

    def list_offsets(
        self,
        partitions: Iterable[tuple[str, int]],
        *,
        at: int = LATEST,
        timeout_s: float | None = None,
        share: float = 1.0,
    ) -> Results[TopicPartition, int | None]:
        """The log offset of each partition: its end (LATEST), its start (EARLIEST), or the first at a time in ms.

        LAST_STABLE is where a consumer with `read_committed` has to stop: its end, or the first record of an open
        transaction. None where the log has no record at or after that time. Asked of the leaders, all topics at once.
        """
        deadline = self._deadline(timeout_s, share)
        self._reach(deadline)
        wanted = [TopicPartition(*partition) for partition in partitions]
        driver = self._ask(
            "listing log offsets",
            ListOffsetsHandler(at),
            wanted,
            self._leaders,
            deadline,
            lookup=PartitionLeaderStrategy(),
        )
        self._leaders.update(driver.locations)
        return driver.results()

    def list_partitions(
        self, topics: Iterable[str], *, timeout_s: float | None = None
    ) -> Results[str, tuple[int, ...]]:
        """The partitions of each topic, ascending. A topic that does not exist fails; none is created."""
        deadline = self._deadline(timeout_s)
        self._reach(deadline)
        names = tuple(dict.fromkeys(topics))
        known = dict.fromkeys(names, ANY_BROKER)
        return self._ask("reading topics", ListPartitionsHandler(), names, known, deadline).results()

    def offsets_for_times(
        self, times: Iterable[tuple[str, int, int]], *, timeout_s: float | None = None
    ) -> Results[PartitionTime, Point | None]:
        """The first record at or after a time, for each (topic, partition, milliseconds): its offset and its own time.

        None where there is none. A request may name a partition once (a broker refuses it otherwise, with
        INVALID_REQUEST), so there are as many requests to a leader as its most wanted partition has times.
        """
        deadline = self._deadline(timeout_s)
        self._reach(deadline)
        wanted = [PartitionTime(*time) for time in times]
        found = {key: self._leaders.get(TopicPartition(key.topic, key.partition)) for key in wanted}
        known = {key: leader for key, leader in found.items() if leader is not None}
        driver = self._ask(
            "looking up times",
            OffsetsForTimesHandler(),
            wanted,
            known,
            deadline,
            lookup=PartitionLeaderStrategy[PartitionTime](),
        )
        self._leaders.update((TopicPartition(*key[:2]), leader) for key, leader in driver.locations.items())
        return driver.results()

    def list_topics(self, *, timeout_s: float | None = None, share: float = 1.0) -> Results[str, Topic]:
        """All topics of the cluster that we may see, internal ones too; an AdminError if they cannot be listed."""
        deadline = self._deadline(timeout_s, share)
        self._reach(deadline)
        driver = self._ask("listing topics", ListTopicsHandler(), (ANY_BROKER,), {ANY_BROKER: ANY_BROKER}, deadline)
        listed = driver.results().all()[ANY_BROKER]
        self._leaders.update(listed.leaders)
        return Results(succeeded=listed.topics, failed=listed.failed)

    def describe_features(self, *, timeout_s: float | None = None) -> Results[int, Features]:
        """What each broker can do, and what the cluster agreed on, by the broker's id."""
        deadline = self._deadline(timeout_s)
        self._reach(deadline)
        brokers = sorted(self._pool.brokers)
        known = {broker: broker for broker in brokers}
        return self._ask("reading versions", DescribeFeaturesHandler(), brokers, known, deadline).results()

    def _locate(self, groups: Sequence[str], deadline: float) -> tuple[dict[str, int], Mapping[str, Failure]]:
        """The coordinators of these groups, in one look-up for those not yet known; and what failed on the way."""
        unknown = [group for group in groups if group not in self._coordinators]
        driver = self._ask(
            "finding coordinators", CoordinatorStrategy(), unknown, dict.fromkeys(unknown, ANY_BROKER), deadline
        )
        self._coordinators.update(driver.completed)
        return {group: self._coordinators[group] for group in groups if group in self._coordinators}, driver.failed

    def _describe(
        self, consumer: Iterable[str], classic: Iterable[str], known: Mapping[str, int], deadline: float
    ) -> tuple[ApiDriver[str, GroupDescription], ApiDriver[str, GroupDescription]]:
        drivers = (
            self._driver(DescribeConsumerGroupsHandler(), consumer, known),
            self._driver(DescribeClassicGroupsHandler(), classic, known),
        )
        self._run("describing groups", list(drivers), deadline)
        return drivers

    def _driver(
        self, handler: ApiHandler[str, A], groups: Iterable[str], known: Mapping[str, int]
    ) -> ApiDriver[str, A]:
        return ApiDriver(groups, handler=handler, lookup=CoordinatorStrategy(), known=known)


def _known(names: Collection[str] | None, valid: Sequence[str], what: str) -> tuple[str, ...] | None:
    if names is None:
        return None
    spelled = tuple(dict.fromkeys(spell(name) or "" for name in names))
    odd = [name for name in spelled if name not in valid]
    if odd or not spelled:
        told = (
            f"{', '.join(map(repr, odd))} is not among" if odd else "an empty set filters everything out; name some of"
        )
        msg = f"{what}: {told} {', '.join(valid)}"
        raise ValueError(msg)
    return spelled

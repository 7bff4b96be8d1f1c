"""GroupAdmin: every question about groups, asked of many groups at once and answered for each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from kafka_groups.admin.describing import merge_descriptions, not_found, with_moved
from kafka_groups.admin.lookups import Coordinators, Leaders
from kafka_groups.admin.offsets import GroupOffsets
from kafka_groups.admin.questions.count_partitions import CountPartitions
from kafka_groups.admin.questions.describe_features import DescribeFeatures, Features
from kafka_groups.admin.questions.describe_groups import DescribeClassicGroups, DescribeConsumerGroups
from kafka_groups.admin.questions.fetch_offsets import FetchOffsets
from kafka_groups.admin.questions.find_offsets import FindOffsets, PartitionTime, Point
from kafka_groups.admin.questions.list_groups import ListGroups
from kafka_groups.admin.questions.list_offsets import ListOffsets
from kafka_groups.admin.questions.list_topics import ListTopics, Topic
from kafka_groups.admin.reaching import Reaching
from kafka_groups.admin.routing import Question, Route
from kafka_groups.admin.wire.fleet import ANY_BROKER
from kafka_groups.admin.wire.messages.list_offsets import LATEST
from kafka_groups.errors import TimeoutExceededError
from kafka_groups.model import (
    GROUP_STATES,
    GROUP_TYPES,
    Answers,
    Failure,
    GroupDescription,
    GroupListing,
    TopicPartition,
    spell,
)

A = TypeVar("A")


class GroupAdmin(Reaching):
    """A cluster, reached when first asked. Use it as a context manager, or `close` it.

    Every call has `settings.timeout_s` to answer, or what its `timeout_s` says; with
    `one_deadline` all calls together have `settings.timeout_s` from the first one on, and `share` says
    how much of what is left a call may use, for a broker that is silent in one question must not keep
    the next one from being asked. A call raises
    an AdminError only if the cluster cannot be reached at all; what fails for one group, partition
    or broker is in its Answers. What a call learns of coordinators and types of groups serves the
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
    ) -> Answers[str, GroupListing]:
        """Groups of every kind, by id; only those in one of the states and of one of the types, if given.

        The filters are applied by the brokers (ListGroups 4 and 5). `failed` is keyed by broker id.
        ValueError: an empty set (KIP-518), or a name that is no state or type.
        """
        question = ListGroups(states=_known(states, GROUP_STATES, "states"), types=_known(types, GROUP_TYPES, "types"))
        deadline = self._deadline(timeout_s, share)
        self._reach(deadline)
        self._look_around(deadline)
        brokers = sorted(self._fleet.brokers)
        route = self._ask("listing groups", question, brokers, {broker: broker for broker in brokers}, deadline)
        listings = {group.group: group for broker in brokers for group in route.found.get(broker, ())}
        for listing in listings.values():
            self._coordinators[listing.group] = listing.coordinator
            self._types[listing.group] = listing.type
        return Answers(found=dict(sorted(listings.items())), failed=route.failed)

    def describe_groups(
        self, groups: Iterable[str], *, timeout_s: float | None = None, share: float = 1.0
    ) -> Answers[str, GroupDescription]:
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
        routes = self._describe(consumer, classic, known, deadline)
        # Those that were asked about in one way only, and are not there in that one.
        gone = [not_found(route) - set(others) for route, others in zip(routes, (classic, consumer), strict=True)]
        answers = merge_descriptions(wanted, *routes, lost, self._fleet.brokers)
        if gone[0] or gone[1]:
            moved = self._describe(sorted(gone[1]), sorted(gone[0]), known, deadline)
            again = merge_descriptions(sorted(gone[0] | gone[1]), *moved, {}, self._fleet.brokers)
            answers = with_moved(wanted, answers, again)
        self._types.update({group: description.type for group, description in answers.found.items()})
        return answers

    def list_consumer_group_offsets(
        self,
        groups: Mapping[str, Sequence[tuple[str, int]] | None],
        *,
        require_stable: bool = False,
        timeout_s: float | None = None,
        share: float = 1.0,
    ) -> Answers[str, GroupOffsets]:
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
        question = FetchOffsets(wanted, require_stable=require_stable)
        route = self._ask("fetching offsets", question, wanted, self._coordinators, deadline, look_up=Coordinators())
        self._coordinators.update(route.located)
        for group in route.failed.keys() & question.unstable.keys():
            # The deadline passed: what is stable is told, the rest refused with Kafka's own code.
            if route.failed[group].name == TimeoutExceededError.name:
                del route.failed[group]
                route.found[group] = question.unstable[group]
        return route.answers()

    def list_offsets(
        self,
        partitions: Iterable[tuple[str, int]],
        *,
        at: int = LATEST,
        timeout_s: float | None = None,
        share: float = 1.0,
    ) -> Answers[TopicPartition, int | None]:
        """The log offset of each partition: its end (LATEST), its start (EARLIEST), or the first at a time in ms.

        LAST_STABLE is where a consumer with `read_committed` has to stop: its end, or the first record of an open
        transaction. None where the log has no record at or after that time. Asked of the leaders, all topics at once.
        """
        deadline = self._deadline(timeout_s, share)
        self._reach(deadline)
        wanted = [TopicPartition(*partition) for partition in partitions]
        route = self._ask("listing log offsets", ListOffsets(at), wanted, self._leaders, deadline, look_up=Leaders())
        self._leaders.update(route.located)
        return route.answers()

    def count_partitions(
        self, topics: Iterable[str], *, timeout_s: float | None = None
    ) -> Answers[str, tuple[int, ...]]:
        """The partitions of each topic, ascending. A topic that does not exist fails; none is created."""
        deadline = self._deadline(timeout_s)
        self._reach(deadline)
        names = tuple(dict.fromkeys(topics))
        known = dict.fromkeys(names, ANY_BROKER)
        return self._ask("reading topics", CountPartitions(), names, known, deadline).answers()

    def find_offsets(
        self, times: Iterable[tuple[str, int, int]], *, timeout_s: float | None = None
    ) -> Answers[PartitionTime, Point | None]:
        """The first record at or after a time, for each (topic, partition, milliseconds): its offset and its own time.

        None where there is none. A request may name a partition once (a broker refuses it otherwise, with
        INVALID_REQUEST), so there are as many requests to a leader as its most wanted partition has times.
        """
        deadline = self._deadline(timeout_s)
        self._reach(deadline)
        wanted = [PartitionTime(*time) for time in times]
        found = {key: self._leaders.get(TopicPartition(key.topic, key.partition)) for key in wanted}
        known = {key: leader for key, leader in found.items() if leader is not None}
        route = self._ask("looking up times", FindOffsets(), wanted, known, deadline, look_up=Leaders[PartitionTime]())
        self._leaders.update((TopicPartition(*key[:2]), leader) for key, leader in route.located.items())
        return route.answers()

    def list_topics(self, *, timeout_s: float | None = None, share: float = 1.0) -> Answers[str, Topic]:
        """All topics of the cluster that we may see, internal ones too; an AdminError if they cannot be listed."""
        deadline = self._deadline(timeout_s, share)
        self._reach(deadline)
        route = self._ask("listing topics", ListTopics(), (ANY_BROKER,), {ANY_BROKER: ANY_BROKER}, deadline)
        listed = route.answers().all()[ANY_BROKER]
        self._leaders.update(listed.leaders)
        return Answers(found=listed.topics, failed=listed.failed)

    def describe_features(self, *, timeout_s: float | None = None) -> Answers[int, Features]:
        """What each broker can do, and what the cluster agreed on, by the broker's id."""
        deadline = self._deadline(timeout_s)
        self._reach(deadline)
        brokers = sorted(self._fleet.brokers)
        known = {broker: broker for broker in brokers}
        return self._ask("reading versions", DescribeFeatures(), brokers, known, deadline).answers()

    def _locate(self, groups: Sequence[str], deadline: float) -> tuple[dict[str, int], Mapping[str, Failure]]:
        """The coordinators of these groups, in one look-up for those not yet known; and what failed on the way."""
        unknown = [group for group in groups if group not in self._coordinators]
        route = self._ask("finding coordinators", Coordinators(), unknown, dict.fromkeys(unknown, ANY_BROKER), deadline)
        self._coordinators.update(route.found)
        return {group: self._coordinators[group] for group in groups if group in self._coordinators}, route.failed

    def _describe(
        self, consumer: Iterable[str], classic: Iterable[str], known: Mapping[str, int], deadline: float
    ) -> tuple[Route[str, GroupDescription], Route[str, GroupDescription]]:
        routes = (
            self._route(DescribeConsumerGroups(), consumer, known),
            self._route(DescribeClassicGroups(), classic, known),
        )
        self._settle("describing groups", list(routes), deadline)
        return routes

    def _route(self, question: Question[str, A], groups: Iterable[str], known: Mapping[str, int]) -> Route[str, A]:
        return Route(groups, question=question, look_up=Coordinators(), known=known)


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

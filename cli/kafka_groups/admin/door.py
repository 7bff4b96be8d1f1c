"""GroupAdmin: every question about groups, asked of many groups at once and answered for each."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from kafka_groups.admin.asking import settle
from kafka_groups.admin.describing import merge_descriptions
from kafka_groups.admin.lookups import Coordinators, Leaders
from kafka_groups.admin.offsets import GroupOffsets
from kafka_groups.admin.questions.count_partitions import CountPartitions
from kafka_groups.admin.questions.describe_groups import DescribeClassicGroups, DescribeConsumerGroups
from kafka_groups.admin.questions.fetch_offsets import FetchOffsets
from kafka_groups.admin.questions.list_groups import ListGroups
from kafka_groups.admin.questions.list_offsets import ListOffsets
from kafka_groups.admin.routing import Question, Route
from kafka_groups.admin.wire.fleet import ANY_BROKER, Fleet
from kafka_groups.admin.wire.messages.list_offsets import LATEST
from kafka_groups.errors import AdminError, TimeoutExceededError
from kafka_groups.model import (
    GROUP_STATES,
    GROUP_TYPES,
    Answers,
    Broker,
    Failure,
    GroupDescription,
    GroupListing,
    TopicPartition,
    spell,
)

if TYPE_CHECKING:
    from types import TracebackType

    from kafka_groups.settings import ConnectionSettings

K = TypeVar("K", bound=Hashable)
A = TypeVar("A")
Progress = Callable[[str, int, int], None]
# Calls that follow each other closely are one question; a watch that comes back is another.
_FRESH_S: Final = 1.0


class GroupAdmin:
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

    def __init__(
        self,
        settings: ConnectionSettings,
        *,
        one_deadline: bool = False,
        progress: Progress = lambda _what, _done, _total: None,
        clock: Callable[[], float] = time.monotonic,
        fleet: Fleet | None = None,
    ) -> None:
        self._settings = settings
        self._progress = progress
        self._clock = clock
        self._fleet = fleet or Fleet(settings, clock=clock)
        self._is_open = False
        self._looked_at = 0.0
        self._one_deadline = one_deadline
        self._deadline_of_all: float | None = None
        self._coordinators: dict[str, int] = {}
        self._types: dict[str, str | None] = {}
        self._leaders: dict[TopicPartition, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._fleet.close()

    @property
    def requests_sent(self) -> list[tuple[str, int]]:
        """Every request sent so far, as (API name, version), connection set-up included."""
        return self._fleet.sent

    def brokers(self, *, timeout_s: float | None = None) -> Mapping[int, Broker]:
        """The brokers of the cluster, by id."""
        self._reach(self._deadline(timeout_s))
        return self._fleet.brokers

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

        A group whose kind is not known is asked about in both ways at once. A group that does not
        exist, or is of another kind, fails with GROUP_ID_NOT_FOUND.
        """
        deadline = self._deadline(timeout_s, share)
        self._reach(deadline)
        wanted = tuple(dict.fromkeys(groups))
        known, lost = self._locate(wanted, deadline)
        reachable = [group for group in wanted if group not in lost]
        consumer = self._route(
            DescribeConsumerGroups(), [g for g in reachable if self._types.get(g) != "Classic"], known
        )
        classic = self._route(
            DescribeClassicGroups(), [g for g in reachable if self._types.get(g) != "Consumer"], known
        )
        self._settle("describing groups", [consumer, classic], deadline)
        answers = merge_descriptions(wanted, consumer, classic, lost, self._fleet.brokers)
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

        None where the log has no record at or after that time. Asked of the leaders, all topics at once.
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

    def _reach(self, deadline: float) -> None:
        if not self._is_open:
            self._fleet.open(deadline)
            self._is_open = True
            self._looked_at = self._clock()

    def _look_around(self, deadline: float) -> None:
        """Learn of brokers that came or went a while ago: each one lists its own groups."""
        if self._clock() - self._looked_at < _FRESH_S:
            return
        self._looked_at = self._clock()
        try:
            self._fleet.refresh(deadline)
        except AdminError:
            # The brokers known so far are asked; what is wrong with them, their failures say.
            return

    def _deadline(self, timeout_s: float | None, share: float = 1.0) -> float:
        now = self._clock()
        end = now + (self._settings.timeout_s if timeout_s is None else timeout_s)
        if self._one_deadline:
            if self._deadline_of_all is None:
                self._deadline_of_all = now + self._settings.timeout_s
            end = min(end, self._deadline_of_all)
        return now + (end - now) * share

    def _locate(self, groups: Sequence[str], deadline: float) -> tuple[dict[str, int], Mapping[str, Failure]]:
        """The coordinators of these groups, in one look-up for those not yet known; and what failed on the way."""
        unknown = [group for group in groups if group not in self._coordinators]
        route = self._ask("finding coordinators", Coordinators(), unknown, dict.fromkeys(unknown, ANY_BROKER), deadline)
        self._coordinators.update(route.found)
        return {group: self._coordinators[group] for group in groups if group in self._coordinators}, route.failed

    def _ask(
        self,
        what: str,
        question: Question[K, A],
        keys: Iterable[K],
        known: Mapping[K, int],
        deadline: float,
        *,
        look_up: Question[K, int] | None = None,
    ) -> Route[K, A]:
        route = Route(keys, question=question, look_up=look_up, known=known)
        self._settle(what, [route], deadline)
        return route

    def _route(self, question: Question[str, A], groups: Iterable[str], known: Mapping[str, int]) -> Route[str, A]:
        return Route(groups, question=question, look_up=Coordinators(), known=known)

    def _settle(self, what: str, routes: Sequence[Route[Any, Any]], deadline: float) -> None:
        settle(
            self._fleet,
            routes,
            deadline=deadline,
            clock=self._clock,
            progress=lambda done, total: self._progress(what, done, total),
        )


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

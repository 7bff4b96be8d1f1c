"""The operations of the Admin client that change groups."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

from kafka_groups.admin import handlers
from kafka_groups.admin.api import Deadline, MemberIdentity, Timeout, to_names
from kafka_groups.admin.api_handler import ApiHandler
from kafka_groups.admin.driver import ApiDriver
from kafka_groups.admin.lookup import CoordinatorStrategy, store_locations
from kafka_groups.admin.topic_client import TopicClient
from kafka_groups.model import CommittedOffset, Failure, Results, TopicPartition

if TYPE_CHECKING:
    from uuid import UUID

    from kafka_groups.admin.handlers.group_change import GroupChangeHandler

T = TypeVar("T", bound=Hashable)
V = TypeVar("V")
# A broker handles the requests of a connection one after the other, and it responds to a change when the replicas have
# it. So changes of one request a group go out on several connections to a coordinator.
_CHANGE_CONNECTIONS: Final = 28


class ChangeClient(TopicClient):
    """A client that changes groups. A change whose response is lost is not sent again: it fails as OUTCOME_UNKNOWN."""

    def alter_consumer_group_offsets(
        self,
        offsets: Mapping[str, Mapping[tuple[str, int], CommittedOffset]],
        *,
        topic_ids: Mapping[str, UUID] = MappingProxyType({}),
        timeout: Timeout | None = None,
    ) -> Results[str, Mapping[TopicPartition, Failure | None]]:
        """Commit offsets of groups without members. A group that does not exist is created.

        In `succeeded` each partition of a group is None, or its failure. A group is in `failed` if none of its
        partitions is known to be done. `topic_ids` are ids of topics by name. Brokers since Kafka 4.2 refuse, with
        UNKNOWN_TOPIC_ID, a topic that has another id; that needs the ids of all topics of a group.
        """
        deadline = self._connect(timeout)
        wanted = {
            group: {TopicPartition(*key): commit for key, commit in commits.items()}
            for group, commits in offsets.items()
        }
        by_id = {group: keys for group, keys in wanted.items() if all(key.topic in topic_ids for key in keys)}
        by_name = {group: keys for group, keys in wanted.items() if group not in by_id}
        results: Results[str, Mapping[TopicPartition, Failure | None]] = Results()
        for commits, ids in ((by_id, topic_ids), (by_name, None)):
            if not commits:
                continue
            handler = handlers.AlterConsumerGroupOffsetsHandler(commits, topic_ids=ids)
            made = self._change_items("committing offsets", handler, commits, deadline)
            results = Results({**results.succeeded, **made.succeeded}, {**results.failed, **made.failed})
        return results

    def delete_consumer_group_offsets(
        self, partitions: Mapping[str, Iterable[tuple[str, int]]], *, timeout: Timeout | None = None
    ) -> Results[str, Mapping[TopicPartition, Failure | None]]:
        """Delete committed offsets of groups, of topics to which no member subscribes (Kafka 2.4).

        In `succeeded` each partition of a group is None, or its failure, also if it had no commit.
        """
        deadline = self._connect(timeout)
        wanted = {group: [TopicPartition(*key) for key in keys] for group, keys in partitions.items()}
        handler = handlers.DeleteConsumerGroupOffsetsHandler(wanted)
        return self._change_items("deleting offsets", handler, wanted, deadline)

    def alter_share_group_offsets(
        self, offsets: Mapping[str, Mapping[tuple[str, int], int | None]], *, timeout: Timeout | None = None
    ) -> Results[str, Mapping[TopicPartition, Failure | None]]:
        """Alter start offsets of share groups without members (KIP-932). A group that does not exist is created.

        A partition that is mapped to None has no start offset afterwards: the next consumer starts where the group's
        `share.auto.offset.reset` says. In `succeeded` each partition of a group is None, or its failure. Brokers do not
        compare a start offset with the log. What was delivered and is not yet acknowledged is forgotten.
        """
        deadline = self._connect(timeout)
        wanted = {
            group: {TopicPartition(*key): offset for key, offset in starts.items()} for group, starts in offsets.items()
        }
        handler = handlers.AlterShareGroupOffsetsHandler(wanted)
        return self._change_items("altering start offsets", handler, wanted, deadline)

    def delete_share_group_offsets(
        self, topics: Mapping[str, Iterable[str]], *, timeout: Timeout | None = None
    ) -> Results[str, Mapping[str, Failure | None]]:
        """Delete the start offsets of share groups without members, for whole topics (KIP-932).

        In `succeeded` each topic of a group is None, or its failure.
        """
        deadline = self._connect(timeout)
        wanted = {group: to_names(names) for group, names in topics.items()}
        handler = handlers.DeleteShareGroupOffsetsHandler(wanted)
        return self._change_items("deleting start offsets", handler, wanted, deadline)

    def delete_consumer_groups(
        self,
        groups: Iterable[str],
        *,
        record_bytes: Mapping[str, int] = MappingProxyType({}),
        timeout: Timeout | None = None,
    ) -> Results[str, None]:
        """Delete groups of any type, with their commits (Kafka 1.1). A group with members fails.

        `record_bytes` are the estimated bytes of the records that delete the commits of a group. A request has no more
        groups than a coordinator can delete in one batch of records.
        """
        deadline = self._connect(timeout)
        handler = handlers.DeleteConsumerGroupsHandler(record_bytes)
        return self._change("deleting groups", handler, to_names(groups), deadline, gather=True)

    def remove_members_from_consumer_group(
        self, members: Mapping[str, Iterable[MemberIdentity]], *, timeout: Timeout | None = None
    ) -> Results[str, Mapping[MemberIdentity, Failure | None]]:
        """Remove members from groups: by their ids, by their `group.instance.id` (Kafka 2.4), or by both.

        In `succeeded` each member of a group is None, or its failure. A member that still runs joins the group again.
        """
        deadline = self._connect(timeout)
        wanted = {group: [MemberIdentity(*member) for member in each] for group, each in members.items()}
        handler = handlers.RemoveMembersFromConsumerGroupHandler(wanted)
        return self._change_items("removing members", handler, wanted, deadline)

    def _change_items(
        self,
        operation: str,
        handler: GroupChangeHandler[T],
        items: Mapping[str, Collection[T]],
        deadline: Deadline,
    ) -> Results[str, Mapping[T, Failure | None]]:
        """Change items of groups. A group without any needs no request."""
        results = self._change(operation, handler, [group for group, wanted in items.items() if wanted], deadline)
        nothing: dict[str, Mapping[T, Failure | None]] = {group: {} for group, wanted in items.items() if not wanted}
        with_outcomes = handler.with_outcomes(results)
        return with_outcomes._replace(succeeded={**nothing, **with_outcomes.succeeded})

    def _change(
        self,
        operation: str,
        handler: ApiHandler[str, V],
        groups: Iterable[str],
        deadline: Deadline,
        *,
        gather: bool = False,
    ) -> Results[str, V]:
        """Run a change of groups at their coordinators. A group that it creates or deletes has no known type."""
        self._known.take_listing()
        wanted = tuple(groups)
        known = self._known.coordinators
        self._known.forget_types(wanted)
        driver = ApiDriver(
            wanted,
            handler=handler,
            lookup=CoordinatorStrategy(),
            known=known,
            gather=gather,
            connections=1 if gather else _CHANGE_CONNECTIONS,
        )
        self._run(operation, [driver], deadline)
        store_locations(known, driver.locations, driver.failed)
        return driver.results()

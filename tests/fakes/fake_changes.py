"""The operations of the fake admin that change its groups, with the errors that brokers return."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from kafka_groups.admin.api import MemberIdentity
from kafka_groups.model import (
    CommittedOffset,
    Failure,
    GroupDescription,
    GroupListing,
    GroupOffsets,
    Member,
    Results,
    TopicPartition,
)
from kafka_groups.protocol.errors import broker_error

T = TypeVar("T", bound=Hashable)


class RecordedChange(NamedTuple):
    """A call of an operation that changes groups, with its argument as plain values."""

    operation: str
    argument: Any


class FakeChanges:
    """The part of FakeCluster that changes its groups.

    `changes` are the calls, in their order. `unchangeable` has failures by group id, `refused_items` by group id and
    partition or member; what fails is not changed.
    """

    listings: dict[str, GroupListing]
    descriptions: dict[str, GroupDescription]
    offsets: dict[str, GroupOffsets]
    partitions: dict[str, tuple[int, ...]]

    def __init__(self) -> None:
        self.changes: list[RecordedChange] = []
        self.unchangeable: dict[str, Failure] = {}
        self.refused_items: dict[tuple[str, TopicPartition | MemberIdentity], Failure] = {}

    def effects(self) -> Mapping[str, Callable[..., Any]]:
        """Return what the operations of the client that change groups do, by name."""
        return {
            "alter_consumer_group_offsets": self._alter_consumer_group_offsets,
            "delete_consumer_group_offsets": self._delete_consumer_group_offsets,
            "alter_share_group_offsets": self._alter_share_group_offsets,
            "delete_share_group_offsets": self._delete_share_group_offsets,
            "delete_consumer_groups": self._delete_consumer_groups,
            "remove_members_from_consumer_group": self._remove_members_from_consumer_group,
        }

    def add(self, group: str, **values: Any) -> None:
        """Add a group."""
        raise NotImplementedError

    def set_commits(self, group: str, commits: Mapping[TopicPartition, CommittedOffset | None]) -> None:
        """Replace the commits of a group."""
        raise NotImplementedError

    def _alter_consumer_group_offsets(
        self, offsets: Mapping[str, Mapping[tuple[str, int], CommittedOffset]], **_: Any
    ) -> Results[str, Mapping[TopicPartition, Failure | None]]:
        wanted = {group: {TopicPartition(*key): at for key, at in each.items()} for group, each in offsets.items()}
        self.changes.append(RecordedChange("alter_consumer_group_offsets", wanted))

        def alter(group: str, key: TopicPartition) -> Failure | None:
            if key.partition not in self.partitions.get(key.topic, (key.partition,)):
                return _failure(3, group, key)
            self.set_commits(group, {**self.offsets[group], key: wanted[group][key]})
            return None

        def check(group: str) -> Failure | None:
            if group in self.descriptions and self.descriptions[group].members:
                return _failure(25, group)
            if group not in self.descriptions:
                self.add(group, protocol_type="")
            return None

        return self._change_items(wanted, check, alter)

    def _delete_consumer_group_offsets(
        self, partitions: Mapping[str, Iterable[tuple[str, int]]], **_: Any
    ) -> Results[str, Mapping[TopicPartition, Failure | None]]:
        wanted = {group: [TopicPartition(*key) for key in keys] for group, keys in partitions.items()}
        self.changes.append(RecordedChange("delete_consumer_group_offsets", wanted))

        def delete(group: str, key: TopicPartition) -> Failure | None:
            members = self.descriptions[group].members
            if key.topic in {assigned.topic for member in members for assigned in member.assignment or ()}:
                return _failure(86, group, key)
            self.set_commits(group, {other: at for other, at in self.offsets[group].items() if other != key})
            return None

        return self._change_items(wanted, self._absent_failure, delete)

    def _alter_share_group_offsets(
        self, offsets: Mapping[str, Mapping[tuple[str, int], int | None]], **_: Any
    ) -> Results[str, Mapping[TopicPartition, Failure | None]]:
        wanted = {group: {TopicPartition(*key): at for key, at in each.items()} for group, each in offsets.items()}
        self.changes.append(RecordedChange("alter_share_group_offsets", wanted))

        def alter(group: str, key: TopicPartition) -> Failure | None:
            start = wanted[group][key]
            value = None if start is None else CommittedOffset(start, 0, "")
            self.set_commits(group, {**self.offsets[group], key: value})
            return None

        def check(group: str) -> Failure | None:
            if group in self.descriptions and self.descriptions[group].members:
                return _failure(68, group)
            if group not in self.descriptions:
                self.add(group, kind="Share", protocol_type="share")
            return None

        return self._change_items(wanted, check, alter)

    def _delete_share_group_offsets(
        self, topics: Mapping[str, Iterable[str]], **_: Any
    ) -> Results[str, Mapping[str, Failure | None]]:
        wanted = {group: list(dict.fromkeys(names)) for group, names in topics.items()}
        self.changes.append(RecordedChange("delete_share_group_offsets", wanted))

        def delete(group: str, topic: str) -> Failure | None:
            self.set_commits(group, {key: at for key, at in self.offsets[group].items() if key.topic != topic})
            return None

        return self._change_items(wanted, self._absent_failure, delete)

    def _delete_consumer_groups(self, groups: Iterable[str], **_: Any) -> Results[str, None]:
        wanted = list(groups)
        self.changes.append(RecordedChange("delete_consumer_groups", wanted))
        failed: dict[str, Failure] = {}
        for group in wanted:
            failure = self.unchangeable.get(group) or self._absent_failure(group)
            if failure is None and self.descriptions[group].members:
                failure = _failure(68, group)
            if failure is not None:
                failed[group] = failure
            else:
                for known in (self.listings, self.descriptions, self.offsets):
                    known.pop(group, None)
        return Results(succeeded={group: None for group in wanted if group not in failed}, failed=failed)

    def _remove_members_from_consumer_group(
        self, members: Mapping[str, Iterable[MemberIdentity]], **_: Any
    ) -> Results[str, Mapping[MemberIdentity, Failure | None]]:
        wanted = {group: list(each) for group, each in members.items()}
        self.changes.append(RecordedChange("remove_members_from_consumer_group", wanted))

        def remove(group: str, identity: MemberIdentity) -> Failure | None:
            description = self.descriptions.get(group)
            found = [member for member in description.members if _is(member, identity)] if description else []
            if description is None or not found:
                return _failure(25, group)
            rest = tuple(member for member in description.members if member not in found)
            state = description.state if rest else "Empty"
            self.descriptions[group] = description._replace(members=rest, state=state)
            self.listings[group] = self.listings[group]._replace(state=state)
            return None

        return self._change_items(wanted, lambda _group: None, remove)

    def _absent_failure(self, group: str) -> Failure | None:
        return None if group in self.descriptions else _failure(69, group)

    def _change_items(
        self,
        wanted: Mapping[str, Iterable[T]],
        check: Callable[[str], Failure | None],
        change: Callable[[str, T], Failure | None],
    ) -> Results[str, Mapping[T, Failure | None]]:
        refused: Mapping[Any, Failure] = self.refused_items
        succeeded: dict[str, Mapping[T, Failure | None]] = {}
        failed: dict[str, Failure] = {}
        for group, items in wanted.items():
            failure = self.unchangeable.get(group) or check(group)
            if failure is not None:
                failed[group] = failure
            else:
                succeeded[group] = {item: refused.get((group, item)) or change(group, item) for item in items}
        return Results(succeeded=succeeded, failed=failed)


def _is(member: Member, identity: MemberIdentity) -> bool:
    if identity.group_instance_id is not None and identity.group_instance_id != member.group_instance_id:
        return False
    return member.member_id == identity.member_id if identity.member_id else identity.group_instance_id is not None


def _failure(code: int, group: str, key: TopicPartition | None = None) -> Failure:
    topic, partition = key or (None, None)
    return Failure.of(broker_error(code), group=group, topic=topic, partition=partition)

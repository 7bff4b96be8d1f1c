"""The current state of groups that are to be changed: members, commits, and what forbids a change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Timeout
from kafka_groups.errors import ChangeRefusedError
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.kinds import (
    SHARE,
    STATES_WITHOUT_MEMBERS,
    Operation,
    has_start_offsets,
    kind_of,
    label_of,
    supports,
)
from kafka_groups.model import (
    CommittedOffset,
    Failure,
    GroupDescription,
    GroupListing,
    GroupOffsets,
    Results,
    TopicPartition,
)
from kafka_groups.name_lists import first_names
from kafka_groups.protocol.errors import (
    GROUP_ID_NOT_FOUND,
    INCONSISTENT_GROUP_PROTOCOL,
    INVALID_GROUP_ID,
    NON_EMPTY_GROUP,
    broker_error,
)

_MAX_HOSTS: Final = 5
_UNSTABLE: Final = Note(
    NoteKind.OPEN_TRANSACTIONS_UNKNOWN,
    None,
    "Commits of open transactions are not known: that needs brokers of Kafka 2.5 or newer.",
)


class CurrentGroup(NamedTuple):
    """A group and its commits. `description` is None for a group that has commits only, or does not exist yet.

    `unreadable` are failures of partitions that were not read, and of those on which an open transaction has a commit.
    Without `is_stable` the latter are unknown. A group whose `group_type` has start offsets has those:
    commits without leader epoch and metadata, None where the broker does not know one.
    """

    group: str
    description: GroupDescription | None = None
    offsets: Mapping[TopicPartition, CommittedOffset | None] = MappingProxyType({})
    unreadable: Mapping[TopicPartition, Failure] = MappingProxyType({})
    is_stable: bool = True
    group_type: str | None = None

    @property
    def has_start_offsets(self) -> bool:
        """Return whether the group has start offsets in place of commits."""
        return has_start_offsets(self.group_type)

    @property
    def offset_noun(self) -> str:
        """Return what an offset of the group is called."""
        return "start offset" if self.has_start_offsets else "commit"

    @property
    def is_active(self) -> bool:
        """Return whether the group has members, so that brokers refuse changes of its offsets."""
        return self.description is not None and self.description.state not in STATES_WITHOUT_MEMBERS


def read_groups(
    admin: Admin,
    groups: Mapping[str, Sequence[TopicPartition] | None],
    *,
    require_stable: bool = True,
    any_type: bool = False,
    timeout: Timeout | None = None,
) -> Results[str, CurrentGroup]:
    """Return the groups with their commits on partitions, on all if None, in one round of requests.

    A response for all partitions lacks one on which the first commit is pending in an open transaction: read what is
    known by its partitions. With `require_stable` a partition with such a commit is unreadable. A group that the
    brokers call Dead, or do not describe, but that has commits, succeeds without a description: some managed services
    describe every group so. If brokers list it with another type (streams), or with members, it fails. An absent group
    fails with GROUP_ID_NOT_FOUND.
    """
    descriptions, offsets = admin.describe_with_offsets(
        tuple(groups), groups, require_stable=require_stable, timeout=timeout
    )
    failures = {group: _as_absent(why) for group, why in descriptions.failed.items()}
    found: dict[str, CurrentGroup] = {}
    failed: dict[str, Failure] = {}
    for group in groups:
        commits = offsets.succeeded.get(group)
        why = failures.get(group)
        if commits is None:
            # The failure of the description of an absent group says nothing about its commits.
            failed[group] = offsets.failed[group] if why is None or why.code == GROUP_ID_NOT_FOUND else why
        elif why is not None and not _has_commits_only(why, commits, any_type=any_type):
            failed[group] = why
        else:
            found[group] = _current(group, descriptions.succeeded.get(group), commits)
    undescribed = [group for group, current in found.items() if current.description is None]
    listed = admin.list_groups(timeout=timeout).succeeded if undescribed else {}
    for group in undescribed:
        if (listing := listed.get(group)) is not None and (
            why := _refuse_listing(listing, any_type=any_type)
        ) is not None:
            del found[group]
            failed[group] = why
    return Results(succeeded=found, failed=failed)


def read_existing_groups(
    admin: Admin,
    groups: Mapping[str, Sequence[TopicPartition] | None],
    *,
    timeout: Timeout | None = None,
) -> Results[str, CurrentGroup]:
    """Return the groups as `read_groups` does; one that is not described exists if it has a commit on any partition."""
    return with_existing_groups(admin, read_groups(admin, groups, timeout=timeout), groups, timeout=timeout)


def read_all_start_offsets(
    admin: Admin, read: Results[str, CurrentGroup], *, timeout: Timeout | None = None
) -> Results[str, CurrentGroup]:
    """Return what was read, with the start offsets of share groups on all partitions that they have read.

    A response for named partitions has those that the group never read, too. Only share groups cost a request.
    """
    groups = {group: None for group, current in read.succeeded.items() if current.has_start_offsets}
    if not groups:
        return read
    offsets = admin.list_group_offsets(groups, timeout=timeout)
    found = dict(read.succeeded)
    for group in groups:
        current = found.pop(group)
        if group in offsets.succeeded:
            whole = _current(group, current.description, offsets.succeeded[group])
            found[group] = whole._replace(unreadable={**current.unreadable, **whole.unreadable})
    return Results(found, {**read.failed, **offsets.failed})


def with_existing_groups(
    admin: Admin,
    read: Results[str, CurrentGroup],
    groups: Mapping[str, Sequence[TopicPartition] | None],
    *,
    timeout: Timeout | None = None,
) -> Results[str, CurrentGroup]:
    """Return what was read; of these `groups`, one that seems absent exists if it has a commit on any partition.

    Only seemingly absent groups with some partitions read cost a request.
    """
    absent = [
        group
        for group, scope in groups.items()
        if scope is not None and group in read.failed and read.failed[group].code == GROUP_ID_NOT_FOUND
    ]
    commits = admin.list_group_offsets(dict.fromkeys(absent), timeout=timeout).succeeded if absent else {}
    existing = [group for group in absent if group in commits and commits[group].has_commits()]
    found = {group: CurrentGroup(group, offsets=dict.fromkeys(groups[group] or ())) for group in existing}
    return Results({**read.succeeded, **found}, {g: why for g, why in read.failed.items() if g not in found})


def _as_absent(failure: Failure) -> Failure:
    """Return the failure of an absent group: brokers describe the empty id, which they accept, as INVALID_GROUP_ID."""
    if failure.group == "" and failure.code == INVALID_GROUP_ID:
        return Failure.of(broker_error(GROUP_ID_NOT_FOUND), group="")
    return failure


def _has_commits_only(failure: Failure, offsets: GroupOffsets, *, any_type: bool) -> bool:
    """Return whether a group that is not described can be changed.

    A commit that cannot be read, such as one that is pending in an open transaction, is one, too.
    """
    if failure.code == INCONSISTENT_GROUP_PROTOCOL:
        return any_type
    return failure.code == GROUP_ID_NOT_FOUND and (offsets.has_commits() or bool(offsets.failed))


def _refuse_listing(listing: GroupListing, *, any_type: bool) -> Failure | None:
    if not any_type and not kind_of(listing).is_common:
        return refuse(
            listing.group, f"no broker describes it as a group of the type in its listing ({label_of(listing)})"
        )
    if listing.state is not None and listing.state not in STATES_WITHOUT_MEMBERS:
        return Failure.of(broker_error(NON_EMPTY_GROUP, f"it is {listing.state}"), group=listing.group)
    return None


def refuse_active(current: CurrentGroup) -> Failure | None:
    """Return the failure of a group that has members: its state and their hosts; None if it has none."""
    if not current.is_active:
        return None
    assert current.description is not None
    members = current.description.members
    # Some brokers return no host of a member.
    hosts = [host for host in dict.fromkeys(member.host.removeprefix("/") for member in members) if host]
    count = f"{len(members)} member{'' if len(members) == 1 else 's'}"
    where = f"{count} on {first_names(hosts, _MAX_HOSTS)}" if hosts else count
    text = f"it is {current.description.state} with {where}; stop its consumers first"
    return Failure.of(broker_error(NON_EMPTY_GROUP, text), group=current.group)


def refuse_kind(current: CurrentGroup, operation: Operation) -> Failure | None:
    """Return the failure of a group whose kind does not have an operation, such as one of Connect workers."""
    description = current.description
    if description is None or supports(description, operation):
        return None
    return refuse(current.group, f"groups of its kind have no offsets to change ({label_of(description)})")


def refuse(group: str, message: str, key: TopicPartition | None = None) -> Failure:
    """Return the failure of a change that this tool does not make."""
    topic, partition = key if key is not None else (None, None)
    return Failure.of(ChangeRefusedError(message), group=group, topic=topic, partition=partition)


def _current(group: str, description: GroupDescription | None, offsets: GroupOffsets) -> CurrentGroup:
    described_type = description.type if description is not None else None
    start_type = described_type if description is not None or offsets.lags is None else SHARE.group_type
    if not has_start_offsets(start_type):
        commits = dict(offsets.rows())
        return CurrentGroup(group, description, commits, offsets.failed, offsets.is_stable, described_type)
    # The leader epoch is that of the last read of the partition's leader, and nobody can set it.
    starts = {key: None if start is None else CommittedOffset(start.offset, None, "") for key, start in offsets.rows()}
    # Start offsets are no part of transactions.
    return CurrentGroup(group, description, starts, offsets.failed, group_type=start_type)


def note_unstable(groups: Iterable[CurrentGroup]) -> list[Note]:
    """Return a note if open transactions are not known, because brokers are older than Kafka 2.5."""
    return [] if all(group.is_stable for group in groups) else [_UNSTABLE]

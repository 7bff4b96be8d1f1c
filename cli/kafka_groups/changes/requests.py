"""Send changes: all groups of an action at once, and what became of each change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeVar
from uuid import UUID

from kafka_groups.admin.api import Admin, Deadline, MemberIdentity
from kafka_groups.changes.change import Action, Change
from kafka_groups.errors import AdminError, OutcomeUnknownError, UnsupportedVersionError
from kafka_groups.model import CommittedOffset, Failure, Results, TopicPartition
from kafka_groups.protocol.topic_ids import parse_topic_id

K = TypeVar("K")


def send_changes(admin: Admin, changes: Sequence[Change], deadline: Deadline) -> list[Failure | None]:
    """Send changes; return the failure of each, None if it was made."""
    failures: list[Failure | None] = [None] * len(changes)
    for action in Action:
        places = [place for place, change in enumerate(changes) if change.action is action]
        if not places:
            continue
        of_action = [changes[place] for place in places]
        try:
            found: Sequence[Failure | None] = _send(admin, action, of_action, deadline)
        except AdminError as error:
            # Nothing of this action was requested; the outcomes of the others still have to be recorded.
            found = [Failure.of(error, group=change.group) for change in of_action]
        for place, failure in zip(places, found, strict=True):
            failures[place] = failure
    return failures


def by_group(changes: Sequence[Change]) -> dict[str, list[Change]]:
    """Return the changes of each group."""
    groups: dict[str, list[Change]] = {}
    for change in changes:
        groups.setdefault(change.group, []).append(change)
    return groups


def _send(admin: Admin, action: Action, changes: Sequence[Change], deadline: Deadline) -> list[Failure | None]:
    groups = by_group(changes)
    if action is Action.DELETE_GROUP:
        return _delete_groups(admin, changes, groups, deadline)
    if action is Action.REMOVE_MEMBER:
        members = {group: [_identity(change) for change in each] for group, each in groups.items()}
        removed = admin.remove_members_from_consumer_group(members, timeout=deadline)
        return [_failure_of(removed, change.group, _identity(change)) for change in changes]
    if action is Action.SHARE_OFFSET:
        starts: dict[str, dict[tuple[str, int], int | None]] = {
            group: {_key(change): change.new_offset for change in each} for group, each in groups.items()
        }
        results = admin.alter_share_group_offsets(starts, timeout=deadline)
    elif action is Action.DELETE_OFFSETS:
        return _delete_offsets(admin, changes, deadline)
    else:
        offsets: dict[str, dict[tuple[str, int], CommittedOffset]] = {
            group: {_key(change): _after(change) for change in each} for group, each in groups.items()
        }
        results = admin.alter_consumer_group_offsets(offsets, topic_ids=_topic_ids(changes), timeout=deadline)
    return [_failure_of(results, change.group, _key(change)) for change in changes]


def _delete_offsets(admin: Admin, changes: Sequence[Change], deadline: Deadline) -> list[Failure | None]:
    """Delete commits, and the start offsets of share groups, of the whole topics that the changes have."""
    commits = by_group([change for change in changes if not change.has_start_offset])
    starts = by_group([change for change in changes if change.has_start_offset])
    keys = {group: [_key(change) for change in of_group] for group, of_group in commits.items()}
    topics = {group: [_key(change).topic for change in of_group] for group, of_group in starts.items()}
    by_key = admin.delete_consumer_group_offsets(keys, timeout=deadline) if keys else Results()
    by_topic = admin.delete_share_group_offsets(topics, timeout=deadline) if topics else Results()
    return [
        _of_partition(_failure_of(by_topic, change.group, _key(change).topic), _key(change))
        if change.has_start_offset
        else _failure_of(by_key, change.group, _key(change))
        for change in changes
    ]


def _of_partition(failure: Failure | None, key: TopicPartition) -> Failure | None:
    """Return the failure of a topic as that of one partition."""
    return None if failure is None else failure._replace(topic=key.topic, partition=key.partition)


def _delete_groups(
    admin: Admin, changes: Sequence[Change], groups: Mapping[str, Sequence[Change]], deadline: Deadline
) -> list[Failure | None]:
    """Delete groups. The commits of one that are too many for one batch of records are deleted before it, in parts.

    Brokers before Kafka 2.4 cannot delete commits, so they get the group as it is. A group stays if it is unknown what
    became of a commit: its deletion would hide that.
    """
    from kafka_groups.admin.api_handler import as_unsent
    from kafka_groups.admin.handlers.record_sizes import MAX_BATCH_BYTES, first_batch, tombstone_bytes

    keys = {group: [change.key for change in each if change.key is not None] for group, each in groups.items()}
    # The start offsets of share groups are in another topic, which the broker changes partition by partition.
    sizes = {
        group: 0 if groups[group][0].has_start_offset else _tombstones_bytes(group, each)
        for group, each in keys.items()
    }
    known: dict[tuple[str, TopicPartition], Failure | None] = {}
    failed: dict[str, Failure] = {}
    for group in [group for group, size in sizes.items() if size > MAX_BATCH_BYTES]:
        last = first_batch(keys[group], partial(tombstone_bytes, group))
        first = keys[group][len(last) :]
        results = admin.delete_consumer_group_offsets({group: first}, timeout=deadline)
        outcomes = {key: _failure_of(results, group, key) for key in first}
        lost = {key: why for key, why in outcomes.items() if why is not None and why.name == OutcomeUnknownError.name}
        if lost:
            failed[group] = as_unsent(next(iter(lost.values())))
        elif group in results.failed and results.failed[group].name != UnsupportedVersionError.name:
            failed[group] = results.failed[group]
        deleted = {key: None for key, why in outcomes.items() if why is None}
        known |= {(group, key): why for key, why in {**deleted, **lost}.items()}
        sizes[group] = _tombstones_bytes(group, [key for key in keys[group] if key not in deleted])
    remaining = [group for group in groups if group not in failed]
    failed |= admin.delete_consumer_groups(remaining, record_bytes=sizes, timeout=deadline).failed
    # A commit that was deleted before its group is deleted, whatever became of the group.
    return [
        known.get((change.group, change.key), failed.get(change.group)) if change.key else failed.get(change.group)
        for change in changes
    ]


def _tombstones_bytes(group: str, keys: Sequence[TopicPartition]) -> int:
    from kafka_groups.admin.handlers.record_sizes import tombstone_bytes

    return sum(tombstone_bytes(group, key) for key in keys)


def _topic_ids(changes: Sequence[Change]) -> dict[str, UUID]:
    known = {change.topic: change.topic_id for change in changes}
    return {
        topic: parse_topic_id(topic_id)
        for topic, topic_id in known.items()
        if topic is not None and topic_id is not None
    }


def _failure_of(results: Results[str, Mapping[K, Failure | None]], group: str, key: K) -> Failure | None:
    outcomes = results.succeeded.get(group)
    return results.failed[group] if outcomes is None else outcomes[key]


def _identity(change: Change) -> MemberIdentity:
    return MemberIdentity(change.member_id or "", change.group_instance_id)


def _key(change: Change) -> TopicPartition:
    key = change.key
    assert key is not None
    return key


def _after(change: Change) -> CommittedOffset:
    after = change.after
    assert after is not None
    return after

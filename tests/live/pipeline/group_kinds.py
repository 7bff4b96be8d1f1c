"""Groups of every kind on one broker, and everything that may happen to them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import Consumer, TopicPartition
from kio.schema.offset_delete.v0.request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kio.schema.types import GroupId, TopicName
from kio.static.primitive import i32

from tests.live.groups.contexts import enter_concurrently
from tests.live.groups.members import commit_from_outside, delete_group, empty, one_by_one
from tests.live.groups.other_kinds import share, streams
from tests.live.groups.raw_connection import commit_annotated, connect_to_coordinator
from tests.live.groups.topics import client_properties, delete_topic, make_topic, unique_name
from tests.live.pipeline.offsets_topic import commit, commit_and_abort, commit_in_transaction

RECORDS = 8
SHORT_METADATA = "m" * 127  # the first length that takes two bytes of a record, as Kafka writes it plus one
LONG_METADATA = "größe ✓ 雪 " * 250  # 4,000 bytes, of the 4,096 that brokers take
_NEWER = {"group.protocol": "consumer"}


@dataclass(frozen=True, kw_only=True)
class GroupKinds:
    """The names of the groups, and of the topic of two partitions that all of them read."""

    topic: str
    classic: str
    consumer: str
    share: str
    streams: str
    migrated: str  # a classic member, then a KIP-848 one beside it; then the classic one alone
    matching: str  # a KIP-848 group that subscribes to an expression
    upgraded: str  # a classic group that was Empty when a KIP-848 member came
    assigned: str
    transactional: str
    annotated: str
    reset: str
    trimmed: str
    bereft: str
    gone_topic: str
    deleted_classic: str
    deleted_consumer: str
    deleted_simple: str


@contextmanager
def run_groups(bootstrap: str) -> Iterator[GroupKinds]:
    """All that happens has happened, and the groups that can have members have them until the end."""
    topic = make_topic(bootstrap, partitions=2, records=RECORDS)
    commits = [(topic, 0, 3), (topic, 1, 5)]
    with ThreadPoolExecutor(4) as pool:
        upgrading = pool.submit(_emptied, bootstrap, topic, consumer_protocol=False)
        deleted = [pool.submit(_deleted, bootstrap, topic, consumer_protocol=newer) for newer in (False, True)]
        gone_topic = pool.submit(_gone_topic, bootstrap)
        alone = _without_members(bootstrap, topic)
    with enter_concurrently(
        classic=one_by_one(bootstrap, topic, {}, {}, commits=commits),
        consumer=one_by_one(bootstrap, topic, _NEWER, _NEWER, commits=commits),
        migrated=one_by_one(bootstrap, topic, {}, _NEWER, commits=commits),
        upgraded=one_by_one(bootstrap, topic, _NEWER, commits=commits, name=upgrading.result()),
        matching=one_by_one(bootstrap, f"^{topic}$", _NEWER),
        share=share(bootstrap, topic),
        streams=streams(bootstrap, topic),
    ) as live:
        bereft, gone = gone_topic.result()
        classic, consumer = (group.result() for group in deleted)
        yield GroupKinds(
            topic=topic,
            bereft=bereft,
            gone_topic=gone,
            deleted_classic=classic,
            deleted_consumer=consumer,
            **live,
            **alone,
        )


def _without_members(bootstrap: str, topic: str) -> dict[str, str]:
    names = ("assigned", "transactional", "annotated", "reset", "trimmed", "deleted_simple")
    groups = {name: unique_name(name) for name in names}
    _assign_and_commit(bootstrap, groups["assigned"], topic)
    commit_in_transaction(bootstrap, groups["transactional"], topic, 4)
    commit_and_abort(bootstrap, groups["transactional"], topic, 666)
    for partition, metadata in enumerate((SHORT_METADATA, LONG_METADATA)):
        commit_annotated(
            bootstrap,
            groups["annotated"],
            topic,
            partition=partition,
            offset=partition + 1,
            leader_epoch=0,
            metadata=metadata,
        )
    commit(bootstrap, groups["reset"], topic, 6, 2)
    commit_from_outside(bootstrap, [groups["trimmed"], groups["deleted_simple"]], [(topic, 0, 1), (topic, 1, 2)])
    _delete_offset(bootstrap, groups["trimmed"], topic, partition=1)
    delete_group(bootstrap, groups["deleted_simple"])
    return groups


def _emptied(bootstrap: str, topic: str, *, consumer_protocol: bool) -> str:
    with empty(bootstrap, topic, commits=[(topic, 0, 1)], consumer_protocol=consumer_protocol) as group:
        return group


def _deleted(bootstrap: str, topic: str, *, consumer_protocol: bool) -> str:
    group = _emptied(bootstrap, topic, consumer_protocol=consumer_protocol)
    delete_group(bootstrap, group)
    return group


def _gone_topic(bootstrap: str) -> tuple[str, str]:
    group, topic = unique_name("bereft"), make_topic(bootstrap, records=RECORDS)
    commit(bootstrap, group, topic, 7)
    delete_topic(bootstrap, topic)
    return group, topic


def _assign_and_commit(bootstrap: str, group: str, topic: str) -> None:
    consumer = Consumer(client_properties(bootstrap) | {"group.id": group, "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        consumer.commit(offsets=[TopicPartition(topic, 0, 5)], asynchronous=False)
    finally:
        consumer.close()


def _delete_offset(bootstrap: str, group: str, topic: str, *, partition: int) -> None:
    """What kafka-consumer-groups.sh --delete-offsets requests; librdkafka's Python client cannot."""
    partitions = (OffsetDeleteRequestPartition(partition_index=i32(partition)),)
    wanted = OffsetDeleteRequestTopic(name=TopicName(topic), partitions=partitions)
    with connect_to_coordinator(bootstrap, group) as wire:
        answer = wire.send(OffsetDeleteRequest(group_id=GroupId(group), topics=(wanted,)))
    assert not int(answer.error_code), answer
    assert not int(answer.topics[0].partitions[0].error_code), answer

"""Share groups of real consumers, which acknowledge chosen records; they start at the earliest ones (KIP-932)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from confluent_kafka import AcknowledgeType, ShareConsumer

from tests.live.groups.conditions import wait_until
from tests.live.groups.group_configs import configure_group
from tests.live.groups.raw_descriptions import describe_share_group, share_offsets
from tests.live.groups.topics import client_properties, unique_name

Records = Collection[tuple[str, int, int]]

_POLL_S = 0.2
_COMMIT_S = 20
# A record that was released this often is archived, as if it had been accepted.
_MOST_DELIVERIES = "10"


@contextmanager
def share_pair(bootstrap: str, *topics: str, accepted: Records = (), name: str | None = None) -> Iterator[str]:
    """Yield a Stable share group with two live members, which have accepted these records of all those available.

    A record is a topic, a partition and an offset.
    """
    group = name or unique_name("share")
    with ExitStack() as stack:
        reader = stack.enter_context(_member(bootstrap, group, topics, number=1))
        _accept(reader, set(accepted))
        stack.enter_context(_member(bootstrap, group, topics, number=2))
        wait_until(lambda: _has_pair(bootstrap, group), lambda: str(describe_share_group(bootstrap, group)))
        _await_start_offsets(bootstrap, group, topics)
        yield group


@contextmanager
def empty_share(bootstrap: str, *topics: str, accepted: Records = (), name: str | None = None) -> Iterator[str]:
    """Yield an Empty share group whose only member accepted these records, released all others and left."""
    group = name or unique_name("share-empty")
    with _member(bootstrap, group, topics, number=1) as reader:
        _accept(reader, set(accepted))
        _await_start_offsets(bootstrap, group, topics)
    wait_until(
        lambda: describe_share_group(bootstrap, group).group_state == "Empty",
        lambda: str(describe_share_group(bootstrap, group)),
    )
    yield group


@contextmanager
def _member(bootstrap: str, group: str, topics: Sequence[str], *, number: int) -> Iterator[ShareConsumer]:
    if number == 1:
        settings = {"share.auto.offset.reset": "earliest", "share.delivery.count.limit": _MOST_DELIVERIES}
        configure_group(bootstrap, group, settings)
    own = {"group.id": group, "client.id": f"{group}-{number}", "share.acknowledgement.mode": "explicit"}
    consumer = ShareConsumer(client_properties(bootstrap) | own)
    try:
        consumer.subscribe(list(topics))
        yield consumer
    finally:
        consumer.close()


def _accept(consumer: ShareConsumer, remaining: set[tuple[str, int, int]]) -> None:
    """Poll until these records were delivered; accept them, and release the others."""

    def has_accepted_all() -> bool:
        for message in consumer.poll(_POLL_S):
            record = (message.topic(), message.partition(), message.offset())
            is_accepted = record in remaining
            consumer.acknowledge(message, AcknowledgeType.ACCEPT if is_accepted else AcknowledgeType.RELEASE)
            remaining.discard(record)
        errors = {partition: error for partition, error in (consumer.commit_sync(_COMMIT_S) or {}).items() if error}
        assert not errors, errors
        return not remaining

    wait_until(has_accepted_all, lambda: f"these records were not delivered: {remaining}")


def _has_pair(bootstrap: str, group: str) -> bool:
    found = describe_share_group(bootstrap, group)
    assigned = [member.assignment.topic_partitions for member in found.members]
    return found.group_state == "Stable" and len(assigned) == 2 and all(assigned)


def _await_start_offsets(bootstrap: str, group: str, topics: Sequence[str]) -> None:
    """Wait until the start offset of at least one partition of each topic is known."""

    def are_known() -> bool:
        known = {topic for (topic, _), (start, _) in share_offsets(bootstrap, group).items() if start >= 0}
        return known == set(topics)

    wait_until(are_known, lambda: str(share_offsets(bootstrap, group)))

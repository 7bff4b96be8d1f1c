"""The topics that a group reads, or will read, though no commit shows it: those that members subscribe to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Final

from kafka_groups.pipeline.transform.kernels.group_events import Record

# A record of each replaces what the record before with the same key named.
_NAMING: Final = frozenset(
    {
        "member_metadata",
        "member_left",
        "share_partitions",
        "share_partitions_removed",
        "regex_resolved",
        "regex_removed",
        "topology",
        "topology_removed",
        "generation",
        "group_emptied",
        "group_removed",
    }
)
# Type, member and expression.
Subject = tuple[str, str | None, str | None]


def subscribe(records: Sequence[Record], before: Mapping[Subject, tuple[str, ...]]) -> dict[Subject, tuple[str, ...]]:
    """Return the topics of each member, expression and share group at the end of a date; of none that has no topics.

    Samples show what members of classic and KIP-848 groups have been assigned, and count on their own date only; of
    share groups they show no topic.
    """
    topics = dict(before)
    # At one time, by their place in the log.
    for record in sorted(records, key=itemgetter(0)):
        if record.event_type in _NAMING:
            subject = (record.type, record.member_id, record.expression)
            if record.topics:
                topics[subject] = record.topics
            else:
                topics.pop(subject, None)
    return topics

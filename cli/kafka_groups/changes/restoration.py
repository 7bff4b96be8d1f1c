"""Whether `undo` could restore a commit: what is checked before a change that only `undo` takes back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kafka_groups.changes.change import Change
from kafka_groups.changes.current_groups import refuse
from kafka_groups.changes.current_topics import CurrentTopics
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.model import Failure

# The default of `offset.metadata.max.bytes`, which brokers compare with the number of UTF-16 units
# (OffsetMetadataManager.java). A commit that was made under a higher limit may be too long for today's.
_MAX_METADATA: Final = 4_096
_BYTES_OF_A_UNIT: Final = 2


def refuse_unrestorable(change: Change) -> Failure | None:
    """Return the failure of a change that undo may not take back, because brokers refuse it; None if they do not."""
    if change.group == "" and change.key is not None and change.before is None and change.after is not None:
        text = (
            "the commit is a new one of the empty group id, and brokers delete no single commits of it, so undo could "
            "not take it back; --force allows the change"
        )
        return refuse(change.group, text, change.key)
    units = len((change.metadata or "").encode("utf-16-le", "replace")) // _BYTES_OF_A_UNIT
    if units <= _MAX_METADATA:
        return None
    where = f"its commit on {change.topic}-{change.partition}"
    text = (
        f"{where} has {units:,} characters of metadata, and brokers accept {_MAX_METADATA:,} unless "
        "offset.metadata.max.bytes is higher, so undo may not restore it; --force allows the change"
    )
    return refuse(change.group, text, change.key)


def note_delivery_state(changes: Iterable[Change]) -> list[Note]:
    """Return a note if changes discard what share groups store of records in flight."""
    groups = {change.group for change in changes if change.has_start_offset}
    if not groups:
        return []
    subject = "1 share group" if len(groups) == 1 else f"{len(groups):,} share groups"
    text = (
        f"This discards the delivery state of {subject}, and undo cannot restore it: acknowledged records beyond the "
        "start offset are delivered again, and delivery counts begin again."
    )
    return [Note(NoteKind.UNRESTORABLE, None, text)]


def note_absent_topics(changes: Iterable[Change], topics: CurrentTopics) -> list[Note]:
    """Return a note on the commits of topics that do not exist, which brokers accept no more."""
    lost = [each for each in changes if each.topic is not None and topics.is_absent(each.topic)]
    if not lost:
        return []
    subject = "1 commit is on a topic" if len(lost) == 1 else f"{len(lost):,} commits are on topics"
    exists = "exists" if len(lost) == 1 else "exist"
    text = f"{subject} that no longer {exists}; undo cannot restore what is deleted of it."
    return [Note(NoteKind.UNRESTORABLE, None, text)]

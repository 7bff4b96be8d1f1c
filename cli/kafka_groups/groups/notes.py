"""Notes: what a user should know of a result that is no failure. They are printed on stderr, and stand in JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import NamedTuple


class NoteKind(StrEnum):
    """What a note is about. The values are those of JSON documents."""

    NO_MATCH = "no_match"
    NO_GROUPS = "no_groups"
    SKIPPED_GROUPS = "skipped_groups"
    DELETED_MEANWHILE = "deleted_meanwhile"
    NO_ACTIVE_MEMBERS = "no_active_members"
    REBALANCING = "rebalancing"
    NO_OFFSETS = "no_offsets"
    UNKNOWN_OFFSETS = "unknown_offsets"
    NAME_OF_STATE = "name_of_state"
    UNKNOWN_TOPIC_ID = "unknown_topic_id"
    UNREADABLE_ASSIGNMENT = "unreadable_assignment"
    UNREADABLE_WORKER = "unreadable_worker"
    SHARED_PARTITIONS = "shared_partitions"
    NO_GROUP_OF_TOPIC = "no_group_of_topic"
    NO_ORPHANS = "no_orphans"
    ISOLATION = "isolation"
    CONDITION_UNCHECKED = "condition_unchecked"
    SKIPPED_ROWS = "skipped_rows"
    TIME_READ = "time_read"
    OPEN_TRANSACTIONS_UNKNOWN = "open_transactions_unknown"
    TOPIC_IDS_UNKNOWN = "topic_ids_unknown"
    UNRESTORABLE = "unrestorable"
    LEFT_PARTITIONS = "left_partitions"
    INTERNAL_TOPICS = "internal_topics"
    UNCHANGED = "unchanged"
    UNDO = "undo"
    JOURNAL = "journal"
    SUMMARY = "summary"
    WAITING = "waiting"
    KNOWN_RESET = "known_reset"
    RETENTION_UNKNOWN = "retention_unknown"
    SAME_CLUSTER = "same_cluster"
    OTHER_GROUPS_SAMPLED = "other_groups_sampled"
    TROUBLE = "trouble"


class Note(NamedTuple):
    """A note. `subject` is the id of the group that it is about, None if it is about none or several.

    `cluster` is the name of the cluster in results, None if the note is about several.
    """

    kind: NoteKind
    subject: str | None
    text: str
    cluster: str | None = None


def note_each(notes: Iterable[Note], *, most: int, others: Callable[[int], Note]) -> list[Note]:
    """Return the first notes; beyond `most`, `others` returns one note on the number of the rest."""
    known = list(notes)
    rest = len(known) - most
    return known if rest <= 0 else [*known[:most], others(rest)]

"""A checkpoint: what a build knows about a group at the end of a day, to continue with the records of the next day.

Records are dated by their times, and ordered by their offsets. If the clocks of two coordinators differ, a record of
the next date may be *late*: it comes earlier in the log than the last records of a day. Late records are put between
the records of the day's last ten minutes. So a checkpoint also has these records, and what was known before them.

Example: the text of a checkpoint is JSON, and has the same fields.

>>> checkpoint = GroupCheckpoint(state="Stable", member_count=2, last_position=(0, 7))
>>> restored = GroupCheckpoint.from_json(checkpoint.to_json())
>>> restored.state, restored.member_count, restored.last_position
('Stable', 2, (0, 7))
>>> records = [GroupRecord(0, offset, 0, "GroupMetadata", "generation") for offset in (6, 8, 9)]
>>> [checkpoint.precedes(record) for record in records]
[False, True, True]
>>> recent = RecentRecords(checkpoint, records[2:])
>>> [recent.is_late(record) for record in records]
[False, True, False]
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, Self

from kafka_groups.pipeline.build.kernels.classic_rebalances import Generation
from kafka_groups.pipeline.build.kernels.epoch_rebalances import EpochChanges
from kafka_groups.pipeline.build.kernels.group_records import GroupRecord, log_position
from kafka_groups.pipeline.build.kernels.membership import Membership
from kafka_groups.pipeline.frames.arrays import NULL


class Subject(NamedTuple):
    """A group, a member or a regular expression whose record names topics."""

    record_name: str  # Kafka's name of the record
    member_id: str | None
    expression: str | None


Topics = Mapping[Subject, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class GroupCheckpoint:
    """What is known about a group after some of its records. The defaults describe a group without records."""

    membership: Membership = field(default_factory=Membership)
    changes: EpochChanges = field(default_factory=EpochChanges)  # since the last epoch of a KIP-848 group
    other_changes: EpochChanges = field(default_factory=EpochChanges)  # since that of a share or streams group
    generation: Generation | None = None  # the newest one of a classic group
    state: str | None = None  # None if it is unknown
    member_count: int = NULL  # number of members; UNKNOWN_COUNT, or NULL if no event has shown a number yet
    topics: Topics = field(default_factory=dict)  # topics that each subject named last
    last_position: tuple[int, int] | None = None  # partition and offset of the last record; None if there was none
    recent: RecentRecords | None = None  # None if the day had no record in its last ten minutes

    def precedes(self, record: GroupRecord) -> bool:
        """Return whether this checkpoint ends before a record, in the order of the log.

        Partitions of the topic have no common order, so a record in another partition counts as later.
        """
        if self.last_position is None:
            return True
        partition, offset = self.last_position
        return record.source_partition != partition or record.source_offset > offset

    def to_json(self) -> str:
        """Return the checkpoint as JSON. Two checkpoints are equal if and only if their texts are equal."""
        return json.dumps(self._fields(), separators=(",", ":"), sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | None) -> Self:
        """Return the checkpoint from the text of `to_json`; without a text, the checkpoint of an unknown group."""
        return cls() if text is None else cls._from_fields(json.loads(text))

    def _fields(self) -> dict[str, Any]:
        """Return the fields as objects for JSON, by the names of the fields.

        `recent` has the fields of the checkpoint before the recent records, which itself has no `recent`.
        """
        # Members of a group usually subscribe to the same topics, so each list of topics is written once. The lists are
        # sorted as texts, because None among the names cannot be compared.
        topics_and_subjects = sorted(((topics, subject) for subject, topics in self.topics.items() if topics), key=str)
        fields = {
            "membership": self.membership._asdict(),
            "changes": asdict(self.changes),
            "other_changes": asdict(self.other_changes),
            "generation": self.generation and self.generation._asdict(),
            "state": self.state,
            "member_count": self.member_count,
            "topics": [
                {"names": names, "subjects": [subject._asdict() for _, subject in subjects_of_topics]}
                for names, subjects_of_topics in groupby(topics_and_subjects, itemgetter(0))
            ],
            "last_position": self.last_position,
        }
        if self.recent is not None:
            fields["recent"] = {
                "before": self.recent.before._fields(),
                "records": [_without_nulls(record) for record in self.recent.records],
            }
        return fields

    @classmethod
    def _from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """Return the checkpoint from the fields that `_fields` returned.

        JSON has turned their tuples into lists. These stay lists where any collection will do.
        """
        recent = fields.get("recent")
        return cls(
            membership=Membership(**fields["membership"]),
            changes=EpochChanges(**fields["changes"]),
            other_changes=EpochChanges(**fields["other_changes"]),
            generation=fields["generation"] and Generation(**fields["generation"]),
            state=fields["state"],
            member_count=fields["member_count"],
            topics={
                Subject(**subject): tuple(topics["names"])
                for topics in fields["topics"]
                for subject in topics["subjects"]
            },
            last_position=fields["last_position"] and tuple(fields["last_position"]),
            recent=recent and RecentRecords(cls._from_fields(recent["before"]), _read_records(recent["records"])),
        )


@dataclass(frozen=True, slots=True)
class RecentRecords:
    """The records of a day from the first one in its last ten minutes on, in the order of the log."""

    before: GroupCheckpoint  # what was known before the first of these records
    records: Sequence[GroupRecord]  # at least one

    def is_late(self, record: GroupRecord) -> bool:
        """Return whether a record of the next day comes before the last of these records in the log.

        A record that precedes `before` is not late: its clock is wrong by more than ten minutes.
        """
        newest = self.records[-1]
        is_older = record.source_partition == newest.source_partition and record.source_offset < newest.source_offset
        return is_older and self.before.precedes(record)

    def join(self, others: Sequence[GroupRecord]) -> list[GroupRecord]:
        """Return these records and the others, in the order of the log."""
        return sorted([*self.records, *others], key=log_position)


def _without_nulls(record: GroupRecord) -> dict[str, Any]:
    """Return the fields of a record that are not None, for `_read_records`."""
    return {name: value for name, value in record._asdict().items() if value is not None}


def _read_records(rows: Sequence[Mapping[str, Any]]) -> list[GroupRecord]:
    """Return the records from rows that `_without_nulls` returned; JSON has turned their tuples into lists."""
    records = []
    for row in rows:
        tuples = {name: tuple(row[name]) for name in ("member_ids", "topics") if name in row}
        records.append(GroupRecord(**{**row, **tuples}))
    return records

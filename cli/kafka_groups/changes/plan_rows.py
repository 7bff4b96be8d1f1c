"""The rows of a file for --from-file: a plan of this tool, or the CSV of Kafka's tool for `reset`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from kafka_groups.admin.api import Admin, Timeout
from kafka_groups.changes.change import Action, Change
from kafka_groups.changes.csv_file import read_csv
from kafka_groups.changes.partitions import NamedTopics
from kafka_groups.changes.plan_file import is_plan, read_plan
from kafka_groups.errors import PlanFileError
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.model import TopicPartition


@dataclass(frozen=True)
class PlanRows:
    """The rows of a file that are for a command, by group and partition.

    `name` is that of the file, None if there is no file. `cluster_id` is None for a CSV, which names no cluster and no
    commits before.
    """

    name: str | None = None
    rows: tuple[Change, ...] = ()
    cluster_id: str | None = None
    notes: tuple[Note, ...] = ()

    def is_empty(self) -> bool:
        """Return whether there is a file without a row for the command: it means no group, rather than all."""
        return self.name is not None and not self.rows

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the groups of the rows, each once."""
        return tuple(dict.fromkeys(row.group for row in self.rows))

    def select(self, selects: Callable[[str], bool]) -> PlanRows:
        """Return the rows of the groups that the caller selects, with a note on the others."""
        kept = tuple(row for row in self.rows if selects(row.group))
        skipped = len(self.rows) - len(kept)
        text = f"{skipped:,} rows of the file belong to other groups and are skipped."
        note = Note(NoteKind.SKIPPED_ROWS, None, text)
        return replace(self, rows=kept, notes=(*self.notes, note) if skipped else self.notes)

    def named_topics(self) -> NamedTopics:
        """Return the partitions of the rows."""
        topics: dict[str, set[int]] = {}
        for row in self.rows:
            if row.topic is not None and row.partition is not None:
                topics.setdefault(row.topic, set()).add(row.partition)
        return {topic: tuple(sorted(partitions)) for topic, partitions in topics.items()}

    def by_partition(self, group: str) -> Mapping[TopicPartition | None, Change]:
        """Return the rows of a group by partition."""
        return self._by_group.get(group, {})

    @cached_property
    def _by_group(self) -> Mapping[str, Mapping[TopicPartition | None, Change]]:
        rows: dict[str, dict[TopicPartition | None, Change]] = {}
        for row in self.rows:
            rows.setdefault(row.group, {})[row.key] = row
        return rows

    def require_cluster(self, admin: Admin, *, timeout: Timeout | None = None) -> None:
        """Raise PlanFileError for a plan of another cluster."""
        if self.cluster_id is not None and self.cluster_id != (cluster_id := admin.cluster_id(timeout=timeout)):
            msg = f"{self.name} is a plan of cluster {self.cluster_id}, and this is {cluster_id}; nothing was changed"
            raise PlanFileError(msg)


# A command without --from-file.
NO_FILE: Final = PlanRows()


def read_reset_rows(text: str, *, name: str, groups: Sequence[str]) -> PlanRows:
    """Return the new offsets of a plan or a CSV; `groups` are those that the user named. PlanFileError if malformed."""
    if is_plan(name, text):
        return read_plan_rows(text, name=name, actions=(Action.COMMIT, Action.SHARE_OFFSET))
    rows = read_csv(text, name=name, groups=groups)
    return PlanRows(
        name,
        tuple(
            Change(Action.COMMIT, row.group, row.topic, row.partition, new_offset=row.offset, new_metadata="")
            for row in sorted(rows, key=lambda row: (row.group, row.topic, row.partition))
        ),
    )


def read_plan_rows(text: str, *, name: str, actions: Collection[Action]) -> PlanRows:
    """Return the changes of a plan with one of these actions, and a note on the others. PlanFileError if malformed."""
    plan = read_plan(text, name=name)
    rows = tuple(change for change in plan.changes if change.action in actions)
    others = len(plan.changes) - len(rows)
    note = Note(NoteKind.SKIPPED_ROWS, None, f"{others:,} changes of the plan are for other commands and are skipped.")
    notes = (note,) if others else ()
    return PlanRows(name, rows, plan.cluster_id, notes)

"""The record of one run: its head, its changes, and their outcomes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from kafka_groups.changes.change import Change, Plan, Status
from kafka_groups.changes.journal import ID_TIME, SCHEMA
from kafka_groups.changes.journal_location import JournalLocation, reason_of
from kafka_groups.changes.plan_file import read_changes, read_time
from kafka_groups.errors import JournalError, PlanFileError

# Records of earlier versions have no sequence number, and no topic ids.
_OLD_SCHEMA: Final = "kafka-groups/journal/1"
# How long a broker may hold back a request whose response was lost.
_LATE: Final = timedelta(minutes=10)
_OLD_ROW_KEYS: Final = (
    "partition",
    "committed_offset",
    "leader_epoch",
    "metadata",
    "new_offset",
    "new_leader_epoch",
    "new_metadata",
    "member_id",
    "group_instance_id",
)


class RecordedOutcome(NamedTuple):
    """The outcome of a change, as its run recorded it; `message` is the reason if it was not made."""

    status: Status
    message: str
    note: str


class Run(NamedTuple):
    """A run. `outcomes` has those that were recorded, by the index of the change.

    `undoes` is the id of the run that it restores, and `settles` whether nothing was left of that one. A run that is
    not finished may have made each change without an outcome. One whose record is not complete (`is_whole`) changed
    nothing: its changes were not durable yet. Without a `sequence` the order of the run is unknown. Records of earlier
    versions do not count what was refused (`has_counts`).
    """

    id: str
    command: str
    created_at: datetime
    plan: Plan
    sequence: int | None = None
    bootstrap_servers: tuple[str, ...] = ()
    user: str | None = None
    host: str | None = None
    undoes: str | None = None
    settles: bool = False
    refused: int = 0
    failures: int = 0
    other_groups: tuple[str, ...] = ()
    outcomes: Mapping[int, RecordedOutcome] = MappingProxyType({})
    is_finished: bool = False
    is_whole: bool = True
    has_counts: bool = True

    def made(self) -> list[Change]:
        """Return the changes with the outcome done."""
        return [self.plan.changes[index] for index, each in sorted(self.outcomes.items()) if each.status is Status.DONE]

    def changed(self) -> list[Change]:
        """Return the changes of commits that were made, or may have been.

        A commit that was repeated as it was has changed nothing.
        """
        return [
            change
            for index, change in enumerate(self.plan.changes)
            if self._may_be_made(index) and moves_commit(change)
        ]

    def uncertain(self) -> list[Change]:
        """Return the changes of commits that may have been made, or not."""
        made = set(self.made())
        return [change for change in self.changed() if change not in made]

    def may_still_change(self, at: datetime) -> bool:
        """Return whether the outcome of a change was not known at a time, and the run was recent then.

        A broker may make a change some time after the client has ended.
        """
        outcomes = [self.outcomes.get(index) for index in range(len(self.plan.changes))]
        is_known = all(outcome is not None and outcome.status is not Status.UNKNOWN for outcome in outcomes)
        return not is_known and at - self.created_at <= _LATE

    def _may_be_made(self, index: int) -> bool:
        outcome = self.outcomes.get(index)
        return outcome is None or outcome.status in (Status.DONE, Status.UNKNOWN)


def moves_commit(change: Change) -> bool:
    """Return whether a change leaves another commit than it found; deletions leave none."""
    return change.key is not None and change.before != change.after


def read_record(location: JournalLocation, run_id: str) -> Run:
    """Return the run of a record. Raises JournalError if it is malformed, or cannot be read."""
    path = location.path(run_id)
    try:
        started_at = datetime.strptime(run_id.rpartition("-")[0], ID_TIME).replace(tzinfo=UTC)
        # Only whole lines count: the end of the last one may be missing.
        lines = location.read(run_id).decode("utf-8", "replace").split("\n")[:-1]
        if not lines:
            return Run(run_id, "", started_at, Plan("", started_at, ()), is_whole=False)
        head = _read_head(json.loads(lines[0]), path, run_id)
        changes, rest = _read_changes(lines, head, path)
        return _to_run(head, changes, rest, path)
    except OSError as error:
        msg = f"{path} cannot be read: {reason_of(error)}"
        raise JournalError(msg) from error
    except PlanFileError as error:
        raise JournalError(str(error)) from error
    except (ValueError, TypeError, RecursionError) as error:
        msg = f"{path} is not the journal of a run: its name or a line is malformed"
        raise JournalError(msg) from error


def _to_run(head: Mapping[str, Any], changes: tuple[Change, ...], rest: Iterable[str], path: str) -> Run:
    created_at = read_time(head["created_at"], f"{path}: created_at")
    is_whole = len(changes) == head["changes"]
    outcomes, has_end = _read_outcomes(rest, len(changes)) if is_whole else ({}, False)
    return Run(
        id=head["id"],
        command=head["command"],
        created_at=created_at,
        plan=Plan(head["cluster_id"], created_at, changes if is_whole else ()),
        sequence=head.get("sequence"),
        bootstrap_servers=tuple(head.get("bootstrap_servers", ())),
        user=head.get("user"),
        host=head.get("host"),
        undoes=head.get("undoes"),
        # In records of earlier versions, an undo without changes settles its run.
        settles=head.get("settles", head["changes"] == 0),
        refused=head.get("refused", 0),
        failures=head.get("failures", 0),
        other_groups=tuple(head.get("other_groups", ())),
        outcomes=outcomes,
        is_finished=has_end and len(outcomes) == len(changes),
        is_whole=is_whole,
        has_counts=head["schema"] == SCHEMA,
    )


def _read_head(head: Any, path: str, run_id: str) -> dict[str, Any]:
    """Return the first line; raise PlanFileError if it is not the one of a journal."""
    schema = head.get("schema") if isinstance(head, dict) else None
    if not isinstance(head, dict) or schema not in {SCHEMA, _OLD_SCHEMA}:
        msg = f"{path} is not the journal of a run: its schema is {json.dumps(schema)}; expected {SCHEMA}"
        raise PlanFileError(msg)
    numbers = [head.get("changes"), head.get("refused", 0), head.get("failures", 0)]
    are_counts = all(isinstance(each, int) and not isinstance(each, bool) and each >= 0 for each in numbers)
    sequence = head.get("sequence")
    undoes = head.get("undoes")
    are_optional = (sequence is None or isinstance(sequence, int)) and (undoes is None or isinstance(undoes, str))
    are_texts = all(isinstance(head.get(key), str) for key in ("command", "cluster_id", "created_at"))
    are_lists = all(_is_list_of_texts(head.get(key, [])) for key in ("bootstrap_servers", "other_groups"))
    if not (are_counts and are_optional and are_texts and are_lists) or head.get("id") != run_id:
        msg = f"{path} is not the journal of a run: its first line is malformed"
        raise PlanFileError(msg)
    return head


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _read_changes(lines: Sequence[str], head: Mapping[str, Any], path: str) -> tuple[tuple[Change, ...], Sequence[str]]:
    """Return the changes, fewer than the head says if the record ends before, and the lines after them."""
    changes: list[Change] = []
    at = 1
    while len(changes) < head["changes"] and at < len(lines):
        at += 1
        document = json.loads(lines[at - 1])
        where = f"{path}, line {at}"
        is_old = head["schema"] == _OLD_SCHEMA
        changes += read_changes(document, where, row_keys=_OLD_ROW_KEYS) if is_old else read_changes(document, where)
    return tuple(changes), lines[at:]


def _read_outcomes(lines: Iterable[str], count: int) -> tuple[dict[int, RecordedOutcome], bool]:
    """Return the outcomes, and whether the record has its last line. A malformed line is an unknown outcome."""
    outcomes: dict[int, RecordedOutcome] = {}
    has_end = False
    for line in lines:
        with suppress(ValueError, RecursionError, TypeError, AttributeError):
            document = json.loads(line)
            has_end = has_end or document.get("finished") is True
            message = document.get("message") or ""
            note = document.get("note") or ""
            outcome = RecordedOutcome(Status(document.get("status")), str(message), str(note))
            first, last = document.get("changes")
            if first in range(count) and last in range(first, count):
                outcomes.update(dict.fromkeys(range(first, last + 1), outcome))
    return outcomes, has_end

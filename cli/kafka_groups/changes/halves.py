"""Send again, in halves, what a coordinator could not write as one batch of records.

The size of a batch is limited by the broker's settings, which this tool does not know. A coordinator that cannot append
a batch returns UNKNOWN_SERVER_ERROR, an older one INVALID_COMMIT_OFFSET_SIZE, for everything in the request. The codes
may have other causes, so the groups are read back first, and halves are sent only where all is as before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Deadline
from kafka_groups.changes.change import Action, Change
from kafka_groups.changes.read_back import Seen, read_changes
from kafka_groups.changes.requests import by_group, send_changes
from kafka_groups.errors import AdminError, OutcomeUnknownError, UnsupportedVersionError
from kafka_groups.model import Failure
from kafka_groups.protocol.errors import INVALID_COMMIT_OFFSET_SIZE, UNKNOWN_SERVER_ERROR

_TOO_LARGE: Final = frozenset({UNKNOWN_SERVER_ERROR, INVALID_COMMIT_OFFSET_SIZE})
_READ_S: Final = 5.0
# A batch of a few records is not too large for any broker: the error has another cause, which halves would repeat.
_SMALLEST_BYTES: Final = 4_096


class Batch(NamedTuple):
    """Changes that one request had: commits of a group, or groups to delete."""

    changes: tuple[Change, ...]

    def halves(self) -> tuple[Batch, Batch] | None:
        """Return both halves; None for a single commit, for a single group, and if the size is not the cause."""
        if self.is_small():
            return None
        if self.changes[0].action is not Action.DELETE_GROUP:
            middle = len(self.changes) // 2
            return (Batch(self.changes[:middle]), Batch(self.changes[middle:])) if middle else None
        groups = list(by_group(self.changes).values())
        middle = len(groups) // 2
        if not middle:
            return None
        first = tuple(change for each in groups[:middle] for change in each)
        return Batch(first), Batch(self.changes[len(first) :])

    def is_small(self) -> bool:
        """Return whether the size is certainly not the cause."""
        return sum(_record_bytes(change) for change in self.changes) <= _SMALLEST_BYTES

    def is_one_group_of_commits(self) -> bool:
        """Return whether this deletes one group with several commits."""
        is_deletion = self.changes[0].action is Action.DELETE_GROUP
        return is_deletion and len(self.changes) > 1 and len(by_group(self.changes)) == 1


def _record_bytes(change: Change) -> int:
    """Return the estimated bytes of the record that a change writes."""
    from kafka_groups.admin.handlers.record_sizes import commit_bytes, tombstone_bytes

    if change.key is None or change.has_start_offset:
        return 0
    if change.after is None:
        return tombstone_bytes(change.group, change.key)
    return commit_bytes(change.group, change.key, change.after)


def is_too_large(failure: Failure | None) -> bool:
    """Return whether a failure may mean that the records of a request were too large for one batch."""
    return failure is not None and failure.code in _TOO_LARGE


def send_halves(
    admin: Admin, failed: Mapping[Change, Failure], *, deadline: Deadline, timeout_s: float = _READ_S
) -> dict[Change, Failure | None]:
    """Return what became of changes that failed as too large, after they were sent again in halves where possible.

    `timeout_s` is for each reading. What is not as before is made, or its outcome is unknown.
    """
    outcomes: dict[Change, Failure | None] = dict(failed)
    batches = _to_batches(list(failed))
    while batches:
        seen = _read(admin, batches, timeout_s)
        unchanged = [batch for batch in batches if all(seen[each] is Seen.AS_BEFORE for each in batch.changes)]
        for batch in batches:
            if batch not in unchanged:
                outcomes |= {each: _settle(seen[each], failed[each]) for each in batch.changes}
        if deadline.clock() >= deadline.end:
            break
        sent = _send_halves_of(admin, unchanged, failed, deadline)
        outcomes |= sent.outcomes
        batches = sent.too_large
        failed = {**failed, **{each: why for each, why in sent.outcomes.items() if why is not None}}
    return outcomes


class _Sent(NamedTuple):
    outcomes: dict[Change, Failure | None]
    too_large: list[Batch]


def _send_halves_of(
    admin: Admin, batches: Sequence[Batch], failed: Mapping[Change, Failure], deadline: Deadline
) -> _Sent:
    """Send the halves of batches, those of different groups together; what cannot be halved has failed."""
    outcomes: dict[Change, Failure | None] = {}
    too_large: list[Batch] = []
    pairs = [pair for pair in (batch.halves() for batch in batches) if pair is not None]
    single_groups = [batch for batch in batches if batch.is_one_group_of_commits() and not batch.is_small()]
    for wave in _to_waves([half for pair in pairs for half in pair]):
        made = _send_together(admin, wave, deadline)
        outcomes |= made
        too_large += [batch for batch in wave if any(is_too_large(made[each]) for each in batch.changes)]
    for batch in single_groups:
        outcomes |= _delete_commits_first(admin, batch, failed, deadline)
    return _Sent(outcomes, too_large)


def _to_waves(batches: Sequence[Batch]) -> list[list[Batch]]:
    """Return batches that may be sent together, without becoming one request: at most one of each group."""
    waves: list[list[Batch]] = []
    counts: Counter[object] = Counter()
    for batch in batches:
        change = batch.changes[0]
        # Groups that are deleted share requests.
        owner = Action.DELETE_GROUP if change.action is Action.DELETE_GROUP else change.group
        if counts[owner] == len(waves):
            waves.append([])
        waves[counts[owner]].append(batch)
        counts[owner] += 1
    return waves


def _send_together(admin: Admin, batches: Sequence[Batch], deadline: Deadline) -> dict[Change, Failure | None]:
    changes = [change for batch in batches for change in batch.changes]
    return dict(zip(changes, send_changes(admin, changes, deadline), strict=True))


def _delete_commits_first(
    admin: Admin, batch: Batch, failed: Mapping[Change, Failure], deadline: Deadline
) -> dict[Change, Failure | None]:
    """Delete the commits of a group but the last one, in halves if need be, and then the group.

    Brokers before Kafka 2.4 delete no single commits, so there the group has failed for the reason that it had.
    """
    *first, last = batch.changes
    as_offsets = {change._replace(action=Action.DELETE_OFFSETS): change for change in first}
    deleted = _send_together(admin, [Batch(tuple(as_offsets))], deadline)
    if any(why is not None and why.name == UnsupportedVersionError.name for why in deleted.values()):
        return {change: failed[change] for change in batch.changes}
    too_large = {change: why for change, why in deleted.items() if why is not None and is_too_large(why)}
    if too_large:
        deleted |= send_halves(admin, too_large, deadline=deadline)
    outcomes = {as_offsets[change]: why for change, why in deleted.items()}
    if any(why is not None for why in outcomes.values()):
        worst = next(why for why in outcomes.values() if why is not None)
        return {**outcomes, last: worst._replace(topic=None, partition=None)}
    return {**outcomes, last: send_changes(admin, [last], deadline)[0]}


def _to_batches(changes: Sequence[Change]) -> list[Batch]:
    groups = tuple(change for change in changes if change.action is Action.DELETE_GROUP)
    commits = by_group([change for change in changes if change.action is not Action.DELETE_GROUP])
    return [*([Batch(groups)] if groups else []), *(Batch(tuple(each)) for each in commits.values())]


def _read(admin: Admin, batches: Sequence[Batch], timeout_s: float) -> Mapping[Change, Seen]:
    changes = [change for batch in batches for change in batch.changes]
    try:
        return {change: seen.kind for change, seen in read_changes(admin, changes, timeout_s).items()}
    except AdminError:
        return dict.fromkeys(changes, Seen.UNREADABLE)


def _settle(seen: Seen, failure: Failure) -> Failure | None:
    if seen is Seen.MADE:
        return None
    if seen is Seen.AS_BEFORE:
        return failure
    unknown = OutcomeUnknownError.because(failure.to_error())
    return failure._replace(code=None, name=unknown.name, message=str(unknown))

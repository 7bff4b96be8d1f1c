"""One sentence on what changes do, for stderr."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_groups.changes.change import Change


def summarize_offsets(changes: Sequence[Change]) -> str:
    """Return how many records are read again, and how many are skipped.

    They are differences of offsets: a compacted log, or one with transactions, has fewer records.
    """
    if not changes:
        return ""
    deltas = [
        change.new_offset - change.committed_offset
        for change in changes
        if change.new_offset is not None and change.committed_offset is not None
    ]
    again, skipped = -sum(delta for delta in deltas if delta < 0), sum(delta for delta in deltas if delta > 0)
    parts = [
        _count(len({change.group for change in changes}), "group"),
        _count(len(changes), "partition"),
        f"{_count(again, 'record')} to read again",
        f"{_count(skipped, 'record')} to skip",
    ]
    created = sum(change.committed_offset is None for change in changes)
    deleted = sum(change.new_offset is None for change in changes)
    parts += [f"{_count(created, 'partition')} without a commit before"] if created else []
    parts += [f"{_count(deleted, 'commit')} to delete"] if deleted else []
    return f"{', '.join(parts)}."


def summarize_groups(changes: Sequence[Change]) -> str:
    """Return how many groups are deleted, with how many commits."""
    groups = {change.group for change in changes}
    commits = sum(change.committed_offset is not None for change in changes)
    return f"{_count(len(groups), 'group')} with {_count(commits, 'commit')}." if groups else ""


def summarize_commits(changes: Sequence[Change]) -> str:
    """Return how many commits are deleted, of how many groups."""
    groups = {change.group for change in changes}
    commits = sum(change.committed_offset is not None for change in changes)
    return f"{_count(commits, 'commit')} of {_count(len(groups), 'group')}." if groups else ""


def summarize_members(changes: Sequence[Change]) -> str:
    """Return how many members are removed."""
    return f"{_count(len(changes), 'member')}." if changes else ""


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

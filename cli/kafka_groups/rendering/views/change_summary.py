"""One sentence on what changes do, for stderr."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_groups.changes.change import Change
from kafka_groups.rendering.counts import count_of


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
    again = -sum(delta for delta in deltas if delta < 0)
    skipped = sum(delta for delta in deltas if delta > 0)
    parts = [
        count_of(len({change.group for change in changes}), "group"),
        count_of(len(changes), "partition"),
        f"{count_of(again, 'record')} to read again",
        f"{count_of(skipped, 'record')} to skip",
    ]
    created = sum(change.committed_offset is None for change in changes)
    deleted = sum(change.new_offset is None for change in changes)
    noun = _noun(changes)
    parts += [f"{count_of(created, 'partition')} without {_article(noun)} {noun} before"] if created else []
    parts += [f"{count_of(deleted, noun)} to delete"] if deleted else []
    return f"{', '.join(parts)}."


def summarize_groups(changes: Sequence[Change]) -> str:
    """Return how many groups are deleted, with how many commits."""
    groups = {change.group for change in changes}
    commits = sum(change.committed_offset is not None for change in changes)
    return f"{count_of(len(groups), 'group')} with {count_of(commits, _noun(changes))}." if groups else ""


def summarize_commits(changes: Sequence[Change]) -> str:
    """Return how many commits are deleted, of how many groups."""
    groups = {change.group for change in changes}
    commits = sum(change.committed_offset is not None for change in changes)
    return f"{count_of(commits, _noun(changes))} of {count_of(len(groups), 'group')}." if groups else ""


def _noun(changes: Sequence[Change]) -> str:
    """Return what the offsets of the changes are called: a commit, a start offset, or both."""
    nouns = {change.noun for change in changes}
    return nouns.pop() if len(nouns) == 1 else "offset"


def _article(noun: str) -> str:
    return "an" if noun.startswith("o") else "a"


def summarize_members(changes: Sequence[Change]) -> str:
    """Return how many members are removed."""
    return f"{count_of(len(changes), 'member')}." if changes else ""

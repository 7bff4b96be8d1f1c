"""The parts of notes that tests compare: texts, or kinds and the groups that they are about."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_groups.groups.notes import Note, NoteKind


def texts_of(notes: Iterable[Note]) -> list[str]:
    """Return the texts of notes."""
    return [note.text for note in notes]


def subjects_of(notes: Iterable[Note]) -> list[tuple[NoteKind, str | None]]:
    """Return the kind of each note, and the group that it is about."""
    return [(note.kind, note.subject) for note in notes]

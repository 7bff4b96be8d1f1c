"""The list of recorded runs, for `undo --list`."""

from __future__ import annotations

from typing import Final

from kafka_groups.changes.journal_location import JournalLocation
from kafka_groups.changes.runs import list_runs
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.rendering.documents import note_document
from kafka_groups.rendering.screen import Screen, print_note
from kafka_groups.rendering.views.runs import RUNS, SCHEMA, encode_run, run_row
from kafka_groups.rendering.writers.whole_result import write_document, write_records, write_rows

_NOTHING: Final = Note(NoteKind.JOURNAL, None, "No change is recorded.")


def print_runs(screen: Screen, journal: JournalLocation, output_format: str) -> None:
    """Print the runs of a journal, newest first; those of a shared one with their users and hosts."""
    listed = list_runs(journal)
    rows = [run_row(run) for run in listed.runs]
    notes = [*listed.notes, *([] if rows else [_NOTHING])]
    if output_format == "json":
        document = {
            "schema": SCHEMA,
            "runs": [encode_run(row) for row in rows],
            "notes": [note_document(note) for note in notes],
        }
        write_document(screen, document, indent=1)
    elif output_format == "ndjson":
        write_records(screen, map(encode_run, rows))
    else:
        write_rows(screen, RUNS.table(options={"--journal"} if journal.is_shared else ()), rows, output_format)
    for note in notes:
        print_note(screen, note.text)

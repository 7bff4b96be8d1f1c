"""The list of recorded runs, for `undo --list`."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_groups.changes.journal_location import JournalLocation
from kafka_groups.changes.runs import list_runs
from kafka_groups.rendering.documents import format_json
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.stderr import print_note
from kafka_groups.rendering.views.runs import RUNS, SCHEMA, RunRow, encode_run, run_row


def print_runs(screen: Screen, journal: JournalLocation, output_format: str) -> None:
    """Print the runs of a journal, newest first; those of a shared one with their users and hosts."""
    listed = list_runs(journal)
    rows = [run_row(run) for run in listed.runs]
    if output_format == "json":
        document = {"schema": SCHEMA, "runs": [encode_run(row) for row in rows]}
        screen.out.write(f"{format_json(screen, document, indent=1)}\n")
    elif output_format == "ndjson":
        screen.out.writelines(f"{format_json(screen, encode_run(row))}\n" for row in rows)
    else:
        _print_table(screen, rows, is_csv=output_format == "csv", is_shared=journal.is_shared)
    for note in (*listed.notes, *(() if rows else ("No change is recorded.",))):
        print_note(screen, note)


def _print_table(screen: Screen, rows: Sequence[RunRow], *, is_csv: bool, is_shared: bool) -> None:
    columns = RUNS.table(options={"--journal"} if is_shared else ())
    if is_csv:
        from kafka_groups.rendering.writers.csv import open_csv

        open_csv(screen).writerows(
            [[column.header for column in columns], *([c.of(row) for c in columns] for row in rows)]
        )
        return
    from kafka_groups.rendering.writers.table import write_table

    write_table(screen, columns, rows)

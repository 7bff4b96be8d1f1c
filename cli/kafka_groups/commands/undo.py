"""`kafka-groups undo`: restore the commits before a recorded change."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import click

from kafka_groups.changes.change import Status
from kafka_groups.changes.journal import begin_run, journal_directory
from kafka_groups.changes.runs import Run, RunSummary, list_runs, read_run
from kafka_groups.changes.undo import plan_undo
from kafka_groups.commands import offer
from kafka_groups.commands.change_options import ChangeOptions, change_options
from kafka_groups.commands.change_run import ChangeRun, open_change_session
from kafka_groups.commands.connection_options import Connection, connection_options
from kafka_groups.commands.options import output_options
from kafka_groups.errors import JournalError
from kafka_groups.rendering.change_summary import summarize_offsets
from kafka_groups.rendering.documents import format_json
from kafka_groups.rendering.screen import Screen, inspect_streams
from kafka_groups.rendering.stderr import print_note
from kafka_groups.rendering.views.runs import RUNS, SCHEMA, encode_run

# How long a broker may still make a change whose outcome is not known.
_LATE: Final = timedelta(minutes=10)


@click.command()
@click.argument("run_id", metavar="[ID]", required=False, shell_complete=offer("runs"))
@click.option("--list", "lists", is_flag=True, help="List the recorded changes, newest first. Needs no cluster.")
@click.option("--force", is_flag=True, help="Restore commits although they have moved since.")
@change_options()
@output_options()
@connection_options
def undo(
    *,
    run_id: str | None,
    lists: bool,
    force: bool,
    change: ChangeOptions,
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """Restore the commits before a change. Without --execute, only print what would be restored.

    reset, delete, delete-offsets and undo record each run with the commits before it. undo ID takes back that run, and
    undo without an ID the newest run on this cluster that is not undone, except for undo itself and remove-members.
    Offset, leader epoch and metadata are restored, and a commit is deleted where there was none. A commit that has
    moved since is refused without --force. A group with members is refused. For an interrupted run, undo reads from
    the cluster which changes were made.

    Not restored: members, the type of a KIP-848 group, commit times.

    The records are files in the user's state directory (Linux: ~/.local/state/kafka-groups/journal); delete them when
    you no longer need them.

    Needs Kafka 0.11 or newer, 2.4 where commits are deleted. Rights: DESCRIBE on the groups and topics; with --execute
    READ on both, and DELETE on groups where commits are deleted.

    \b
    Examples:
      kafka-groups undo --list
      kafka-groups undo -b localhost:9092
    """
    if lists:
        if run_id is not None or force or change.execute or change.dry_run or change.export is not None:
            raise click.UsageError("--list only lists; an ID, --execute, --dry-run, --export and --force contradict it")
        _print_runs(inspect_streams(colour), output_format)
        return
    with open_change_session(
        connection, command="undo", output_format=output_format, colour=colour, change=change
    ) as session:
        run = _find_run(run_id, session.admin.cluster_id(timeout=session.deadline))
        session.print_notes([f"Undoing {run.id}: {run.command}, {run.created_at:%Y-%m-%d %H:%M:%S} UTC."])
        planned = plan_undo(session.admin, run, force=force, timeout=session.deadline)
        is_settled = not (planned.rows or planned.failures)
        if change.execute and is_settled and _has_no_rest(run):
            # The cluster shows that nothing of the run is left, which the list should show, too.
            begin_run(journal_directory(), command="undo", plan=run.plan._replace(changes=()), undoes=run.id).finish()
        elif is_settled and run.undoes is None and _is_open(run):
            session.print_notes(
                ["A broker may still make changes of this run; undo it again ten minutes after it began."]
            )
        ChangeRun(
            session=session,
            command="undo",
            options=change,
            summarize=summarize_offsets,
            force=force,
            undoes=run.id,
        ).finish(planned)


def _has_no_rest(run: Run) -> bool:
    """Return whether a run of which the cluster shows nothing has nothing left that could still arrive.

    A broker may make a change some time after the client has ended.
    """
    return any(each.key is not None for each in run.plan.changes) and not _is_open(run)


def _is_open(run: Run) -> bool:
    """Return whether the outcome of a change is not known, and the run is recent."""
    outcomes = [run.outcomes.get(place) for place in range(len(run.plan.changes))]
    is_known = all(outcome is not None and outcome.status is not Status.UNKNOWN for outcome in outcomes)
    return not is_known and datetime.now(UTC) - run.created_at <= _LATE


def _find_run(run_id: str | None, cluster_id: str) -> Run:
    """Return the run to take back; JournalError if there is none, or if it is of another cluster."""
    directory = journal_directory()
    found = run_id
    if found is None:
        listed = list_runs(directory)
        found = next((run.id for run in listed.runs if _may_be_undone(run, cluster_id)), None)
        # Of runs of one second, a damaged record does not say which came first.
        if newer := [each for each in listed.damaged if found is None or _second_of(each) >= _second_of(found)]:
            msg = f"the record of run {max(newer)} cannot be read, and it may be the newest; give the ID of a run"
            raise JournalError(msg)
    if found is None:
        msg = f"no recorded change of cluster {cluster_id} can be undone; see kafka-groups undo --list"
        raise JournalError(msg)
    run = read_run(directory, found)
    if run.plan.cluster_id != cluster_id:
        msg = f"{run.id} changed cluster {run.plan.cluster_id}, and this is {cluster_id}; name its brokers with -b"
        raise JournalError(msg)
    return run


def _second_of(run_id: str) -> str:
    return run_id.rpartition("-")[0]


def _may_be_undone(run: RunSummary, cluster_id: str) -> bool:
    """Return whether a run may be the newest one to take back; an undo is taken back only by its ID."""
    is_open = run.command != "undo" and run.status != "undone"
    return run.cluster_id == cluster_id and run.is_undoable and is_open


def _print_runs(screen: Screen, output_format: str) -> None:
    listed = list_runs(journal_directory())
    if output_format == "json":
        document = {"schema": SCHEMA, "runs": [encode_run(run) for run in listed.runs]}
        screen.out.write(f"{format_json(screen, document, indent=1)}\n")
    elif output_format == "ndjson":
        screen.out.writelines(f"{format_json(screen, encode_run(run))}\n" for run in listed.runs)
    else:
        _print_table(screen, listed.runs, is_csv=output_format == "csv")
    for note in (*listed.notes, *(() if listed.runs else ("No change is recorded.",))):
        print_note(screen, note)


def _print_table(screen: Screen, runs: Sequence[RunSummary], *, is_csv: bool) -> None:
    if is_csv:
        from kafka_groups.rendering.writers.csv import open_csv

        columns = RUNS.table()
        open_csv(screen).writerows(
            [[column.header for column in columns], *([c.of(run) for c in columns] for run in runs)]
        )
        return
    from kafka_groups.rendering.writers.table import write_table

    write_table(screen, RUNS.table(), runs)

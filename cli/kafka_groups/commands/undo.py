"""`kafka-groups undo`: restore the commits before a recorded change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import click

from kafka_groups.changes.change import PlannedGroups
from kafka_groups.changes.journal_location import JournalLocation, open_named_journal
from kafka_groups.changes.retention import delete_runs, old_runs
from kafka_groups.changes.run_record import Run
from kafka_groups.changes.undo import plan_undo
from kafka_groups.changes.undo_choice import choose_named_run, choose_newest_run
from kafka_groups.commands.change_options import ChangeOptions, change_options
from kafka_groups.commands.change_run import ChangeRun
from kafka_groups.commands.change_session import open_change_session
from kafka_groups.commands.run_list import print_runs
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.options import offer
from kafka_groups.options.cluster_session import ClusterSession
from kafka_groups.options.connection import Connection, connection_options
from kafka_groups.options.output import output_options
from kafka_groups.options.parameters import parse_option_duration
from kafka_groups.rendering.counts import count_of
from kafka_groups.rendering.screen import Screen, inspect_streams, print_note

_LONGEST_S: Final = 100 * 365 * 86_400.0


@click.command()
@click.argument("run_id", metavar="[ID]", required=False, shell_complete=offer("runs"))
@click.option("--list", "lists", is_flag=True, help="List the recorded changes, newest first. Needs no cluster.")
@click.option(
    "--prune",
    metavar="DURATION",
    help="Remove the records of runs that are older, such as 90d. Needs no cluster; --dry-run only counts them.",
)
@click.option("--force", is_flag=True, help="Restore commits although they have moved since.")
@change_options()
@output_options()
@connection_options
def undo(
    *,
    run_id: str | None,
    lists: bool,
    prune: str | None,
    force: bool,
    change: ChangeOptions,
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """Restore the commits before a change. Without --execute, only print what would be restored.

    reset, delete, delete-offsets and undo record each run with the commits before it. undo ID takes back that run. undo
    without an ID takes the newest run on this cluster that is no undo and is not undone. If that one changed nothing,
    is partly undone, or removed members, nothing is undone: give an ID.
    Offset, leader epoch and metadata are restored, and a commit is deleted where there was none. A commit that has
    moved since is refused without --force, and one whose topic was recreated in any case. A group with members is
    refused. For an interrupted run, undo reads from the cluster which changes were made.

    Start offsets of share groups are restored inside the log; a deleted share group is recreated with them.

    Not restored: members, the type of a KIP-848 or streams group, commit times, and which records of a share group were
    acknowledged beyond its start offsets.

    The records are files in the user's state directory (Linux: ~/.local/state/kafka-groups/journal), or where --journal
    says: several users may share that directory, so it needs an ID.

    Needs Kafka 0.11 or newer, 2.4 where commits are deleted. Rights: DESCRIBE on the groups and topics; with --execute
    READ on both, and DELETE on groups where commits are deleted.

    \b
    Examples:
      kafka-groups undo --list
      kafka-groups undo -b localhost:9092
    """
    if lists or prune is not None:
        if lists and prune is not None:
            raise click.UsageError("--list contradicts --prune: give one or the other")
        if run_id is not None or force or change.execute or change.export is not None or (lists and change.dry_run):
            option = "--list only lists" if lists else "--prune only removes records"
            msg = f"{option}; an ID, --execute, --export and --force contradict it"
            raise click.UsageError(msg)
        _show_journal(open_named_journal(change.journal), inspect_streams(colour), output_format, prune, change)
        return
    if run_id is None and change.journal is not None:
        raise click.UsageError("several users may share --journal: give the ID of a run; undo --list lists the IDs")
    with open_change_session(
        connection, command="undo", output_format=output_format, colour=colour, change=change
    ) as session:
        _undo(session, _choose_run(session, open_named_journal(change.journal), run_id), change, force=force)


def _show_journal(
    journal: JournalLocation, screen: Screen, output_format: str, prune: str | None, change: ChangeOptions
) -> None:
    """List the runs of the journal, or remove the records of old ones."""
    if prune is None:
        print_runs(screen, journal, output_format)
    else:
        _prune(screen, journal, prune, dry_run=change.dry_run)


def _undo(session: ClusterSession, undone: Run, change: ChangeOptions, *, force: bool) -> None:
    """Restore the commits before a run."""
    session.print_messages([f"Undoing {undone.id}: {undone.command}, {undone.created_at:%Y-%m-%d %H:%M:%S} UTC."])
    run = ChangeRun(session=session, command="undo", options=change, force=force, undoes=undone.id)
    with run.planning():
        planned = plan_undo(session.admin, undone, force=force, timeout=session.deadline)
        session.add_notes(_note_late_changes(undone, planned))
        is_settled = _is_settled(planned) and _has_no_rest(undone)
    run.finish(planned, settles=is_settled)


def _choose_run(session: ClusterSession, journal: JournalLocation, run_id: str | None) -> Run:
    cluster_id = session.admin.cluster_id(timeout=session.deadline)
    if run_id is not None:
        return choose_named_run(journal, run_id, cluster_id=cluster_id)
    servers = session.admin.bootstrap_servers
    return choose_newest_run(journal, cluster_id=cluster_id, bootstrap_servers=servers)


def _note_late_changes(run: Run, planned: PlannedGroups) -> list[Note]:
    """Return a note if a broker may still make a change of a run that the plan does not restore."""
    restored = {(change.group, change.key) for change in planned.changes()}
    is_all_there = all((change.group, change.key) in restored for change in run.uncertain())
    if is_all_there or not run.may_still_change(datetime.now(UTC)):
        return []
    text = "A broker may still make changes of this run; undo it again ten minutes after it began."
    return [Note(NoteKind.UNDO, None, text)]


def _is_settled(planned: PlannedGroups) -> bool:
    """Return whether the cluster shows that nothing is left to restore."""
    return not (planned.rows or planned.failures)


def _has_no_rest(run: Run) -> bool:
    """Return whether none of a run's changes can still arrive, if the cluster shows none of them yet.

    A broker may make a change some time after the client has ended.
    """
    return any(each.key is not None for each in run.plan.changes) and not run.may_still_change(datetime.now(UTC))


def _prune(screen: Screen, journal: JournalLocation, age: str, *, dry_run: bool) -> None:
    seconds = parse_option_duration("--prune", age, longest_s=_LONGEST_S)
    runs = old_runs(journal, before=datetime.now(UTC) - timedelta(seconds=seconds))
    count = count_of(len(runs), "record")
    if dry_run:
        print_note(screen, f"{count} in {journal.name} would be removed.")
        return
    delete_runs(journal, runs)
    print_note(screen, f"{count} in {journal.name} {'was' if len(runs) == 1 else 'were'} removed.")

"""`kafka-groups orphans`: commits that nobody reads."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import starmap
from typing import Final

import click

from kafka_groups.changes.change import Action, Change, Plan, to_change
from kafka_groups.changes.plan_file import format_plan
from kafka_groups.command_lines import group_command
from kafka_groups.commands.change_session import STDOUT
from kafka_groups.commands.lag_polls import load_sections, read_polls_of
from kafka_groups.groups.notes import Note, NoteKind, note_each
from kafka_groups.groups.orphans import IdleRule, Orphan, Orphans, Reason, find_orphans
from kafka_groups.groups.selection import NO_MATCH, Selectors
from kafka_groups.kinds import kind_with_start_offsets
from kafka_groups.model import CommittedOffset, GroupOffsets, TopicPartition
from kafka_groups.options import offer
from kafka_groups.options.cluster_session import ClusterSession
from kafka_groups.options.connection import Connection, clusters_options
from kafka_groups.options.export import export_text
from kafka_groups.options.output import output_options, run_on_cluster
from kafka_groups.options.parameters import parse_option_duration
from kafka_groups.options.selectors import filter_options, selector_options
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.views.orphans import ORPHANS, orphans_entry
from kafka_groups.rendering.writers import Writer, open_writer

_IDLE: Final = "7d"
_MAX_NOTES: Final = 20
# The commands that make the changes of a plan.
_COMMANDS: Final = {Action.DELETE_OFFSETS: "delete-offsets", Action.DELETE_GROUP: "delete"}


@click.command()
@selector_options
@filter_options
@click.option(
    "--polls",
    "polls_file",
    metavar="FILE",
    shell_complete=offer("files"),
    help="The FILE of lag --polls, which says since when commits have not changed. Without it no group is idle.",
)
@click.option(
    "--idle",
    metavar="DURATION",
    help=f"With --polls: a group without members is idle if no commit has changed for this time. [default: {_IDLE}]",
)
@click.option(
    "--export",
    metavar="FILE",
    shell_complete=offer("files"),
    help="Write a plan to FILE as JSON, for --from-file of delete-offsets and delete. - prints it in place of the "
    "table.",
)
@output_options()
@clusters_options
def orphans(
    *,
    selectors: Selectors,
    polls_file: str | None,
    idle: str | None,
    export: str | None,
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """List commits that nobody reads.

    Without ids, --match or --all-groups, all consumer groups are searched. REASON is topic_deleted if the topic or the
    partition does not exist, not_subscribed if the group is Stable and no member has a partition of the topic (or, in
    a share group, subscribes to it), and idle if the group has no members and none of its commits has changed for the
    time of --idle. Brokers do not return when a group committed, so idle groups are found only with the file of lag
    --polls: run that by cron. If the partitions of a member are unknown, no topic of its group is not_subscribed.

    Nothing on the cluster is changed. The plan of --export has a deletion of commits for topic_deleted and
    not_subscribed, for delete-offsets --from-file, and a deletion of the group for idle, for delete --from-file; both
    only print what they would do until you add --execute. Brokers refuse to delete commits of a topic that does not
    exist: delete the group, or let the commits expire. Kafka deletes the start offsets of a share group only while it
    has no members, and only those of whole topics: a note names the topics that the plan does not have.

    Needs Kafka 0.11 or newer. Rights: DESCRIBE on each group and on its topics.

    \b
    Examples:
      kafka-groups orphans -b localhost:9092
      kafka-groups orphans --match 'bill.*' --export - -b localhost:9092
    """
    idle_ms = _read_idle_ms(idle, has_polls=polls_file is not None)
    if export == STDOUT and output_format != "table":
        msg = f"--export - prints the plan in place of the table; --format {output_format} contradicts it"
        raise click.UsageError(msg)
    if export is not None and connection.profiles:
        raise click.UsageError("--export contradicts several profiles: a plan has the changes of one cluster")
    make_writer = partial(_make_writer, output_format, is_silent=export == STDOUT)
    read_rule = (
        None if polls_file is None else _idle_rule_reader(polls_file, idle_ms, is_read_now=bool(connection.profiles))
    )
    body = partial(_find, selectors=selectors, read_rule=read_rule, export=export)
    run_on_cluster(connection, body, colour=colour, output_format=output_format, make_writer=make_writer)


def _find(
    session: ClusterSession,
    *,
    selectors: Selectors,
    read_rule: Callable[[ClusterSession], IdleRule] | None,
    export: str | None,
) -> None:
    rule = None if read_rule is None else read_rule(session)
    orphaned = find_orphans(session.admin, selectors, idle=rule, deadline=session.deadline)
    session.failures = orphaned.failures
    if export is not None and (orphaned.groups or orphaned.anything_read):
        _export(session, export, orphaned)
    _write_orphans(session, orphaned)


def _read_idle_ms(idle: str | None, *, has_polls: bool) -> int:
    """Return the duration of --idle in ms, or the default. Raises UsageError if it is given without --polls."""
    if idle is not None and not has_polls:
        raise click.UsageError("--idle needs --polls: brokers do not return when a group committed")
    return round(parse_option_duration("--idle", _IDLE if idle is None else idle) * 1000)


def _idle_rule_reader(polls_file: str, idle_ms: int, *, is_read_now: bool) -> Callable[[ClusterSession], IdleRule]:
    """Return the function that returns the rule for idle groups of a cluster, by the polls in a file.

    `is_read_now` for several clusters: a file that cannot be read is one error, and not one of each cluster.
    """
    known = load_sections(polls_file) if is_read_now else None

    def read(session: ClusterSession) -> IdleRule:
        cluster_id = session.admin.cluster_id(timeout=session.deadline)
        sections = load_sections(polls_file) if known is None else known
        polls = read_polls_of(sections, cluster_id, name=polls_file)
        return IdleRule(polls, idle_ms=idle_ms, now_ms=time.time_ns() // 1_000_000)

    return read


def _write_orphans(session: ClusterSession, orphaned: Orphans) -> None:
    """Write a row for each orphan, and a note if there is none."""
    is_noted = orphaned.groups or orphaned.failures or not orphaned.anything_read or NO_MATCH in orphaned.notes
    session.add_notes([*orphaned.notes, *([] if is_noted else [Note(NoteKind.NO_ORPHANS, None, "No orphans.")])])
    session.write(
        starmap(orphans_entry, orphaned.groups.items()),
        total=len(orphaned.groups),
        failures=orphaned.failures,
        anything_succeeded=orphaned.anything_read,
    )


def _export(session: ClusterSession, name: str, orphaned: Orphans) -> None:
    cluster_id = session.admin.cluster_id(timeout=session.deadline)
    changes, notes = _plan_changes(orphaned)
    session.add_notes(notes)
    text = format_plan(Plan(cluster_id, datetime.now(UTC), changes))
    session.end_progress()
    if name == STDOUT:
        session.screen.write_utf8(text)
        return
    export_text(name, text, what="the plan")
    session.print_messages([f"The plan was written to {name}.{_describe_use(changes)}"])


def _describe_use(changes: Iterable[Change]) -> str:
    """Return which commands the changes of the plan are for."""
    actions = {change.action for change in changes}
    commands = [command for action, command in _COMMANDS.items() if action in actions]
    return f" It is for {' and for '.join(f'`{command} --from-file`' for command in commands)}." if commands else ""


def _plan_changes(orphaned: Orphans) -> tuple[tuple[Change, ...], list[Note]]:
    """Return the deletions of orphans, and a note on each topic that has other start offsets, too."""
    changes: list[Change] = []
    notes: list[Note] = []
    for group, rows in orphaned.groups.items():
        starts = orphaned.start_offsets.get(group)
        others = {} if starts is None else _other_partitions(rows, starts)
        changes += [
            _change(orphan, has_start_offset=starts is not None) for orphan in rows if orphan.topic not in others
        ]
        if starts is not None:
            changes += _unknown_start_offsets(rows, starts, without=others)
        notes += [_note_part(group, other) for other in others.values()]
    return tuple(changes), note_each(notes, most=_MAX_NOTES, others=_note_other_parts)


def _change(orphan: Orphan, *, has_start_offset: bool) -> Change:
    action = Action.DELETE_GROUP if orphan.reason is Reason.IDLE else Action.DELETE_OFFSETS
    before = CommittedOffset(orphan.committed_offset, orphan.leader_epoch, orphan.metadata)
    key = TopicPartition(orphan.topic, orphan.partition)
    group_type = kind_with_start_offsets().group_type if has_start_offset else None
    return to_change(action, orphan.group, key, before, group_type=group_type)


def _other_partitions(orphans: Iterable[Orphan], starts: GroupOffsets) -> dict[str, TopicPartition]:
    """Return a partition that is not orphaned of each topic that has one: its start offset is known, or unreadable."""
    deleted = {TopicPartition(orphan.topic, orphan.partition) for orphan in orphans if orphan.reason is not Reason.IDLE}
    topics = {key.topic for key in deleted}
    known = [key for key, start in starts.rows() if start is not None]
    others = sorted({*known, *starts.failed} - deleted, reverse=True)
    return {key.topic: key for key in others if key.topic in topics}


def _unknown_start_offsets(
    orphans: Iterable[Orphan], starts: GroupOffsets, *, without: Collection[str]
) -> Iterator[Change]:
    """Yield deletions of the unknown start offsets of the topics that are deleted: they are deleted with the others."""
    topics = {(orphan.group, orphan.topic) for orphan in orphans if orphan.reason is not Reason.IDLE}
    group_type = kind_with_start_offsets().group_type
    for group, topic in sorted(topics):
        if topic in without:
            continue
        unknown = [key for key, start in starts.rows() if start is None and key.topic == topic]
        for key in unknown:
            yield to_change(Action.DELETE_OFFSETS, group, key, None, group_type=group_type)


def _note_other_parts(count: int) -> Note:
    text = f"The plan does not have {count:,} more topics of share groups, which have other start offsets, too."
    return Note(NoteKind.LEFT_PARTITIONS, None, text)


def _note_part(group: str, other: TopicPartition) -> Note:
    command = group_command("delete-offsets", group, "--topic", other.topic)
    text = (
        f"The plan does not have topic '{other.topic}' of group '{group}': Kafka deletes start offsets of whole topics "
        f"only, and the one of {other.topic}-{other.partition} is not orphaned. `{command}` deletes them all."
    )
    return Note(NoteKind.LEFT_PARTITIONS, group, text)


def _make_writer(output_format: str, screen: Screen, *, is_silent: bool) -> Writer:
    if is_silent:
        from kafka_groups.rendering.writers.silent import SilentWriter

        return SilentWriter()
    return open_writer(screen, output_format, command="orphans", view=ORPHANS, columns=ORPHANS.columns)

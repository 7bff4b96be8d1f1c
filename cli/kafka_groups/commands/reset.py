"""`kafka-groups reset`: commit new offsets, and alter start offsets of share groups."""

from __future__ import annotations

import click

from kafka_groups.changes.partitions import NamedTopics
from kafka_groups.changes.plan_rows import read_reset_rows
from kafka_groups.changes.reset import ResetRequest, plan_reset
from kafka_groups.changes.specifications.file_rows import from_rows
from kafka_groups.changes.specifications.specification import Specification
from kafka_groups.commands.change_options import ChangeOptions, change_options, read_text, select_rows
from kafka_groups.commands.change_run import ChangeRun
from kafka_groups.commands.change_session import open_change_session
from kafka_groups.commands.reset_options import ResetRule, specification_options
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.groups.selection import Selectors
from kafka_groups.options.connection import Connection, connection_options
from kafka_groups.options.output import output_options
from kafka_groups.options.selectors import filter_options, require_selectors, selector_options
from kafka_groups.options.topics import parse_topics, topic_option
from kafka_groups.rendering.writers import FORMATS


@click.command()
@selector_options
@filter_options
@topic_option()
@click.option("--all-topics", is_flag=True, help="All partitions on which the group has a commit.")
@specification_options
@click.option("--create", is_flag=True, help="Create groups that do not exist, by committing offsets for them.")
@click.option("--internal-topics", is_flag=True, help="Reset offsets on internal topics of Streams applications, too.")
@click.option("--force", is_flag=True, help="Reset although the commit has changed since the plan.")
@change_options(exports_csv=True)
@output_options(formats=(*FORMATS, "kafka"))
@connection_options
def reset(
    *,
    selectors: Selectors,
    topics: tuple[str, ...],
    all_topics: bool,
    rule: ResetRule,
    create: bool,
    internal_topics: bool,
    force: bool,
    change: ChangeOptions,
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """Reset offsets of groups. Without --execute, only print what would change.

    Each row has the committed offset, the new one, and a note where the new one needs an explanation: clamped to the
    log, no commit before, empty partition, unchanged. Name the partitions with --topic or --all-topics, and give one
    specification: --to-…, --shift-by, --by-duration or --from-file.

    A group with members is refused with its state and the hosts of its members. A partition without a leader is
    refused, too. The others are reset. A topic or partition that does not exist stops the command. Before it executes,
    the command reads the groups again, and refuses commits that have changed since the plan. It first records the
    commits, so that kafka-groups undo can restore them.

    Share groups have start offsets in place of commits: they stay inside the log, and altering one discards which
    records beyond it are acknowledged, which undo cannot restore. Offsets of streams groups on internal topics of the
    application are reset only with --internal-topics.

    Needs Kafka 0.11 or newer, share and streams groups 4.1. Rights: DESCRIBE on the groups and their topics; with
    --execute READ on both.

    \b
    Examples:
      kafka-groups reset billing --topic orders --to-earliest -b localhost:9092
      kafka-groups reset billing --all-topics --by-duration 2h --execute --yes -b localhost:9092
    """
    scope = _find_scope(rule, topics, all_topics=all_topics)
    # As in Kafka's tool, a CSV names its group unless exactly one --group was given.
    is_single = len(selectors.named) == 1 and selectors.match is None and not selectors.all_groups
    specification, selectors = _find_specification(rule, selectors, force=force)
    with open_change_session(
        connection, command="reset", output_format=output_format, colour=colour, change=change
    ) as session:
        session.add_notes([Note(NoteKind.TIME_READ, None, rule.note)] if rule.note else [])
        request = ResetRequest(specification, topics=scope, create=create, force=force, internal_topics=internal_topics)
        run = ChangeRun(
            session=session,
            command="reset",
            options=change,
            force=force,
            file=specification.file,
            csv_with_group=not is_single,
        )
        with run.planning():
            planned = plan_reset(session.admin, selectors, request, deadline=session.deadline)
        run.finish(planned)


def _find_specification(rule: ResetRule, selectors: Selectors, *, force: bool) -> tuple[Specification, Selectors]:
    """Return the specification and the groups that it is for: those of a file are the groups of its rows."""
    if rule.specification is not None:
        require_selectors(selectors)
        return rule.specification, selectors
    rows = read_reset_rows(read_text(rule.file), name=rule.file, groups=selectors.named)
    rows, selectors = select_rows(rows, selectors)
    return from_rows(rows, force=force), selectors


def _find_scope(rule: ResetRule, topics: tuple[str, ...], *, all_topics: bool) -> NamedTopics | None:
    """Return the partitions of --topic; None if the specification decides. UsageError if both do, or neither."""
    scope = parse_topics(topics) if topics else None
    if scope is not None and all_topics:
        raise click.UsageError("--topic contradicts --all-topics: give one or the other")
    if rule.specification is None and (scope is not None or all_topics):
        raise click.UsageError("--from-file names the partitions; --topic and --all-topics contradict it")
    if rule.needs_scope and scope is None and not all_topics:
        raise click.UsageError("no partition is selected; give --topic T[:P,…], or --all-topics")
    return scope

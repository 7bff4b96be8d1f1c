"""`kafka-groups offsets`: what groups have committed, and nothing else asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import click

from kafka_groups.admin import GroupOffsets
from kafka_groups.commands.cluster_session import Session, session
from kafka_groups.commands.options import (
    Connection,
    Selectors,
    parse_names,
    takes_connection,
    takes_output,
    takes_selectors,
)
from kafka_groups.commands.selection import NOT_LAST, Selection, anything_listed, select_groups
from kafka_groups.commands.survey import not_found, refusals, tell_skipped, without_vanished
from kafka_groups.commands.topics import parse_topics
from kafka_groups.model import GROUP_STATES, GROUP_TYPES, TopicPartition
from kafka_groups.rendering.columns import OFFSETS
from kafka_groups.rendering.documents import commits_document
from kafka_groups.rendering.formats import CsvWriter, Entry, JsonWriter, NdjsonWriter, TableWriter, Writer
from kafka_groups.rendering.rows import CommitRow, commit_rows
from kafka_groups.rendering.screen import Screen


@click.command()
@takes_selectors
@click.option(
    "--topic",
    "topics",
    metavar="T[:P,…]",
    multiple=True,
    help="Only this topic, or these partitions of it. Repeatable.",
)
@click.option("--stable", is_flag=True, help="Wait for open transactions that commit offsets.")
@click.option("--state", "states", metavar="STATE,…", multiple=True, help="Only groups in one of these states.")
@click.option("--type", "types", metavar="TYPE,…", multiple=True, help="Only groups of one of these types.")
@takes_output()
@takes_connection
def offsets(
    *,
    selectors: Selectors,
    topics: tuple[str, ...],
    stable: bool,
    states: tuple[str, ...],
    types: tuple[str, ...],
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """Committed offsets of groups, by partition: one look-up and one request a coordinator, for any number of groups.

    With --topic, a partition without a commit is a row too.

    \b
    kafka-groups offsets billing checkout
    kafka-groups offsets --all-groups --topic orders:0,1 --format json
    """
    if selectors.is_empty():
        raise click.UsageError("which groups? Name them, or give --match REGEX or --all-groups")
    wanted_topics = parse_topics(topics)
    in_states = parse_names(states, option="--state", valid=GROUP_STATES)
    of_types = parse_names(types, option="--type", valid=GROUP_TYPES)
    with session(connection, colour=colour, writer=lambda screen: _writer(screen, output_format)) as (asked, writer):
        selection = select_groups(asked.admin, selectors, states=in_states, types=of_types)
        asked.failures += [*selection.failures, *map(not_found, selection.absent)]
        tell_skipped(asked, selection)
        brokers = len(asked.admin.brokers())
        found = _fetch(asked, selection, wanted_topics, stable=stable)
        asked.show(
            writer,
            _entries(found),
            total=len(found),
            answered=bool(found) or (not selection.groups and anything_listed(selection, brokers=brokers)),
        )


def _fetch(
    asked: Session, selection: Selection, topics: Mapping[str, tuple[int, ...]], *, stable: bool
) -> Mapping[str, GroupOffsets]:
    partitions = _partitions(asked, topics) if topics else None
    if partitions == []:
        return {}
    answers = asked.admin.list_consumer_group_offsets(
        dict.fromkeys(selection.groups, partitions), require_stable=stable, share=NOT_LAST
    )
    asked.failures += without_vanished(asked, selection, answers.failed)
    asked.failures += refusals(answers.succeeded)
    missing = _missing(asked, selection, answers.succeeded, where=" on the named partitions" if topics else "")
    return {
        group: answers.succeeded[group]
        for group in selection.groups
        if group in answers.succeeded and group not in missing
    }


def _partitions(asked: Session, topics: Mapping[str, tuple[int, ...]]) -> list[TopicPartition]:
    """What was named, with every partition of the topics that were named whole."""
    whole = asked.admin.list_partitions([topic for topic, partitions in topics.items() if not partitions])
    asked.failures += whole.failed.values()
    return [
        TopicPartition(topic, partition)
        for topic, partitions in topics.items()
        for partition in partitions or whole.succeeded.get(topic, ())
    ]


def _missing(asked: Session, selection: Selection, found: Mapping[str, GroupOffsets], *, where: str) -> set[str]:
    """Of the ids that were named and have no commit, those that do not exist: OffsetFetch does not tell (KIP-709)."""
    doubtful = [
        group
        for group in selection.groups
        if group in selection.named
        and group not in selection.listings
        and group in found
        and not (found[group].refused or found[group].has_commits())
    ]
    if not doubtful:
        return set()
    failed = asked.admin.describe_groups(doubtful).failed
    asked.failures += failed.values()
    for group in doubtful:
        if group not in failed:
            asked.note(f"Consumer group '{group}' has no committed offsets{where}.")
    return set(failed)


def _entries(found: Mapping[str, GroupOffsets]) -> Iterator[Entry]:
    return (_entry(group, commit_rows(group, committed.rows())) for group, committed in found.items())


def _entry(group: str, rows: Sequence[CommitRow]) -> Entry:
    return Entry(
        columns=OFFSETS,
        rows=rows,
        document=lambda: commits_document(group, rows),
        records=lambda: (row._asdict() for row in rows),
    )


def _writer(screen: Screen, output_format: str) -> Writer:
    if output_format == "json":
        return JsonWriter(screen, "kafka-groups/offsets/1")
    if output_format == "ndjson":
        return NdjsonWriter(screen)
    return CsvWriter(screen, OFFSETS) if output_format == "csv" else TableWriter(screen, OFFSETS)

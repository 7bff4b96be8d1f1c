"""`kafka-groups offsets`: committed offsets, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain

import click

from kafka_groups.admin.api import TimePlan
from kafka_groups.groups.committed_offsets import list_group_offsets, offset_steps
from kafka_groups.groups.selection import Selectors, listing_steps, select_groups
from kafka_groups.kinds import Operation
from kafka_groups.options.cluster_session import ClusterSession
from kafka_groups.options.connection import Connection, clusters_options
from kafka_groups.options.output import output_options, require_one_table, run_on_cluster
from kafka_groups.options.selectors import filter_options, require_selectors, selector_options
from kafka_groups.options.topics import parse_topics, topic_option
from kafka_groups.rendering.views.offsets import COMMITS, group_by_table, offsets_entry
from kafka_groups.rendering.writers import open_writer


@click.command()
@selector_options
@filter_options
@topic_option("Only this topic, or these partitions of it. Repeatable.")
@click.option("--stable", is_flag=True, help="Wait until open transactions that commit offsets have ended.")
@output_options()
@clusters_options
def offsets(
    *,
    selectors: Selectors,
    topics: tuple[str, ...],
    stable: bool,
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """List offsets of groups, by partition.

    Consumer groups and streams groups have committed offsets, share groups have start offsets.

    Without --topic, the rows are the partitions that have a commit. With --topic, a partition without a commit is a
    row, too, and its offset is - (null in JSON, empty in CSV). Log end offsets and members are not requested: see
    describe for lag.

    Share groups are a table of their own: START-OFFSET, its leader epoch, and the lag that their coordinator computes,
    which is - if it does not know it. CSV has groups of one kind of offset. Groups of Connect workers have no offsets:
    --match and --all-groups skip them with a note. Classic groups of other protocols are skipped, too; one that is
    named is an error.

    If a group, a partition or a broker fails, its error is on stderr, and the others are printed. Nothing on the
    cluster is changed, and no group is joined.

    Needs Kafka 0.11 or newer, share groups 4.1, their lag 4.2. --stable needs 2.5, --state 2.6, and --type 3.8
    (Classic: any version): on an older broker only these options fail. Rights: DESCRIBE on each group, and on its
    topics. Without DESCRIBE on a topic, brokers leave out commits on it without an error; with --topic it is an error.
    --match and --all-groups select from the groups that list shows.

    \b
    Examples:
      kafka-groups offsets billing checkout -b localhost:9092
      kafka-groups offsets --all-groups --topic orders:0,1 -b localhost:9092 --format csv
    """
    require_selectors(selectors)
    partitions = parse_topics(topics)
    make_writer = partial(
        open_writer, output_format=output_format, command="offsets", view=COMMITS, columns=COMMITS.columns
    )
    body = partial(
        _list_offsets, selectors=selectors, topics=partitions, require_stable=stable, output_format=output_format
    )
    run_on_cluster(connection, body, colour=colour, output_format=output_format, make_writer=make_writer)


def _list_offsets(
    session: ClusterSession,
    *,
    selectors: Selectors,
    topics: Mapping[str, Sequence[int]],
    require_stable: bool,
    output_format: str,
) -> None:
    offset_plan = offset_steps(has_topics=bool(topics), require_stable=require_stable)
    plan = TimePlan(session.deadline, (*listing_steps(selectors), *offset_plan))
    selection = select_groups(session.admin, selectors, operation=Operation.LIST_OFFSETS, plan=plan)
    session.failures = selection.failures
    listed = list_group_offsets(session.admin, selection, topics=topics, require_stable=require_stable, plan=plan)
    session.add_notes(listed.notes)
    tables = group_by_table(listed.offsets)
    if output_format == "csv":
        require_one_table([*tables])
    # In one table for each kind of offset; JSON keeps the order of the groups.
    groups = chain.from_iterable(tables.values()) if output_format == "table" else listed.offsets
    session.write(
        (offsets_entry(group, listed.offsets[group]) for group in groups),
        total=len(listed.offsets),
        failures=listed.failures,
        anything_succeeded=bool(listed.offsets) or (not selection.groups and selection.anything_listed),
    )

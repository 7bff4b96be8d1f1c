"""The views of a Connect group: its workers, with the connectors and tasks that they run, and its state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from kafka_groups.members import ConnectorTasks
from kafka_groups.model import Member
from kafka_groups.rendering.columns import Column, View, name_column, number_column, text_column
from kafka_groups.rendering.schemas import (
    Document,
    array_schema,
    boolean_schema,
    number_schema,
    object_schema,
    text_schema,
)
from kafka_groups.rendering.views.group_views import GroupRows, GroupTable, GroupViews, TableStyle, fixed_columns
from kafka_groups.rendering.views.list_groups import GROUP
from kafka_groups.rendering.views.members import CLIENT_ID_TEXT, HOST_TEXT
from kafka_groups.rendering.views.state import STATE_TABLE, encode_state


class WorkerRow(NamedTuple):
    """A worker of a Connect group. Its work is None while the group rebalances, or if it is unreadable.

    `scheduled_delay_ms` is how long the leader still withholds the tasks of a lost worker, in milliseconds.
    """

    group: str
    member: Member
    url: str | None
    is_leader: bool | None
    leader_url: str | None
    config_offset: int | None
    has_config_mismatch: bool | None
    connectors: tuple[ConnectorTasks, ...] | None
    scheduled_delay_ms: int | None


def worker_rows(group: GroupRows) -> list[WorkerRow]:
    """Return a row for each worker, by URL."""
    workers = (_worker_row(group.description.group, member) for member in group.description.members)
    return sorted(workers, key=lambda row: (row.url or "", row.member.member_id))


def _worker_row(group: str, member: Member) -> WorkerRow:
    worker = member.worker
    if worker is None:
        return WorkerRow(group, member, *[None] * 7)
    return WorkerRow(
        group=group,
        member=member,
        url=worker.url,
        is_leader=None if worker.leader is None else worker.leader == member.member_id,
        leader_url=worker.leader_url,
        config_offset=worker.config_offset,
        has_config_mismatch=worker.has_config_mismatch,
        connectors=worker.connectors,
        scheduled_delay_ms=worker.scheduled_delay_ms,
    )


def _show_leader(is_leader: bool | None) -> str | None:  # noqa: FBT001 - it is the value of a cell
    if is_leader is None:
        return None
    return "yes" if is_leader else "no"


def _show_connectors(connectors: Iterable[ConnectorTasks] | None) -> str | None:
    """Return the names of the connectors that the worker runs itself, beside their tasks."""
    return ",".join(each.connector for each in connectors or () if each.has_connector) or None


def _show_tasks(connectors: Iterable[ConnectorTasks] | None) -> str | None:
    """Return the tasks as `connector:0,1;other:2`."""
    shown = [f"{each.connector}:{','.join(map(str, each.tasks))}" for each in connectors or () if each.tasks]
    return ";".join(shown) or None


def _encode_connectors(connectors: Sequence[ConnectorTasks] | None) -> list[Document] | None:
    return None if connectors is None else [each._asdict() for each in connectors]


_CONNECTORS: Final = array_schema(
    "The work of the worker, by connector; null while the group rebalances, or if it is unreadable.",
    object_schema(
        {
            "connector": text_schema("The name of the connector."),
            "has_connector": boolean_schema("Whether the worker runs the connector itself."),
            "tasks": array_schema("The numbers of the tasks that it runs.", {"type": "integer", "minimum": 0}),
        }
    ),
    nullable=True,
)
_WORKER_ID: Final = name_column(
    "WORKER-ID",
    "member.member_id",
    kafka_width=15,
    option="--verbose",
    schema=text_schema("The worker's member id."),
)
WORKERS: Final = View(
    (
        GROUP,
        text_column("URL", "url", schema=text_schema("The URL of the worker's REST interface.", nullable=True)),
        text_column(
            "LEADER",
            "is_leader",
            show=_show_leader,
            schema=boolean_schema("Whether the worker leads the group; null if it is unknown.", nullable=True),
        ),
        number_column(
            "CONFIG-OFFSET",
            "config_offset",
            schema=number_schema("How far the worker has read the config topic; null if it is unknown.", minimum=None),
        ),
        text_column("CONNECTORS", "connectors", when_narrow="fold", show=_show_connectors),
        text_column("TASKS", "connectors", when_narrow="fold", show=_show_tasks),
        number_column(
            "DELAY-MS",
            "scheduled_delay_ms",
            schema=number_schema(
                "How long the leader still withholds the tasks of a lost worker, in milliseconds; 0 if it withholds "
                "none, null if it is unknown."
            ),
        ),
        _WORKER_ID,
        name_column(
            "HOST", "member.host", kafka_width=15, when_narrow="cut", option="--verbose", schema=text_schema(HOST_TEXT)
        ),
        name_column(
            "CLIENT-ID",
            "member.client_id",
            kafka_width=15,
            when_narrow="cut",
            option="--verbose",
            schema=text_schema(CLIENT_ID_TEXT),
        ),
        text_column(
            "LEADER-URL",
            "leader_url",
            option="--verbose",
            schema=text_schema("The URL of the leader's REST interface; null if it is unknown.", nullable=True),
        ),
        Column("", "connectors", encode=_encode_connectors, schema=_CONNECTORS),
        Column(
            "",
            "has_config_mismatch",
            schema=boolean_schema(
                "True if the leader assigned nothing, because it had not read the newest configuration itself; the "
                "workers read it and join again. Null if it is unknown.",
                nullable=True,
            ),
        ),
    )
)
# Kafka has no tool that shows workers. Each column is as wide as its longest cell, so that the columns are aligned.
_KAFKA_COLUMNS: Final = {
    verbose: tuple(
        column._replace(kafka_width=max(15, len(column.header)), fits_longest=True)
        for column in WORKERS.table(options={"--verbose"} if verbose else ())
    )
    for verbose in (False, True)
}
_FIXED_COLUMNS: Final = fixed_columns(WORKERS, _KAFKA_COLUMNS)


def _worker_columns(rows: Sequence[WorkerRow], style: TableStyle) -> tuple[Column, ...]:
    """Return the columns of these workers: with member ids if the URL of one is unknown."""
    columns = _FIXED_COLUMNS(rows, style)
    has_urls = all(row.url is not None for row in rows)
    return columns if has_urls or style.verbose or style.as_kafka else (*columns, _WORKER_ID)


_TABLE: Final = GroupTable(WORKERS, worker_rows, _worker_columns)
_encode_worker: Final = WORKERS.encoder(without=("group",))


def connect_document(group: GroupRows) -> Document:
    """Return the JSON object of a Connect group. It has the same keys in every view."""
    workers = [_encode_worker(row) for row in worker_rows(group)]
    return {**encode_state(group.description), "offsets": [], "members": workers, "topology": None}


CONNECT_VIEWS: Final = GroupViews(
    tables={"offsets": _TABLE, "members": _TABLE, "state": STATE_TABLE},
    document=connect_document,
)

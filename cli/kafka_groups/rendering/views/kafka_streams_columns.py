"""The columns and rows of kafka-streams-groups.sh, for `describe --format kafka` of streams groups."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from operator import attrgetter
from typing import Final

from kafka_groups.groups.lag.rows import lag_of
from kafka_groups.members import StreamsMember, SubtopologyTasks
from kafka_groups.model import Broker, OffsetRow
from kafka_groups.rendering.columns import Column, name_column, text_column
from kafka_groups.rendering.views.group_views import GroupRows
from kafka_groups.rendering.views.list_groups import GROUP


def kafka_offset_rows(group: GroupRows) -> list[OffsetRow]:
    """Return the rows of a group by topic and partition.

    The lag of a partition without a commit is the number of records in its log, as the application would read them all.
    """
    return sorted(map(_with_lag, group.offsets), key=attrgetter("topic", "partition"))


def _with_lag(row: OffsetRow) -> OffsetRow:
    if row.committed_offset is not None:
        return row
    return row._replace(lag=lag_of(row.log_start_offset, row.log_end_offset))


def _show_coordinator(broker: Broker | None) -> str | None:
    """Return a coordinator with one blank, where the tool for consumer groups has two."""
    return f"{broker.host}:{broker.port} ({broker.id})" if broker else None


def _show_assignments(member: StreamsMember, *, verbose: bool) -> str:
    """Return the tasks of a member, with `verbose` also those that it will have."""
    roles = [("ACTIVE", member.tasks.active), ("STANDBY", member.tasks.standby), ("WARMUP", member.tasks.warmup)]
    if verbose:
        target = member.target_tasks
        roles.append(("TARGET-ACTIVE", target.active))
        roles.append(("TARGET-STANDBY", target.standby))
        roles.append(("TARGET-WARMUP", target.warmup))
    return "".join(f"{role}: {_show_tasks(tasks)}" for role, tasks in roles if tasks)


def _show_tasks(tasks: Iterable[SubtopologyTasks]) -> str:
    return "".join(f"{each.subtopology}:[{','.join(map(str, each.partitions))}]; " for each in tasks)


def _show_protocol(is_classic: bool) -> str:  # noqa: FBT001 - it is the value of a cell
    return "classic" if is_classic else "streams"


def _text(header: str, attribute: str, width: int) -> Column:
    return text_column(header, attribute, kafka_width=width)


_TOPIC: Final = name_column("TOPIC", "topic", kafka_width=15)
_PARTITION: Final = _text("PARTITION", "partition", 10)
_MEMBER: Final = name_column("MEMBER", "member.member_id", kafka_width=15)
_PROCESS: Final = name_column("PROCESS", "streams.process_id", kafka_width=15)
_CLIENT: Final = name_column("CLIENT-ID", "member.client_id", kafka_width=15)
_COORDINATOR: Final = name_column("COORDINATOR (ID)", "coordinator", kafka_width=25, show=_show_coordinator)
_ASSIGNMENTS: Final = {
    verbose: text_column("ASSIGNMENTS", "streams", kafka_width=0, show=partial(_show_assignments, verbose=verbose))
    for verbose in (False, True)
}

# Each by verbosity.
OFFSET_COLUMNS: Final = {
    False: (GROUP, _TOPIC, _PARTITION, _text("OFFSET-LAG", "lag", 0)),
    True: (
        GROUP,
        _TOPIC,
        _PARTITION,
        _text("CURRENT-OFFSET", "committed_offset", 15),
        _text("LEADER-EPOCH", "leader_epoch", 15),
        _text("LOG-END-OFFSET", "log_end_offset", 15),
        _text("OFFSET-LAG", "lag", 15),
    ),
}
MEMBER_COLUMNS: Final = {
    False: (GROUP, _MEMBER, _PROCESS, _CLIENT, _ASSIGNMENTS[False]),
    True: (
        GROUP,
        _text("TARGET-ASSIGNMENT-EPOCH", "member.target_epoch", 25),
        _text("TOPOLOGY-EPOCH", "streams.topology_epoch", 14),
        _MEMBER,
        text_column("MEMBER-PROTOCOL", "streams.is_classic", kafka_width=15, show=_show_protocol),
        _text("MEMBER-EPOCH", "member.epoch", 15),
        _PROCESS,
        _CLIENT,
        _ASSIGNMENTS[True],
    ),
}
STATE_COLUMNS: Final = {
    False: (GROUP, _COORDINATOR, _text("STATE", "state", 25), _text("#MEMBERS", "member_count", 0)),
    True: (
        GROUP,
        _COORDINATOR,
        _text("STATE", "state", 25),
        _text("GROUP-EPOCH", "group_epoch", 15),
        _text("TARGET-ASSIGNMENT-EPOCH", "target_assignment_epoch", 25),
        _text("#MEMBERS", "member_count", 0),
    ),
}

"""What each view shows: a column is declared once, with its header and the attribute of the row that it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from kafka_groups.rendering.rows import MemberRow


@dataclass(frozen=True)
class Column:
    """One column of a view.

    `least` is the width that Kafka's own tool gives it (`--format kafka`), 0 where it leaves the cell
    unpadded; `is_measured` says that a longer cell widens the whole column there. `gives_way` marks a
    text that a narrow terminal may fold; what identifies a row never does.
    """

    header: str
    of: Callable[[Any], Any]
    is_number: bool = False
    least: int = 0
    is_measured: bool = False
    gives_way: bool = False


def _name(header: str, attribute: str, *, least: int, gives_way: bool = False) -> Column:
    return Column(header, attrgetter(attribute), least=least, is_measured=True, gives_way=gives_way)


def _word(header: str, attribute: str, *, least: int = 0, gives_way: bool = False) -> Column:
    return Column(header, attrgetter(attribute), least=least, gives_way=gives_way)


def _number(header: str, attribute: str, *, least: int = 0) -> Column:
    return Column(header, attrgetter(attribute), is_number=True, least=least)


_GROUP: Final = _name("GROUP", "group", least=15)
_TYPE: Final = _word("TYPE", "type", least=20)
_STATE: Final = _word("STATE", "state", least=20)
_PROTOCOL: Final = _word("PROTOCOL", "protocol_type", least=20)
_TOPIC: Final = _name("TOPIC", "topic", least=15)
_PARTITION: Final = _number("PARTITION", "partition", least=10)
_LEADER_EPOCH: Final = _number("LEADER-EPOCH", "leader_epoch", least=15)
_METADATA: Final = _word("METADATA", "metadata", gives_way=True)
_ENDS: Final = (
    _number("CURRENT-OFFSET", "committed_offset", least=15),
    _number("LOG-END-OFFSET", "log_end_offset", least=15),
    _number("LAG", "lag", least=15),
    _name("CONSUMER-ID", "member_id", least=15, gives_way=True),
    _name("HOST", "host", least=15, gives_way=True),
    _word("CLIENT-ID", "client_id", gives_way=True),
)

OFFSETS: Final = (
    _GROUP,
    _TOPIC,
    _PARTITION,
    _number("COMMITTED-OFFSET", "committed_offset"),
    _LEADER_EPOCH,
    _METADATA,
)


def list_columns(*, types: bool, states: bool, protocols: bool) -> tuple[Column, ...]:
    """The list view: the group, and what was asked for besides."""
    wanted = ((types, _TYPE), (states, _STATE), (protocols, _PROTOCOL))
    return (_GROUP, *(column for is_wanted, column in wanted if is_wanted))


def offsets_columns(*, verbose: bool, as_kafka: bool = False) -> tuple[Column, ...]:
    """The offsets view of `describe`; `as_kafka` leaves out what Kafka's own tool does not show."""
    if not verbose:
        return (_GROUP, _TOPIC, _PARTITION, *_ENDS)
    if as_kafka:
        return (_GROUP, _TOPIC, _PARTITION, _LEADER_EPOCH, *_ENDS)
    start = _number("LOG-START-OFFSET", "log_start_offset")
    return (_GROUP, _TOPIC, _PARTITION, _LEADER_EPOCH, *_ENDS, start, _METADATA)


def member_columns(*, instances: bool, verbose: bool, upgrades: bool) -> tuple[Column, ...]:
    """The members view; `instances` and `upgrades` say whether those columns have something to show."""
    return (
        _GROUP,
        _name("CONSUMER-ID", "member_id", least=15),
        *((_name("GROUP-INSTANCE-ID", "group_instance_id", least=17),) if instances else ()),
        _name("HOST", "host", least=15, gives_way=True),
        _name("CLIENT-ID", "client_id", least=15, gives_way=True),
        _number("#PARTITIONS", "partitions", least=15),
        *(_member_details(upgrades=upgrades) if verbose else ()),
    )


def member_columns_of(rows: Sequence[MemberRow], *, verbose: bool) -> tuple[Column, ...]:
    """The members view for these rows: an instance column if a member has one, UPGRADED while both kinds are there."""
    return member_columns(
        instances=any(row.group_instance_id is not None for row in rows),
        verbose=verbose,
        upgrades=_are_mixed(row.upgraded for row in rows),
    )


def state_columns(*, verbose: bool) -> tuple[Column, ...]:
    """The state view."""
    epochs = (
        _number("GROUP-EPOCH", "group_epoch", least=15),
        _number("TARGET-ASSIGNMENT-EPOCH", "target_assignment_epoch", least=25),
    )
    return (
        _GROUP,
        _name("COORDINATOR (ID)", "coordinator", least=25),
        _word("ASSIGNMENT-STRATEGY", "assignor", least=20),
        _word("STATE", "state", least=20),
        *(epochs if verbose else ()),
        _number("#MEMBERS", "members"),
    )


def _member_details(*, upgrades: bool) -> tuple[Column, ...]:
    return (
        _number("CURRENT-EPOCH", "epoch", least=15),
        _name("CURRENT-ASSIGNMENT", "assignment", least=20, gives_way=True),
        _number("TARGET-EPOCH", "target_epoch", least=15),
        _name("TARGET-ASSIGNMENT", "target_assignment", least=20, gives_way=True),
        *((_word("UPGRADED", "upgraded"),) if upgrades else ()),
    )


def _are_mixed(upgraded: Iterable[bool | None]) -> bool:
    return {True, False} <= set(upgraded)

"""What each view shows: a column is declared once, with its header and the attribute of the row that it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from operator import attrgetter
from typing import Any, Final, Literal

from kafka_groups.rendering.rows import MemberRow


@dataclass(frozen=True)
class Column:
    """One column of a view; its value is an attribute of the row.

    `least` is the width that Kafka's own tool gives it (`--format kafka`), 0 where it leaves the cell
    unpadded; `is_measured` says that a longer cell widens the whole column there. `when_narrow` says what
    a terminal too narrow for the table may do to the text: cut it, fold it, or (None) nothing, as it
    identifies the row.
    """

    header: str
    attribute: str
    is_number: bool = False
    least: int = 0
    is_measured: bool = False
    when_narrow: Literal["cut", "fold"] | None = None

    @cached_property
    def of(self) -> Callable[[Any], Any]:
        """What takes the column's value from a row."""
        return attrgetter(self.attribute)


def _name(header: str, attribute: str, *, least: int, when_narrow: Literal["cut", "fold"] | None = None) -> Column:
    return Column(header, attribute, least=least, is_measured=True, when_narrow=when_narrow)


def _word(header: str, attribute: str, *, least: int = 0, when_narrow: Literal["cut", "fold"] | None = None) -> Column:
    return Column(header, attribute, least=least, when_narrow=when_narrow)


def _number(header: str, attribute: str, *, least: int = 0) -> Column:
    return Column(header, attribute, is_number=True, least=least)


_GROUP: Final = _name("GROUP", "group", least=15)
_TYPE: Final = _word("TYPE", "type", least=20)
_STATE: Final = _word("STATE", "state", least=20)
_PROTOCOL: Final = _word("PROTOCOL", "protocol_type", least=20)
_TOPIC: Final = _name("TOPIC", "topic", least=15)
_PARTITION: Final = _number("PARTITION", "partition", least=10)
_LEADER_EPOCH: Final = _number("LEADER-EPOCH", "leader_epoch", least=15)
_METADATA: Final = _word("METADATA", "metadata", when_narrow="fold")
_ENDS: Final = (
    _number("CURRENT-OFFSET", "committed_offset", least=15),
    _number("LOG-END-OFFSET", "log_end_offset", least=15),
    _number("LAG", "lag", least=15),
    _name("CONSUMER-ID", "member_id", least=15, when_narrow="cut"),
    _name("HOST", "host", least=15, when_narrow="cut"),
    _word("CLIENT-ID", "client_id", when_narrow="cut"),
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


@cache
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
        _name("HOST", "host", least=15, when_narrow="cut"),
        _name("CLIENT-ID", "client_id", least=15, when_narrow="cut"),
        # Where nothing follows it, Kafka's format still ends with a blank.
        _number("#PARTITIONS", "partitions", least=15 if verbose else 16),
        *(_member_details(upgrades=upgrades) if verbose else ()),
    )


def member_columns_of(rows: Sequence[MemberRow], *, verbose: bool) -> tuple[Column, ...]:
    """The members view for these rows: an instance column if a member has one, UPGRADED while both kinds are there."""
    return member_columns(
        instances=any(row.group_instance_id is not None for row in rows),
        verbose=verbose,
        upgrades=_are_mixed(row.upgraded for row in rows),
    )


@cache
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
        _name("CURRENT-ASSIGNMENT", "assignment", least=20, when_narrow="fold"),
        _number("TARGET-EPOCH", "target_epoch", least=15),
        _name("TARGET-ASSIGNMENT", "target_assignment", least=20, when_narrow="fold"),
        *((_word("UPGRADED", "upgraded"),) if upgrades else ()),
    )


def _are_mixed(upgraded: Iterable[str | None]) -> bool:
    return {"true", "false"} <= set(upgraded)

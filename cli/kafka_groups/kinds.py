"""The kinds of group: their names and types on the wire, their states, and what this tool can do with each of them.

A group's kind follows from its type (GroupType.java) and, for a classic group, from the protocol type of its members.
`admin.handlers.kind_handlers` maps a kind to its handler, and `rendering.views.kind_views` to its views.
"""

from __future__ import annotations

from enum import Enum
from functools import cache
from typing import Final, NamedTuple, Protocol


class Operation(Enum):
    """An operation that not every kind of group supports."""

    DESCRIBE = "describe"
    DESCRIBE_TOPOLOGY = "describe the topology"
    LIST_OFFSETS = "list committed offsets"
    ALTER_OFFSETS = "alter offsets"
    DELETE_OFFSETS = "delete offsets"
    # Of other kinds only if the user says so, because what they store may not be restored.
    DELETE = "delete groups"
    # Of members that use the classic protocol: brokers refuse the removal of others.
    REMOVE_MEMBERS = "remove members"


class Offsets(Enum):
    """What the progress of a group is, and so which API returns it."""

    COMMITTED = "committed offsets"
    START = "start offsets"
    NONE = "no offsets"


class Kind(NamedTuple):
    """A kind of group.

    `group_type` and `states` are spelled as Kafka's tools print them. `protocol_types` are those of its members, None
    for every one that no other kind of the same type has. `offsets`: committed offsets are those of OffsetFetch, start
    offsets those of DescribeShareGroupOffsets. `is_common`: most groups have such a kind, so a group of unknown type
    is described as one of them first. `noun` is what texts call a group of it. `has_epochs`: a description of an Empty
    group has more than its listing, which lacks the epochs. `has_consumer_members`: members of the classic protocol are
    consumers, whose subscriptions and assignments have the format of ConsumerProtocolSubscription.json.
    `has_workers`: members are workers of Kafka Connect, and `has_tasks`: members run tasks of a streams topology.
    `has_internal_topics`: its members create topics whose names begin with the group id, and commit offsets on some of
    them.
    """

    name: str
    group_type: str
    protocol_types: frozenset[str] | None
    states: tuple[str, ...]
    operations: frozenset[Operation]
    offsets: Offsets = Offsets.COMMITTED
    is_common: bool = False
    noun: str = "Consumer group"
    has_epochs: bool = False
    has_consumer_members: bool = False
    has_workers: bool = False
    has_tasks: bool = False
    has_internal_topics: bool = False

    def __hash__(self) -> int:
        """Return the hash of the name: a large cluster looks views up by kind a hundred thousand times."""
        return hash(self.name)

    @property
    def has_commits(self) -> bool:
        """Return whether its offsets are committed ones."""
        return self.offsets is Offsets.COMMITTED

    @property
    def has_start_offsets(self) -> bool:
        """Return whether its offsets are start offsets."""
        return self.offsets is Offsets.START

    @property
    def has_had_members(self) -> bool:
        """Return whether a member has joined a group of it: the first one sets the protocol type, which stays."""
        return self.protocol_types != frozenset({""})

    @property
    def has_offsets(self) -> bool:
        """Return whether it has offsets of any sort."""
        return self.offsets is not Offsets.NONE

    @property
    def plural(self) -> str:
        """Return what texts call several groups of it, within a sentence."""
        is_proper_name = self is CONNECT
        return f"{self.noun if is_proper_name else self.noun.lower()}s"

    def supports(self, operation: Operation) -> bool:
        """Return whether this tool has the operation for groups of this kind."""
        return operation in self.operations


class HasKind(Protocol):
    """A group whose kind is known: a listing or a description."""

    @property
    def type(self) -> str | None:
        """The type of the group."""

    @property
    def protocol_type(self) -> str | None:
        """The protocol type of its members."""


# GroupState.java, in the order of help texts.
REBALANCING_STATES: Final = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
STATES_WITHOUT_MEMBERS: Final = ("Empty", "Dead")
# The state of a streams group whose topology does not fit the topics.
NOT_READY: Final = "NotReady"
GROUP_STATES: Final = ("Stable", "Empty", *REBALANCING_STATES, NOT_READY, "Dead")

_CLASSIC_STATES: Final = ("Stable", "Empty", "PreparingRebalance", "CompletingRebalance", "Dead")
_EVERY_OPERATION: Final = frozenset(Operation) - {Operation.DESCRIBE_TOPOLOGY}
_NO_OPERATION: Final[frozenset[Operation]] = frozenset()

CLASSIC_CONSUMER: Final = Kind(
    "classic consumer",
    "Classic",
    frozenset({"consumer"}),
    _CLASSIC_STATES,
    _EVERY_OPERATION,
    is_common=True,
    has_consumer_members=True,
)
# A group that only commits offsets.
SIMPLE: Final = Kind("simple", "Classic", frozenset({""}), _CLASSIC_STATES, _EVERY_OPERATION, is_common=True)
# A group of Connect workers commits nothing: what it runs is in the metadata of its members.
CONNECT: Final = Kind(
    "Connect",
    "Classic",
    frozenset({"connect"}),
    _CLASSIC_STATES,
    frozenset({Operation.DESCRIBE}),
    offsets=Offsets.NONE,
    noun="Connect group",
    has_workers=True,
)
OTHER_CLASSIC: Final = Kind("other classic", "Classic", None, _CLASSIC_STATES, _NO_OPERATION, noun="Group")
CONSUMER: Final = Kind(
    "consumer (KIP-848)",
    "Consumer",
    frozenset({"consumer", ""}),
    ("Stable", "Empty", "Assigning", "Reconciling", "Dead"),
    _EVERY_OPERATION - {Operation.REMOVE_MEMBERS},
    is_common=True,
    has_epochs=True,
    has_consumer_members=True,
)
SHARE: Final = Kind(
    "share",
    "Share",
    frozenset({"share"}),
    ("Stable", "Empty", "Dead"),
    _EVERY_OPERATION - {Operation.REMOVE_MEMBERS},
    offsets=Offsets.START,
    noun="Share group",
    has_epochs=True,
)
STREAMS: Final = Kind(
    "streams",
    "Streams",
    frozenset({"streams"}),
    ("Stable", "Empty", "Assigning", "Reconciling", NOT_READY, "Dead"),
    (_EVERY_OPERATION - {Operation.REMOVE_MEMBERS}) | {Operation.DESCRIBE_TOPOLOGY},
    noun="Streams group",
    has_epochs=True,
    has_tasks=True,
    has_internal_topics=True,
)
KINDS: tuple[Kind, ...] = (CLASSIC_CONSUMER, SIMPLE, CONNECT, OTHER_CLASSIC, CONSUMER, SHARE, STREAMS)


def group_types(operation: Operation | None = None) -> tuple[str, ...]:
    """Return the types of group, each once; with an operation those that have a kind with it."""
    kinds = (kind for kind in KINDS if operation is None or kind.supports(operation))
    return tuple(dict.fromkeys(kind.group_type for kind in kinds))


def common_types() -> frozenset[str]:
    """Return the types of group that a group of unknown type is described as first."""
    return frozenset(kind.group_type for kind in KINDS if kind.is_common)


@cache
def has_start_offsets(group_type: str | None) -> bool:
    """Return whether the groups of a type have start offsets in place of committed ones."""
    return any(kind.offsets is Offsets.START for kind in KINDS if kind.group_type == group_type)


def kind_with_start_offsets() -> Kind:
    """Return the kind of the groups that have start offsets."""
    return next(kind for kind in KINDS if kind.offsets is Offsets.START)


def kind_of(group: HasKind) -> Kind:
    """Return the kind of a group.

    A group without a type was listed by a broker before Kafka 3.8, which has only classic ones.
    """
    return find_kind(group.type or SIMPLE.group_type, group.protocol_type or "")


@cache
def find_kind(group_type: str, protocol_type: str) -> Kind:
    """Return the kind of groups of a type, whose members have a protocol type.

    A kind that this tool does not know supports nothing; it may have commits.
    """
    kinds = [kind for kind in KINDS if kind.group_type == group_type]
    named = (kind for kind in kinds if kind.protocol_types is not None and protocol_type in kind.protocol_types)
    other = (kind for kind in kinds if kind.protocol_types is None)
    unknown = Kind(group_type, group_type, None, GROUP_STATES, _NO_OPERATION, noun="Group", has_epochs=True)
    return next(named, None) or next(other, None) or unknown


def supports(group: HasKind, operation: Operation) -> bool:
    """Return whether this tool has the operation for a group."""
    return operation in kind_of(group).operations


def label_of(group: HasKind) -> str:
    """Return the name of a group's kind on the wire: its type if no operation supports that type, else its protocol."""
    group_type = group.type
    if group_type is None or any(kind.operations for kind in KINDS if kind.group_type == group_type):
        return group.protocol_type or ""
    return group_type


def canonical_name(name: str) -> str | None:
    """Return a state or type in the spelling of Kafka's tools, whatever its case; None for an empty text."""
    return _spellings().get(name.lower(), name) or None


@cache
def _spellings() -> dict[str, str]:
    return {name.lower(): name for name in (*GROUP_STATES, *group_types())}

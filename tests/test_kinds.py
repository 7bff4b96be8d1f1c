"""Types of groups and the operations that they support."""

from __future__ import annotations

import pytest

from kafka_groups.kinds import (
    GROUP_STATES,
    KINDS,
    Operation,
    canonical_name,
    find_kind,
    group_types,
    label_of,
    supports,
)
from kafka_groups.model import GroupListing


def listing(group_type: str | None, protocol_type: str) -> GroupListing:
    """Return a listed group."""
    return GroupListing(group="g", type=group_type, state="Stable", protocol_type=protocol_type, coordinator=1)


@pytest.mark.parametrize("operation", [Operation.DESCRIBE, Operation.LIST_OFFSETS])
@pytest.mark.parametrize(
    ("group_type", "protocol_type", "supported"),
    [
        ("Classic", "consumer", True),
        ("Classic", "", True),
        ("Classic", "sr", False),
        ("Consumer", "consumer", True),
        ("Share", "share", True),
        ("Streams", "streams", True),
        ("Unknown", "consumer", False),
    ],
)
def test_all_but_connect_and_other_classic_groups_are_described_and_have_offsets(
    operation: Operation, group_type: str, protocol_type: str, *, supported: bool
) -> None:
    assert supports(listing(group_type, protocol_type), operation) is supported


def test_a_connect_group_is_described_and_has_no_offsets() -> None:
    connect = listing("Classic", "connect")
    assert [each for each in Operation if supports(connect, each)] == [Operation.DESCRIBE]


@pytest.mark.parametrize("operation", [Operation.DESCRIBE, Operation.LIST_OFFSETS])
@pytest.mark.parametrize(("protocol_type", "supported"), [("consumer", True), ("", True), ("sr", False)])
def test_a_group_without_a_type_of_an_old_broker_is_classic(
    operation: Operation, protocol_type: str, *, supported: bool
) -> None:
    assert supports(listing(None, protocol_type), operation) is supported


@pytest.mark.parametrize(
    ("group_type", "protocol_type", "kind"),
    [
        ("Share", "share", "share"),
        ("Queue", "queue", "Queue"),
        ("Classic", "connect", "connect"),
        (None, "connect", "connect"),
        ("Consumer", "consumer", "consumer"),
    ],
)
def test_the_kind_of_a_group_is_its_type_if_no_operation_supports_that_or_else_its_protocol(
    group_type: str | None, protocol_type: str, kind: str
) -> None:
    assert label_of(listing(group_type, protocol_type)) == kind


def test_every_kind_has_states_of_kafka_and_every_state_is_one_of_a_kind() -> None:
    assert {state for kind in KINDS for state in kind.states} == set(GROUP_STATES)


def test_kinds_of_one_type_are_distinguished_by_the_protocol_types_of_their_members() -> None:
    for group_type in group_types():
        kinds = [kind for kind in KINDS if kind.group_type == group_type]
        names = [name for kind in kinds for name in kind.protocol_types or ()]
        assert len(names) == len(set(names))
        assert sum(kind.protocol_types is None for kind in kinds) <= 1


@pytest.mark.parametrize(
    ("group_type", "protocol_type", "name"),
    [
        ("Classic", "consumer", "classic consumer"),
        ("Classic", "", "simple"),
        ("Classic", "connect", "Connect"),
        ("Classic", "sr", "other classic"),
        ("Consumer", "consumer", "consumer (KIP-848)"),
        ("Share", "share", "share"),
        ("Streams", "streams", "streams"),
        ("Queue", "queue", "Queue"),
    ],
)
def test_the_kind_of_a_group_follows_from_its_type_and_protocol_type(
    group_type: str, protocol_type: str, name: str
) -> None:
    assert find_kind(group_type, protocol_type).name == name


def test_connect_and_share_groups_have_no_commits() -> None:
    assert [kind.name for kind in KINDS if not kind.has_commits] == ["Connect", "share"]


def test_members_are_removed_from_classic_groups_of_consumers_only() -> None:
    assert [kind.name for kind in KINDS if kind.supports(Operation.REMOVE_MEMBERS)] == ["classic consumer", "simple"]


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("stable", "Stable"),
        ("PREPARINGREBALANCE", "PreparingRebalance"),
        ("NotReady", "NotReady"),
        ("consumer", "Consumer"),
        ("streams", "Streams"),
        ("Hibernating", "Hibernating"),
        ("", None),
    ],
)
def test_states_and_types_are_spelled_as_in_kafkas_tools(text: str, spelled: str | None) -> None:
    assert canonical_name(text) == spelled

"""Types of groups and the operations that they support."""

from __future__ import annotations

import pytest

from kafka_groups.groups.kinds import Operation, kind_of, supports
from kafka_groups.model import GROUP_TYPES, GroupListing

OPERATIONS = pytest.mark.parametrize("operation", Operation)


def listing(group_type: str | None, protocol_type: str) -> GroupListing:
    """Return a listed group."""
    return GroupListing(group="g", type=group_type, state="Stable", protocol_type=protocol_type, coordinator=1)


@OPERATIONS
@pytest.mark.parametrize(
    ("group_type", "protocol_type", "supported"),
    [
        ("Classic", "consumer", True),
        ("Classic", "", True),
        ("Classic", "connect", False),
        ("Classic", "sr", False),
        ("Consumer", "consumer", True),
        ("Share", "share", False),
        ("Streams", "streams", False),
        ("Unknown", "consumer", False),
    ],
)
def test_consumer_groups_and_groups_with_only_commits_support_every_operation(
    operation: Operation, group_type: str, protocol_type: str, *, supported: bool
) -> None:
    assert supports(listing(group_type, protocol_type), operation) is supported


@OPERATIONS
@pytest.mark.parametrize(("protocol_type", "supported"), [("consumer", True), ("", True), ("connect", False)])
def test_a_group_without_a_type_of_an_old_broker_is_classic(
    operation: Operation, protocol_type: str, *, supported: bool
) -> None:
    assert supports(listing(None, protocol_type), operation) is supported


@OPERATIONS
@pytest.mark.parametrize("group_type", GROUP_TYPES)
def test_only_classic_and_consumer_groups_support_an_operation(operation: Operation, group_type: str) -> None:
    assert supports(listing(group_type, "consumer"), operation) is (group_type in {"Classic", "Consumer"})


@pytest.mark.parametrize(
    ("group_type", "protocol_type", "kind"),
    [
        ("Share", "share", "Share"),
        ("Streams", "streams", "Streams"),
        ("Classic", "connect", "connect"),
        (None, "connect", "connect"),
        ("Consumer", "consumer", "consumer"),
    ],
)
def test_the_kind_of_a_group_is_its_type_if_no_operation_supports_that_or_else_its_protocol(
    group_type: str | None, protocol_type: str, kind: str
) -> None:
    assert kind_of(listing(group_type, protocol_type)) == kind

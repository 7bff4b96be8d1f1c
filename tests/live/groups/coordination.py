"""The coordinators of groups."""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import ElectionType
from confluent_kafka.admin import AdminClient

from tests.live.groups.clients import open_admin
from tests.live.groups.conditions import wait_until
from tests.live.groups.topics import client_properties

_TIMEOUT_S = 30


def find_coordinators(bootstrap: str, groups: Sequence[str]) -> dict[str, int]:
    """Return the coordinator of each of these groups that one broker lists."""
    with open_admin(bootstrap, timeout_s=5) as admin:
        listed = admin.list_groups().succeeded
    found = {group: listed[group].coordinator for group in groups if group in listed}
    return {group: coordinator for group, coordinator in found.items() if coordinator is not None}


def await_coordinators(bootstrap: str, groups: Sequence[str], brokers: set[int]) -> None:
    """Return once each of these brokers coordinates some of the groups, and no other broker does.

    A restarted broker leads no partition until it is elected, which Kafka does by itself only every five minutes.
    """
    client = AdminClient(client_properties(bootstrap))

    def is_spread() -> bool:
        client.elect_leaders(ElectionType.PREFERRED).result(_TIMEOUT_S)
        found = find_coordinators(bootstrap, groups)
        # While a group moves from one coordinator to another, neither lists it.
        return len(found) == len(groups) and set(found.values()) == brokers

    wait_until(is_spread, lambda: f"{len(groups)} groups are not coordinated by {brokers}")

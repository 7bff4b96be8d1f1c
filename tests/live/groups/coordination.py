"""Which brokers coordinate the groups."""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import ElectionType
from confluent_kafka.admin import AdminClient

from tests.live.groups.asking import admin_of
from tests.live.groups.topics import quiet
from tests.live.groups.waiting import wait_until

_TIMEOUT_S = 30


def coordinators_of(bootstrap: str, groups: Sequence[str]) -> dict[str, int]:
    """The broker that coordinates each of the groups that are listed."""
    with admin_of(bootstrap, timeout_s=5) as admin:
        listed = admin.list_groups().succeeded
    return {group: listed[group].coordinator for group in groups if group in listed}


def await_spread(bootstrap: str, groups: Sequence[str], brokers: set[int]) -> None:
    """Return once each of the brokers coordinates some of the groups, and no other does.

    A broker that was away leads nothing until it is elected, which Kafka does by itself every five minutes.
    """
    client = AdminClient(quiet(bootstrap))

    def is_spread() -> bool:
        client.elect_leaders(ElectionType.PREFERRED).result(_TIMEOUT_S)
        found = coordinators_of(bootstrap, groups)
        # A group on its way from one coordinator to another is listed by neither.
        return len(found) == len(groups) and set(found.values()) == brokers

    wait_until(is_spread, lambda: f"{len(groups)} groups are not coordinated by {brokers}")

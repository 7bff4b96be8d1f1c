"""Share and streams groups, which are listed but which consumer-group commands do not describe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from confluent_kafka import ShareConsumer

from tests.live.groups.clients import open_admin
from tests.live.groups.conditions import wait_until
from tests.live.groups.raw_connection import connect_to_coordinator
from tests.live.groups.raw_streams import JOIN, LEAVE, heartbeat_request, topology_of
from tests.live.groups.topics import client_properties, unique_name


@contextmanager
def share(bootstrap: str, topic: str) -> Iterator[str]:
    """Yield a Stable share group."""
    group = unique_name("share")
    consumer = ShareConsumer(client_properties(bootstrap) | {"group.id": group})
    try:
        consumer.subscribe([topic])
        with open_admin(bootstrap) as admin:

            def is_listed() -> bool:
                consumer.poll(0.1)
                return group in admin.list_groups(states=["Stable"], types=["Share"]).succeeded

            wait_until(is_listed, lambda: f"share group {group} is not Stable")
        yield group
    finally:
        consumer.close()


@contextmanager
def streams(bootstrap: str, *topics: str) -> Iterator[str]:
    """Yield a streams group (KIP-1071) whose topology reads existing topics, and whose member only joined."""
    group, member = unique_name("streams"), str(uuid4())
    with connect_to_coordinator(bootstrap, group) as connection:
        responses: list[Any] = []

        def has_joined() -> bool:
            responses[:] = [connection.send(heartbeat_request(group, member, JOIN, topology=topology_of(*topics)))]
            return not int(responses[0].error_code)

        wait_until(has_joined, lambda: f"streams group {group} did not accept a member: {responses}")
        try:
            yield group
        finally:
            connection.send(heartbeat_request(group, member, LEAVE))

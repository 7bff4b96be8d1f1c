"""Evidence for tests of causes of Connect groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_groups.causes.evidence import Evidence
from kafka_groups.members import ConnectorTasks, ConnectWorker
from kafka_groups.model import GroupDescription, Member
from tests.causes.observed_group import ObservedGroup, description, member


def worker(name: str, tasks: Mapping[str, Sequence[int]] | None = None, **changes: Any) -> Member:
    """Return a worker that runs connectors with tasks; the worker `w1` leads the group."""
    connectors = tuple(ConnectorTasks(each, True, tuple(numbers)) for each, numbers in (tasks or {}).items())
    known = ConnectWorker(f"http://{name}:8083/", 17, connectors, "w1-id", "http://w1:8083/", 0, False)
    return member(name, worker=known._replace(**changes))


def rebalancing(name: str) -> Member:
    """Return a worker while the group rebalances: what it runs is unknown."""
    return member(name, worker=ConnectWorker(f"http://{name}:8083/", 17, None))


def connect_group(*members: Member) -> GroupDescription:
    """Return a Connect group."""
    return description(*members, protocol_type="connect", assignor="sessioned")


def polls_of(*descriptions: GroupDescription) -> Evidence:
    """Return the evidence of polls of a Connect group, which has no partitions."""
    return ObservedGroup(*descriptions).all_unexplained()

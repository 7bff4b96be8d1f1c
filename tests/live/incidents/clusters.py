"""Clusters for incidents: one broker for those that share it, and three for an incident that stops one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from kafka_groups import sandbox


class IncidentCluster(NamedTuple):
    """A cluster with the processes of its brokers by their ids."""

    bootstrap: str
    brokers: Mapping[int, int]


@contextmanager
def incident_cluster(home: Path, *, brokers: int) -> Iterator[IncidentCluster]:
    """Start a cluster, and delete it afterwards.

    Commits are on one broker alone, which no other one can replace. Share groups may lock records for ten minutes.
    """
    name = f"incidents-{brokers}"
    properties = {"offsets.topic.replication.factor": "1", "group.share.max.record.lock.duration.ms": "600000"}
    spec = sandbox.SandboxSpec(
        name=name, home=home, brokers=brokers, port=0, seed=False, profile=False, properties=properties
    )
    started = sandbox.up(spec)
    try:
        processes = {int(each.role.removeprefix("broker-")): each.pid for each in started.processes}
        yield IncidentCluster(started.bootstrap, processes)
    finally:
        sandbox.down(name, home=home)

"""A cluster of scripted brokers for tests of observation, and polls of it."""

from __future__ import annotations

from typing import Any

from kafka_groups.admin import GroupAdmin
from kafka_groups.causes.evidence import Evidence
from kafka_groups.groups.observation.observer import Observer
from kafka_groups.groups.selection import Selectors
from tests.fakes.scripted_cluster import Group, ScriptedCluster

AT_MS = 1_790_000_000_000
INTERVAL_MS = 6_000


def observed_cluster(**changes: Any) -> ScriptedCluster:
    """Return two brokers: `billing` and `checkout` have two coordinators, and `pay` is another group."""
    groups = {
        "billing": Group(coordinator=1, state="Empty", commits={("orders", 0): 5, ("orders", 1): 7}),
        "checkout": Group(coordinator=2, state="Empty", commits={("orders", 0): 100}),
        "pay": Group(coordinator=2, state="Empty", commits={("payments", 0): 3}),
    }
    options = {"brokers": 2, "groups": groups, "topics": {"orders": {0: 1, 1: 2}, "payments": {0: 1}}, **changes}
    return ScriptedCluster(**options)


def observer_of(admin: GroupAdmin, *names: str, most_polls: int = 6) -> Observer:
    """Return an observer of the named groups."""
    return Observer(admin, Selectors(named=names), most_polls=most_polls, interval_ms=INTERVAL_MS)


def poll(observer: Observer, admin: GroupAdmin, times: int = 1, *, first: int = 0) -> None:
    """Poll some times, one interval after the other."""
    for number in range(first, first + times):
        observer.poll(AT_MS + number * INTERVAL_MS, admin.deadline())


def evidence_of(cluster: ScriptedCluster, group: str, polls: int = 1) -> Evidence:
    """Return the evidence on a group after some polls of an unchanged cluster."""
    with cluster, cluster.admin() as admin:
        observer = observer_of(admin, group)
        poll(observer, admin, polls)
        observer.read_transactions(admin.deadline())
        return observer.evidence()[group]

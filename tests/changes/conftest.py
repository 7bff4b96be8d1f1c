"""Fixtures of tests that execute changes on a scripted cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_groups.admin import GroupAdmin
from tests.changes.executions import TOPICS, idle
from tests.fakes.scripted_cluster import ScriptedCluster


@pytest.fixture
def scripted() -> Iterator[ScriptedCluster]:
    """Group `a` with two commits, and `b` with one on another broker."""
    with ScriptedCluster(brokers=2, groups={"a": idle(5, 6), "b": idle(7, coordinator=2)}, topics=TOPICS) as cluster:
        yield cluster


@pytest.fixture
def admin(scripted: ScriptedCluster) -> Iterator[GroupAdmin]:
    with scripted.admin() as admin:
        yield admin

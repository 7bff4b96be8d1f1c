"""A specification that only this test knows: a class is all that a plan needs of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import pytest

from kafka_groups.admin import GroupAdmin, OffsetSpec
from kafka_groups.changes.current_groups import CurrentGroup
from kafka_groups.changes.reset import ResetRequest, plan_reset
from kafka_groups.changes.specifications.specification import Position, Refusal, Specification, Target
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.groups.selection import Selectors
from kafka_groups.model import Failure, TopicPartition
from tests.changes.executions import TOPICS, idle
from tests.fakes.scripted_cluster import ScriptedCluster

NEWEST = OffsetSpec.for_timestamp(5)


@dataclass(frozen=True)
class ToSlowest(Specification):
    """The smallest commit of several groups, but not before a time."""

    names: tuple[str, ...]
    current: tuple[CurrentGroup, ...] = ()

    def groups(self) -> tuple[str, ...]:
        return self.names

    def with_groups(self, groups: Mapping[str, CurrentGroup]) -> Self:
        return replace(self, current=tuple(groups[name] for name in self.names))

    def lookups(self) -> tuple[OffsetSpec, ...]:
        return (NEWEST,)

    def find(self, position: Position) -> Target | Refusal:
        commits = [commit.offset for group in self.current if (commit := group.offsets.get(position.key))]
        if not commits:
            return Refusal("no group has a commit on it")
        return position.clamp(max(min(commits), position.found[NEWEST] or 0))

    def failures(self, scope: Sequence[TopicPartition] | None) -> list[Failure]:
        return [why for group in self.current for why in group.unreadable.values()]


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    groups = {"a": idle(5, 6), "slow": idle(1, 9, coordinator=2), "fast": idle(4, coordinator=2)}
    with ScriptedCluster(brokers=2, groups=groups, topics=TOPICS) as cluster:
        yield cluster


@pytest.fixture
def admin(cluster: ScriptedCluster) -> Iterator[GroupAdmin]:
    with cluster.admin() as admin:
        yield admin


def test_groups_and_log_offsets_that_it_names_are_read_in_the_rounds_of_the_plan(
    cluster: ScriptedCluster, admin: GroupAdmin
) -> None:
    request = ResetRequest(ToSlowest(("slow", "fast")), topics={"t": ()})
    planned = plan_reset(admin, Selectors(named=("a",)), request)
    assert [(change.partition, change.new_offset) for change in planned.changes()] == [(0, 1), (1, 9)]
    # One round at both coordinators, and three lookups at the leaders of two partitions.
    requests = cluster.requests()
    assert (requests["OffsetFetch"], requests["ListOffsets"]) == (2, 6)


def test_a_group_that_it_names_and_that_does_not_exist_stops_the_plan(admin: GroupAdmin) -> None:
    request = ResetRequest(ToSlowest(("slow", "absent")), topics={"t": ()})
    planned = plan_reset(admin, Selectors(named=("a",)), request)
    assert (planned.rows, [why.group for why in planned.failures]) == ({}, ["absent"])


def test_without_a_scope_it_is_for_the_partitions_with_a_commit(admin: GroupAdmin) -> None:
    planned = plan_reset(admin, Selectors(named=("fast",)), ResetRequest(ToSlowest(("slow",))))
    assert [(change.partition, change.new_offset) for change in planned.changes()] == [(0, 1)]
    text = "Group 'fast' has no commit on 1 partition of 't': it stays as it is (reset with --topic)."
    assert planned.notes == (Note(NoteKind.LEFT_PARTITIONS, "fast", text),)

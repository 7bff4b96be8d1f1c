"""Internal topics of Kafka Streams applications: their offsets are changed only if the user says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.changes.change import PlannedGroups
from kafka_groups.changes.current_groups import CurrentGroup
from kafka_groups.changes.deletion import DeletionRequest
from kafka_groups.changes.internal_topics import internal_topics
from kafka_groups.changes.offset_deletion import plan_offset_deletion
from kafka_groups.changes.reset import ResetRequest, plan_reset
from kafka_groups.changes.specifications.log_offsets import ToEarliest
from kafka_groups.groups.notes import NoteKind
from kafka_groups.groups.selection import Selectors
from kafka_groups.members import Subtopology, Topology
from kafka_groups.model import GroupDescription
from tests.changes.executions import MemoryJournal, execute_groups, statuses
from tests.fakes.scripted_cluster import Group, ScriptedCluster

INTERNAL = "wc-counts-repartition"
COMMITS = {("lines", 0): 5, (INTERNAL, 0): 7}
REFUSED = "the topic is internal to the Streams application; --internal-topics allows changes of its offsets"


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """The streams group `wc` and the consumer group `wc-copy`, with the same commits."""
    groups = {
        "wc": Group(type="Streams", state="Empty", protocol_type="streams", commits=dict(COMMITS)),
        "wc-copy": Group(state="Empty", commits=dict(COMMITS)),
    }
    topics = {"lines": {0: 1}, INTERNAL: {0: 1}}
    with ScriptedCluster(brokers=1, groups=groups, topics=topics) as cluster:
        yield cluster


@pytest.fixture
def admin(cluster: ScriptedCluster) -> Iterator[GroupAdmin]:
    with cluster.admin() as admin:
        yield admin


def reset(admin: GroupAdmin, *groups: str, **request: Any) -> PlannedGroups:
    """Plan a reset to the log start offsets."""
    return plan_reset(admin, Selectors(named=groups), ResetRequest(ToEarliest(), **request))


def notes(planned: PlannedGroups) -> list[str]:
    """Return the notes on internal topics."""
    return [note.text for note in planned.notes if note.kind is NoteKind.INTERNAL_TOPICS]


def topics(planned: PlannedGroups) -> list[str | None]:
    """Return the topics of the changes."""
    return [change.topic for change in planned.changes()]


def describe(group: str = "wc", kind: str = "Streams", topology: Topology | None = None) -> CurrentGroup:
    """Return a group without members."""
    described = GroupDescription(group, kind, "Empty", kind.lower(), None, topology=topology)
    return CurrentGroup(group, described, group_type=kind)


@pytest.mark.parametrize(
    ("topic", "is_internal"),
    [
        ("wc-store-changelog", True),
        ("wc-repartition", True),
        ("wc-KSTREAM-KEY-SELECT-0000000003-repartition", True),
        ("wc-join-subscription-registration-topic", True),
        ("wc-join-subscription-response-topic", True),
        ("wc-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000007-topic", True),
        ("wc-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000015-topic", True),
        ("wc-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-x-topic", False),
        ("wc-lines", False),
        ("wc2-store-changelog", False),
        ("other-repartition", False),
        ("changelog", False),
    ],
)
def test_the_rule_of_names_is_that_of_kafka(topic: str, *, is_internal: bool) -> None:
    assert internal_topics(describe(), [topic, "lines"]) == ({topic} if is_internal else set())


def test_the_topics_of_the_topology_are_internal_whatever_their_names_are() -> None:
    topology = Topology(1, (Subtopology("0", ("lines",), ("in",), ("out",), ("log",)),))
    found = internal_topics(describe(topology=topology), ["lines", "in", "out", "log", "x"])
    assert found == {"in", "out", "log"}


def test_a_consumer_group_has_no_internal_topics() -> None:
    assert internal_topics(describe(kind="Classic"), ["wc-store-changelog"]) == set()


def test_a_reset_of_all_topics_skips_internal_ones_and_names_them(admin: GroupAdmin) -> None:
    planned = reset(admin, "wc", "wc-copy")
    assert topics(planned) == ["lines", "lines", INTERNAL]
    expected = f"offsets on 1 internal topic ('{INTERNAL}') stay as they are without --internal-topics."
    assert notes(planned) == [f"Group 'wc': {expected}"]


def test_the_option_resets_them_and_names_them(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    planned = reset(admin, "wc", internal_topics=True)
    assert topics(planned) == ["lines", INTERNAL]
    assert notes(planned) == [f"Group 'wc': the plan has offsets on 1 internal topic ('{INTERNAL}')."]
    assert statuses(execute_groups(admin, planned, MemoryJournal().begin)) == ["done", "done"]
    assert {commit.offset for commit in cluster.groups["wc"].commits.values() if not isinstance(commit, int)} == {0}


def test_an_internal_topic_that_is_named_is_refused_and_the_others_are_reset(admin: GroupAdmin) -> None:
    planned = reset(admin, "wc", topics={INTERNAL: (), "lines": ()})
    assert (topics(planned), [why.message for why in planned.refusals()]) == (["lines"], [REFUSED])
    assert notes(planned) == []


def test_offsets_on_internal_topics_are_deleted_only_with_the_option(admin: GroupAdmin) -> None:
    named = {INTERNAL: (), "lines": ()}
    planned = plan_offset_deletion(admin, Selectors(named=("wc",)), DeletionRequest(topics=named))
    assert (topics(planned), [why.message for why in planned.refusals()]) == (["lines"], [REFUSED])
    request = DeletionRequest(topics=named, internal_topics=True)
    planned = plan_offset_deletion(admin, Selectors(named=("wc",)), request)
    assert topics(planned) == ["lines", INTERNAL]
    assert notes(planned) == [f"Group 'wc': the plan has offsets on 1 internal topic ('{INTERNAL}')."]

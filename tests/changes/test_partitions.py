"""The named partitions: which exist, and which of the others are a mistake of the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_groups.admin.api import Deadline, Topic
from kafka_groups.changes.partitions import find_partitions
from kafka_groups.model import Results
from tests.changes.executions import id_of
from tests.fakes.fake_admin import FakeCluster, failure

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


@pytest.fixture
def cluster(mocker: MockerFixture) -> FakeCluster:
    """A topic `t` of three partitions, and `u` of one."""
    cluster = FakeCluster(mocker)
    cluster.end("t", 1, 1, 1)
    cluster.end("u", 1)
    return cluster


def test_no_topic_needs_no_request(cluster: FakeCluster) -> None:
    assert find_partitions(cluster.admin, {})[:3] == ((), (), ())
    cluster.admin.describe_topics.assert_not_called()


def test_all_topics_are_looked_up_in_one_call(cluster: FakeCluster) -> None:
    deadline = Deadline.after(5)
    found = find_partitions(cluster.admin, {"u": (), "t": (2, 0)}, timeout=deadline)
    assert found[:3] == ((("t", 2), ("t", 0), ("u", 0)), (), ())
    assert found.topics.topic_id("t") == id_of("t")
    cluster.admin.describe_topics.assert_called_once_with(["t", "u"], timeout=deadline)


@pytest.mark.parametrize(("topic", "count"), [("t", "3 partitions"), ("u", "1 partition")])
def test_a_partition_that_does_not_exist_is_absent(cluster: FakeCluster, topic: str, count: str) -> None:
    found = find_partitions(cluster.admin, {topic: (0, 7)})
    assert found.partitions == ((topic, 0),)
    (absent,) = found.absent
    assert (absent.topic, absent.partition, absent.code) == (topic, 7, 3)
    assert absent.message == f"it does not exist; the topic has {count}"


@pytest.mark.parametrize(
    ("code", "is_absent"),
    [(3, True), (17, True), (29, False), (5, False), (None, False)],
    ids=["unknown", "malformed name", "denied", "leader not available", "timeout"],
)
def test_only_a_topic_that_cannot_exist_is_absent(cluster: FakeCluster, code: int | None, is_absent: bool) -> None:
    why = failure(code=code, topic="x")
    cluster.admin.describe_topics.side_effect = None
    cluster.admin.describe_topics.return_value = Results(
        succeeded={"t": Topic("t", None, False, (0,))}, failed={"x": why}
    )
    found = find_partitions(cluster.admin, {"t": (), "x": ()})
    assert found[:3] == ((("t", 0),), (why,) if is_absent else (), () if is_absent else (why,))

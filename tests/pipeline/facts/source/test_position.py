"""A position as Spark's checkpoints and Delta's logs keep it."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.facts.source.position import Position


@pytest.mark.parametrize(
    ("position", "checkpoint"),
    [
        (
            Position(None, {3: 5, 0: 2}),
            {"cluster_id": "abc", "topic_id": None, "ends": {"0": 2, "3": 5}, "leader_epochs": {}},
        ),
        (
            Position("id", {3: 5, 10: 2}, {3: 7}),
            {"cluster_id": "abc", "topic_id": "id", "ends": {"3": 5, "10": 2}, "leader_epochs": {"3": 7}},
        ),
    ],
)
def test_a_position_is_read_back_from_a_checkpoint(position: Position, checkpoint: dict[str, Any]) -> None:
    assert position.to_checkpoint("abc") == checkpoint
    assert Position.from_checkpoint(checkpoint, "abc") == position


def test_a_checkpoint_of_another_cluster_is_refused() -> None:
    with pytest.raises(SourceError, match="belongs to cluster one, and the brokers to cluster two"):
        Position.from_checkpoint(Position(None, {}).to_checkpoint("one"), "two")


@pytest.mark.parametrize("topic_id", [None, "id"])
def test_a_position_is_read_back_from_a_delta_log(topic_id: str | None) -> None:
    position = Position(topic_id, {3: 5, 10: 2}, {3: 7})
    versions = position.to_versions("abc") | Position("id", {3: 1}, {3: 1}).to_versions("another cluster")

    assert Position.from_versions(versions, "abc", "id", [3, 10, 11]) == position


def test_a_delta_log_has_an_application_for_each_end_and_epoch() -> None:
    versions = Position("id", {3: 5, 10: 2}, {3: 7}).to_versions("abc")

    assert versions.pop("abc/topic") < 2**56
    assert versions == {"abc/id/3": 5, "abc/id/10": 2, "abc/id/3/epoch": 7}
    assert "abc/-/3" in Position(None, {3: 5}).to_versions("abc")


def test_a_delta_log_of_another_topic_has_no_position() -> None:
    versions = Position("old", {3: 5}).to_versions("abc")

    assert Position.from_versions(versions, "abc", "new", [3]) is None
    assert Position.from_versions(versions, "abc", None, [3]) is None

"""Differences between Kafka versions: jars, tools and the files of a formatted node."""

from __future__ import annotations

import pytest

from kafka_groups.sandbox.versions import parse_version


@pytest.mark.parametrize(
    ("version", "artifacts"),
    [("2.8.2", ["kafka_2.13"]), ("3.8.0", ["kafka_2.13", "kafka-tools"]), ("4.4.0", ["kafka_2.13"])],
)
def test_the_tools_are_resolved_only_for_versions_that_publish_them(version: str, artifacts: list[str]) -> None:
    coordinates = parse_version(version).coordinates
    assert list(coordinates) == [f"org.apache.kafka:{artifact}:{version}" for artifact in artifacts]


@pytest.mark.parametrize(("brokers", "tools"), [("2.5.1", "2.5.1"), ("4.3.1", "4.3.1"), ("4.4.0", "4.3.1")])
def test_brokers_without_tools_of_their_own_are_read_with_those_of_4_3_1(brokers: str, tools: str) -> None:
    assert str(parse_version(brokers).tools) == tools


@pytest.mark.parametrize(
    ("version", "path"),
    [
        ("4.3.1", "bootstrap.checkpoint"),
        ("4.4.0", "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"),
    ],
)
def test_feature_levels_are_in_the_metadata_log_since_4_4(version: str, path: str) -> None:
    assert parse_version(version).bootstrap_checkpoint == path

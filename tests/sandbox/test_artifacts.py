"""The Maven artifacts of each program of Kafka."""

from __future__ import annotations

import pytest

from kafka_groups.sandbox.artifacts import broker_artifacts, connect_artifacts, streams_artifacts
from kafka_groups.sandbox.versions import parse_version


def _names(coordinates: tuple[str, ...]) -> list[str]:
    return [name.removeprefix("org.apache.kafka:") for name in coordinates]


@pytest.mark.parametrize(
    ("version", "coordinates"),
    [
        (
            "4.3.1",
            ["kafka_2.13:4.3.1", "kafka-tools:4.3.1", "kafka-streams:4.3.1", "kafka-streams-examples:4.3.1"],
        ),
        ("4.4.0", ["kafka_2.13:4.4.0", "kafka-streams:4.4.0", "kafka-streams-examples:4.3.1"]),
    ],
)
def test_streams_have_the_brokers_version_and_examples_that_of_the_tools(version: str, coordinates: list[str]) -> None:
    assert _names(streams_artifacts(parse_version(version)).coordinates) == coordinates


@pytest.mark.parametrize("version", ["4.3.1", "4.4.0"])
def test_connect_workers_and_their_connectors_have_the_version_of_the_tools(version: str) -> None:
    program = connect_artifacts(parse_version(version))
    assert str(program.version) == "4.3.1"
    assert _names(program.coordinates)[-2:] == ["connect-runtime:4.3.1", "connect-file:4.3.1"]


def test_only_connect_has_a_web_server_and_nothing_has_the_native_store() -> None:
    version = parse_version("4.3.1")
    programs = [broker_artifacts(version), streams_artifacts(version), connect_artifacts(version)]
    excluded = [{artifact for _, artifact in program.excluded} for program in programs]
    assert ["connect-runtime" in names for names in excluded] == [True, True, False]
    assert "rocksdbjni" in excluded[1]
    assert len({program.list_name for program in programs}) == len(programs)

"""The settings files of brokers, by Kafka version."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_groups.sandbox.configuration import (
    as_properties,
    broker_properties,
    logging_settings,
    zookeeper_properties,
)
from kafka_groups.sandbox.state_file import Node, SandboxState
from kafka_groups.sandbox.versions import parse_version


def _state(version: str, *, brokers: int = 1, zookeeper_port: int | None = None) -> SandboxState:
    return SandboxState(
        kafka_version=version,
        cluster_id="c",
        java="java",
        jvm=("-Xmx1g",),
        nodes=tuple(
            Node(id=n, port=9091 + n, controller_port=None if zookeeper_port else 20000 + n)
            for n in range(1, brokers + 1)
        ),
        zookeeper_port=zookeeper_port,
        processes={},
        profile=False,
    )


def _settings(state: SandboxState, broker: int = 1) -> dict[str, str]:
    return broker_properties(
        state,
        state.nodes[broker - 1],
        kafka=parse_version(state.kafka_version),
        data=Path("/data"),
    )


def test_a_kraft_node_is_broker_and_controller_and_has_all_voters() -> None:
    settings = _settings(_state("4.3.1", brokers=3), broker=2)

    assert settings["process.roles"] == "broker,controller"
    assert settings["node.id"] == "2"
    assert settings["controller.quorum.voters"] == ("1@127.0.0.1:20001,2@127.0.0.1:20002,3@127.0.0.1:20003")
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:9093,CONTROLLER://127.0.0.1:20002"
    assert "zookeeper.connect" not in settings


def test_an_old_broker_has_the_address_of_zookeeper_and_no_newer_settings() -> None:
    settings = _settings(_state("2.5.1", zookeeper_port=30000))

    assert settings["broker.id"] == "1"
    assert settings["zookeeper.connect"] == "127.0.0.1:30000"
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:9092"
    assert not [key for key in settings if key.startswith(("controller.", "group.consumer", "share"))]


@pytest.mark.parametrize("version", ["2.8.2", "3.9.1", "4.0.0", "4.3.1"])
def test_every_address_is_on_the_loopback_interface(version: str) -> None:
    settings = _settings(_state(version, brokers=3))

    addresses = settings["listeners"].split(",") + settings["advertised.listeners"].split(",")
    assert all("://127.0.0.1:" in address for address in addresses)
    assert zookeeper_properties(1, data=Path("/z"))["clientPortAddress"] == "127.0.0.1"


@pytest.mark.parametrize(("brokers", "replicas", "in_sync"), [(1, "1", "1"), (2, "2", "2"), (5, "3", "2")])
def test_internal_topics_have_a_replica_per_broker_and_at_most_three(brokers: int, replicas: str, in_sync: str) -> None:
    settings = _settings(_state("4.3.1", brokers=brokers))

    assert settings["offsets.topic.replication.factor"] == replicas
    assert settings["transaction.state.log.min.isr"] == in_sync
    assert settings["share.coordinator.state.topic.replication.factor"] == replicas


def test_the_log_is_written_to_the_file_of_the_jvm_property() -> None:
    assert "${sys:sandbox.log}" in logging_settings(parse_version("4.3.1")).server
    assert "${sandbox.log}" in logging_settings(parse_version("2.8.2")).server


def test_a_properties_file_escapes_backslashes() -> None:
    assert as_properties({"log.dirs": "a\\b"}) == "log.dirs=a\\\\b\n"


def test_a_properties_file_has_other_than_latin_letters_as_java_reads_them() -> None:
    assert as_properties({"log.dirs": "/ä/€"}).encode("ascii") == b"log.dirs=/\\u00e4/\\u20ac\n"

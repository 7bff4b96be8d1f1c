"""The doctor's checks of connections, which are those of `kafka-groups check`, and of the versions of the brokers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kafka_groups.errors import ConfigProviderError, SettingsError
from kafka_groups.pipeline.doctor.check import Check
from kafka_groups.pipeline.doctor.connections import ConnectionChecks, check_all_connections
from kafka_groups.protocol import Struct
from kafka_groups.protocol.messages.api_versions import FEATURES
from kafka_groups.settings import ConnectionSettings
from tests.fakes.raw_port import refusing
from tests.fakes.reactions import ReceivedRequest
from tests.fakes.scripted_broker import encode_response
from tests.fakes.scripted_cluster import ScriptedCluster
from tests.pipeline.facts.sample.samples import with_groups

VERSIONS = "versions of the brokers"
# The handshake of a connection requests them, too.
TWICE = 2
NOW_S = 1_800_000_000.0


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    with with_groups() as found:
        yield found


def checks_of(cluster: ScriptedCluster) -> dict[str, Check]:
    return {check.check: check for check in check_all_connections(cluster.settings, NOW_S).checks}


def tell_features(cluster: ScriptedCluster, broker: int, level: int, **finalized: int) -> None:
    answer: dict[str, Any] = {
        "supported_features": [{"name": "metadata.version", "min_version": 7, "max_version": level}],
        "finalized_features": [
            {"name": name.replace("_", "."), "max_version_level": at, "min_version_level": at}
            for name, at in finalized.items()
        ],
    }

    def tell(asked: ReceivedRequest, reported: Struct) -> bytes:
        return encode_response(FEATURES, asked.version, reported | answer)

    cluster.script("ApiVersions", *[tell] * TWICE, brokers=[broker])


def test_every_step_of_the_server_and_every_broker_is_a_check(cluster: ScriptedCluster) -> None:
    server = cluster.brokers[1].endpoint
    found = checks_of(cluster)
    brokers = [f"connection of broker {number} ({broker.endpoint})" for number, broker in cluster.brokers.items()]
    steps = [f"address of {server}", f"protocol of {server}"]
    assert [name for name, check in found.items() if check.status == "ok"] == steps
    assert [*found][-4:] == [*brokers, VERSIONS]


def test_an_address_that_does_not_respond_fails_beside_the_others(cluster: ScriptedCluster) -> None:
    with refusing() as closed:
        cluster.addresses[2] = closed
        failed = [check for check in checks_of(cluster).values() if check.status == "failed"]
    assert [check.check for check in failed] == [f"connection of broker 2 ({closed})"]
    assert "check advertised.listeners" in failed[0].detail


def test_if_no_server_is_reached_nothing_else_is_requested() -> None:
    with refusing() as closed:
        found = check_all_connections(lambda: ConnectionSettings(bootstrap=(closed,), timeout_s=5.0), NOW_S)
    assert not found.is_reached
    assert found.checks == [
        Check(f"address of {closed}", "failed", "connection refused; check the port, and whether the broker runs"),
        Check("brokers", "failed", "no bootstrap server was reached"),
    ]


def test_settings_that_only_librdkafka_supports_are_left_to_it() -> None:
    def refuse() -> ConnectionSettings:
        raise SettingsError("sasl.mechanism=GSSAPI is not supported")

    assert check_all_connections(refuse, NOW_S) == ConnectionChecks([], is_reached=True)


def test_a_setting_without_a_value_fails() -> None:
    def fail() -> ConnectionSettings:
        raise ConfigProviderError("cannot read the file")

    expected = ConnectionChecks([Check("brokers", "failed", "cannot read the file")], is_reached=False)
    assert check_all_connections(fail, NOW_S) == expected


def test_the_features_of_the_brokers_are_reported(cluster: ScriptedCluster) -> None:
    for broker in (1, 2, 3):
        tell_features(cluster, broker, 30, metadata_version=27, group_version=1)

    assert checks_of(cluster)[VERSIONS] == Check(
        VERSIONS,
        "ok",
        "the brokers support metadata.version 30 (4.3-IV0); "
        "the cluster uses group.version 1, metadata.version 27 (4.1-IV1)",
    )


def test_the_versions_of_different_brokers_are_reported(cluster: ScriptedCluster) -> None:
    for broker, level in ((1, 21), (2, 99), (3, 22)):
        tell_features(cluster, broker, level)

    assert checks_of(cluster)[VERSIONS].detail == (
        "the brokers support metadata.version 21 (3.9-IV0) and 22 (4.0-IV0) and 99 (newer than this version knows)"
    )


def test_brokers_without_a_metadata_version_are_a_warning(cluster: ScriptedCluster) -> None:
    older = "metadata.version: Kafka before 3.0, or with ZooKeeper"

    assert checks_of(cluster)[VERSIONS] == Check(VERSIONS, "warning", f"the brokers have no {older}")
    tell_features(cluster, 1, 20)
    assert checks_of(cluster)[VERSIONS].detail == f"some brokers have no {older}"

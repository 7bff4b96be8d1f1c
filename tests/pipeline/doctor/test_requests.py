"""The doctor's checks of the requests of a sample: versions, groups, commits, log ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kafka_groups.errors import SettingsError
from kafka_groups.pipeline.doctor.check import Check
from kafka_groups.pipeline.doctor.requests import check_requests
from kafka_groups.protocol import Struct
from kafka_groups.protocol.messages.api_versions import FEATURES
from kafka_groups.settings import ConnectionSettings
from tests.fakes.scripted_broker import ReceivedRequest, encode_response
from tests.fakes.scripted_cluster import ScriptedCluster
from tests.pipeline.facts.sample.samples import with_groups

VERSIONS = "versions of the brokers"
# The handshake of a connection requests them, too.
TWICE = 2


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    with with_groups() as found:
        yield found


def checks_of(cluster: ScriptedCluster) -> dict[str, Check]:
    return {check.check: check for check in check_requests(cluster.settings)}


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


def test_each_request_of_a_sample_is_checked(cluster: ScriptedCluster) -> None:
    found = checks_of(cluster)

    assert {name: check.status for name, check in found.items()} == {
        VERSIONS: "warning",
        "list groups": "ok",
        "describe groups": "ok",
        "log end offsets": "ok",
    }
    assert found["list groups"].detail == "4 groups on which this user has DESCRIBE"
    assert found["describe groups"].detail == "state, members and commits of billing were read"
    assert (
        found["log end offsets"].detail
        == "2 topics on which this user has DESCRIBE; the log end offset of payments was read"
    )


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


def test_a_user_without_rights_is_warned(cluster: ScriptedCluster) -> None:
    cluster.groups.clear()
    cluster.topics.clear()

    found = checks_of(cluster)

    assert [found[name].status for name in ("list groups", "log end offsets")] == ["warning", "warning"]
    assert found["list groups"].detail == "no group was listed: there is none, or this user has DESCRIBE on none"
    assert "describe groups" not in found


def test_a_group_whose_commits_are_refused_fails(cluster: ScriptedCluster) -> None:
    cluster.groups["billing"].error = 30
    found = checks_of(cluster)["describe groups"]
    cluster.groups["billing"].error = 0

    assert (found.status, found.detail) == ("failed", "billing: not allowed: this needs DESCRIBE on the group")


def test_unreachable_brokers_fail_and_unsupported_settings_are_a_warning(cluster: ScriptedCluster) -> None:
    def refuse() -> ConnectionSettings:
        raise SettingsError("sasl.mechanism=GSSAPI is not supported")

    for number in cluster.brokers:
        cluster.stop(number)

    assert [check.status for check in checks_of(cluster).values()] == ["failed"]
    assert check_requests(refuse) == [
        Check(
            "sample",
            "warning",
            "sample and backfill cannot connect to these brokers: sasl.mechanism=GSSAPI is not supported",
        )
    ]

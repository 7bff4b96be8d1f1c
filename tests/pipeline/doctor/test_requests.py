"""The doctor's checks of the requests of a sample: groups, commits, log ends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_groups.errors import SettingsError
from kafka_groups.pipeline.doctor.check import Check
from kafka_groups.pipeline.doctor.requests import check_requests
from kafka_groups.settings import ConnectionSettings
from tests.fakes.scripted_cluster import ScriptedCluster
from tests.pipeline.facts.sample.samples import with_groups


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    with with_groups() as found:
        yield found


def checks_of(cluster: ScriptedCluster) -> dict[str, Check]:
    return {check.check: check for check in check_requests(cluster.settings)}


def test_each_request_of_a_sample_is_checked(cluster: ScriptedCluster) -> None:
    found = checks_of(cluster)

    assert {name: check.status for name, check in found.items()} == {
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


@pytest.mark.slow
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

"""`kafka-groups check`: its rows, formats and exit codes, on scripted brokers."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator

import pytest
from jsonschema import Draft202012Validator

from kafka_groups.acl_operations import AclOperation
from tests.fakes.command_line import run
from tests.fakes.raw_port import refusing
from tests.fakes.rights_cluster import RightsCluster
from tests.fakes.scripted_cluster import Group

STEPS = ["name", "address", "tls", "protocol", "mechanisms", "authentication", "versions", "cluster"]
CHANGES = {"OffsetCommit", "OffsetDelete", "DeleteGroups", "LeaveGroup", "AlterShareGroupOffsets"}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[RightsCluster]:
    groups = {
        "billing": Group(state="Empty", commits={("orders", 0): 5}),
        "secret": Group(error=30),
        "other": Group(coordinator=2, state="Empty"),
    }
    rights = {"billing": {AclOperation.DESCRIBE}}
    versions = {"DescribeConfigs": (1, 4)}
    topics = {"orders": {0: 1}}
    with RightsCluster(brokers=2, groups=groups, topics=topics, on_groups=rights, versions=versions) as found:
        found.clock.serve_commands(monkeypatch)
        yield found


def server(cluster: RightsCluster) -> str:
    return str(cluster.brokers[1].endpoint)


def rows(stdout: str) -> list[dict[str, str]]:
    return list(csv.DictReader(stdout.splitlines()))


def test_without_a_selector_the_connection_alone_is_checked(cluster: RightsCluster) -> None:
    outcome = run("check", "--format", "csv", bootstrap=server(cluster))
    found = rows(outcome.stdout)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert [row["CHECK"] for row in found] == [*STEPS, "connection", "connection"]
    assert [row["SUBJECT"].partition(" (")[0] for row in found] == [server(cluster)] * 8 + ["broker 1", "broker 2"]
    assert {row["STATUS"] for row in found} == {"ok", "skipped"}
    assert set(cluster.requests()) <= {"ApiVersions", "Metadata"}


def test_with_selectors_the_rights_follow_and_nothing_is_changed(cluster: RightsCluster) -> None:
    outcome = run("check", "billing", "--format", "csv", bootstrap=server(cluster))
    found = rows(outcome.stdout)[10:]
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert [(row["SUBJECT"], row["CHECK"], row["STATUS"]) for row in found] == [
        ("cluster", "rights", "ok"),
        ("group billing", "rights", "warning"),
        ("topic orders", "rights", "ok"),
    ]
    assert not CHANGES & set(cluster.requests())


def test_groups_of_all_brokers_are_checked_and_a_denied_one_fails_alone(cluster: RightsCluster) -> None:
    outcome = run("check", "--all-groups", "--format", "csv", bootstrap=server(cluster))
    statuses = {row["SUBJECT"]: row["STATUS"] for row in rows(outcome.stdout)[11:]}
    assert statuses == {"group billing": "warning", "group other": "ok", "group secret": "failed", "topic orders": "ok"}
    assert outcome.exit_code == 3
    assert outcome.stderr == (
        "Error: group 'secret': not allowed: this needs DESCRIBE on the group (GROUP_AUTHORIZATION_FAILED)\n"
    )


def test_an_absent_group_suggests_the_nearest_one(cluster: RightsCluster) -> None:
    outcome = run("check", "biling", "--format", "csv", bootstrap=server(cluster))
    assert outcome.exit_code == 3
    assert "did you mean 'billing'?" in outcome.stderr
    assert "did you mean 'billing'?" in rows(outcome.stdout)[-1]["DETAIL"]


def test_nothing_reached_is_exit_code_1_with_one_line_on_stderr() -> None:
    with refusing() as closed, refusing() as other:
        outcome = run("check", "billing", "--format", "csv", bootstrap=f"{closed},{other}")
    assert outcome.exit_code == 1
    step = "see KAFKA_GROUPS_BOOTSTRAP_SERVER; check the port, and whether the broker runs"
    assert outcome.stderr == f"Error: cannot connect to {closed}: connection refused; {step} (CONNECTION_FAILED)\n"
    last = rows(outcome.stdout)[-1]
    assert [row["STATUS"] for row in rows(outcome.stdout)].count("failed") == 2
    assert (last["SUBJECT"], last["CHECK"], last["STATUS"]) == ("cluster", "rights", "skipped")
    assert last["DETAIL"] == "not checked, because no server was reached"


def test_a_server_that_fails_beside_one_that_responds_is_exit_code_3(cluster: RightsCluster) -> None:
    with refusing() as closed:
        outcome = run("check", bootstrap=f"{closed},{server(cluster)}")
    assert outcome.exit_code == 3
    assert outcome.stdout.splitlines()[0].split() == ["SUBJECT", "CHECK", "STATUS", "DETAIL"]
    assert outcome.stderr.startswith(f"Error: cannot connect to {closed}: ")


def test_the_json_document_has_all_failures_and_follows_its_schema(cluster: RightsCluster) -> None:
    cluster.stop(2)
    outcome = run("check", "billing", "secret", "--format", "json", bootstrap=server(cluster))
    document = json.loads(outcome.stdout)
    Draft202012Validator(json.loads(run("schema", "check").stdout)).validate(document)
    assert (outcome.exit_code, document["schema"], document["status"]) == (3, "kafka-groups/check/1", "partial")
    assert [(error["name"], error["broker"], error["group"]) for error in document["errors"]] == [
        ("CONNECTION_FAILED", 2, None),
        ("GROUP_AUTHORIZATION_FAILED", 1, "secret"),
    ]
    assert document["checks"][0] == {
        "cluster": "scripted",
        "cluster_id": "scripted",
        "server": server(cluster),
        "broker": None,
        "group": None,
        "topic": None,
        "subject": server(cluster),
        "check": "name",
        "status": "skipped",
        "detail": "it is an address, which needs no lookup",
    }
    assert "check advertised.listeners" in next(c["detail"] for c in document["checks"] if c["broker"] == 2)
    assert outcome.stderr.count("\n") == 1


def test_ndjson_has_a_line_for_each_check(cluster: RightsCluster) -> None:
    lines = run("check", "--format", "ndjson", bootstrap=server(cluster)).stdout.splitlines()
    assert [json.loads(line)["check"] for line in lines] == [*STEPS, "connection", "connection"]


def test_settings_that_cannot_be_used_are_usage_errors(cluster: RightsCluster) -> None:
    outcome = run("check", "-X", "security.protocol=SSL", "-X", "ssl.ca.location=absent.pem", bootstrap=server(cluster))
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "cannot use the CA file absent.pem" in outcome.stderr


@pytest.mark.parametrize("option", [("--exclude", "b.*"), ("--type", "share"), ("--state", "Empty")])
def test_a_filter_without_a_selector_is_a_usage_error(cluster: RightsCluster, option: tuple[str, str]) -> None:
    outcome = run("check", *option, bootstrap=server(cluster))
    assert (outcome.exit_code, "no group is selected" in outcome.stderr) == (2, True)


def test_a_cluster_that_is_not_reached_has_no_name(cluster: RightsCluster) -> None:
    closed = server(cluster)
    cluster.stop(1)
    document = json.loads(run("check", "--format", "json", bootstrap=closed).stdout)
    Draft202012Validator(json.loads(run("schema", "check").stdout)).validate(document)
    assert {(each["cluster"], each["cluster_id"]) for each in document["checks"]} == {(None, None)}

"""Failures of single items: rows for the other items, a line and an object for the failed one, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.errors import AuthenticationFailedError
from kafka_groups.model import Broker, Failure, TopicPartition
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, failure, member, unreachable

MISSING = "Error: group 'nope': there is no such group (GROUP_ID_NOT_FOUND)\n"
UNKNOWN = "Error: group 'elsewhere': no broker lists it, and not every broker responded (MISSING_FROM_RESPONSE)\n"
UNREACHABLE = "Error: no broker responded at b1:9092; is it running?\n"
every_command = pytest.mark.parametrize("command", ["list", "describe", "offsets"])


@pytest.fixture(autouse=True)
def three_brokers(cluster: FakeCluster) -> None:
    """Add three brokers, two groups and one topic."""
    cluster.brokers = {number: Broker(id=number, host=f"b{number}", port=9092) for number in (1, 2, 3)}
    cluster.add("a", state="Stable", members=[member("m", {"t": (0, 1)})], commits={("t", 0): 1, ("t", 1): 1})
    cluster.add("b", commits={("t", 0): 1})
    cluster.end("t", 5, 5)


def errors_of(stdout: str) -> list[dict[str, Any]]:
    """Return the errors of a document."""
    errors: list[dict[str, Any]] = json.loads(stdout)["errors"]
    return errors


@every_command
def test_a_missing_group_does_not_hide_other_groups_and_is_exit_3(command: str) -> None:
    outcome = run(command, "nope", "b", "--format", "csv")
    assert [line.split(",")[0] for line in outcome.stdout.splitlines()] == ["GROUP", "b"]
    assert (outcome.exit_code, outcome.stderr.endswith(MISSING)) == (3, True)


@every_command
def test_a_missing_group_alone_is_exit_1_and_one_line(command: str) -> None:
    assert run(command, "nope") == (1, "", MISSING)


@every_command
def test_a_missing_group_that_is_named_twice_is_reported_once(command: str) -> None:
    assert run(command, "nope", "nope", "-g", "nope") == (1, "", MISSING)


@every_command
def test_a_missing_group_is_an_object_in_the_document(command: str) -> None:
    outcome = run(command, "nope", "a", "--format", "json")
    document = json.loads(outcome.stdout)
    assert [group["group"] for group in document["groups"]] == ["a"]
    assert document["errors"] == [
        {
            "cluster": "fake",
            "group": "nope",
            "topic": None,
            "partition": None,
            "broker": None,
            "code": 69,
            "name": "GROUP_ID_NOT_FOUND",
            "message": "there is no such group",
        }
    ]
    assert (outcome.exit_code, document["status"], outcome.stderr) == (3, "partial", MISSING)


@every_command
def test_a_document_without_any_result_has_the_status_failed(command: str) -> None:
    outcome = run(command, "nope", "--format", "json")
    document = json.loads(outcome.stdout)
    assert (outcome.exit_code, document["status"], document["groups"]) == (1, "failed", [])


@every_command
def test_ndjson_has_errors_on_stderr_only(command: str) -> None:
    assert run(command, "nope", "--format", "ndjson") == (1, "", MISSING)


@every_command
@pytest.mark.parametrize("output", ["table", "ndjson"])
def test_an_unreachable_cluster_is_one_line_and_exit_1(cluster: FakeCluster, command: str, output: str) -> None:
    cluster.refuse(unreachable())
    assert run(command, "a", "--format", output) == (1, "", UNREACHABLE)


@pytest.mark.parametrize("arguments", [("list", "--state"), ("list", "--state", "--format", "kafka")])
def test_a_failed_list_has_no_header(cluster: FakeCluster, arguments: tuple[str, ...]) -> None:
    cluster.refuse(unreachable())
    assert run(*arguments) == (1, "", UNREACHABLE)


@every_command
def test_an_unreachable_cluster_is_a_failed_document(cluster: FakeCluster, command: str) -> None:
    cluster.refuse(unreachable())
    outcome = run(command, "a", "--format", "json")
    assert json.loads(outcome.stdout) == {
        "schema": f"kafka-groups/{command}/1",
        "status": "failed",
        "groups": [],
        "notes": [],
        "errors": [
            {
                "cluster": "fake",
                "group": None,
                "topic": None,
                "partition": None,
                "broker": None,
                "code": None,
                "name": "CONNECTION_FAILED",
                "message": "no broker responded at b1:9092; is it running?",
            }
        ],
    }
    assert (outcome.exit_code, outcome.stderr) == (1, UNREACHABLE)


def test_refused_credentials_are_an_error_in_the_document(cluster: FakeCluster) -> None:
    cluster.refuse(AuthenticationFailedError("b1:9092 refused the credentials of 'me'"))
    outcome = run("list", "--format", "json")
    assert errors_of(outcome.stdout)[0]["name"] == "AUTHENTICATION_FAILED"
    assert outcome.stderr == "Error: b1:9092 refused the credentials of 'me'\n"


@pytest.mark.parametrize(
    "command", [("list",), ("describe", "--all-groups", "--members"), ("offsets", "--all-groups")], ids=" ".join
)
def test_a_broker_that_fails_to_list_its_groups_is_one_line_beside_the_rows(
    cluster: FakeCluster, command: tuple[str, ...]
) -> None:
    cluster.unlistable[3] = failure("TIMEOUT", code=None, broker=3)
    outcome = run(*command, "--exclude", "b", "--format", "csv")
    assert {line.split(",")[0] for line in outcome.stdout.splitlines()} == {"GROUP", "a"}
    assert (outcome.exit_code, outcome.stderr) == (3, "Error: broker 3: refused (TIMEOUT)\n")


def test_no_group_is_reported_as_missing_if_a_broker_did_not_respond(cluster: FakeCluster) -> None:
    cluster.unlistable[3] = failure("TIMEOUT", code=None, broker=3)
    assert run("list", "a", "elsewhere") == (3, "a\n", "Error: broker 3: refused (TIMEOUT)\n" + UNKNOWN)


@pytest.mark.parametrize("command", ["describe", "offsets"])
def test_a_named_group_is_read_although_a_broker_failed_to_list_its_groups(cluster: FakeCluster, command: str) -> None:
    cluster.unlistable[3] = failure("TIMEOUT", code=None, broker=3)
    del cluster.listings["a"]
    outcome = run(command, "a", "--match", "z.*", "--format", "csv")
    assert {line.split(",")[0] for line in outcome.stdout.splitlines()} == {"GROUP", "a"}
    assert (outcome.exit_code, outcome.stderr) == (3, "Error: broker 3: refused (TIMEOUT)\n")


def test_an_empty_list_of_the_other_brokers_is_a_partial_result(cluster: FakeCluster) -> None:
    cluster.listings.clear()
    cluster.unlistable[3] = failure("TIMEOUT", code=None, broker=3)
    outcome = run("list", "--format", "json")
    assert (outcome.exit_code, json.loads(outcome.stdout)["status"]) == (3, "partial")


def test_a_list_that_fails_on_all_brokers_is_a_failed_document(cluster: FakeCluster) -> None:
    cluster.listings.clear()
    cluster.unlistable = {number: failure("TIMEOUT", code=None, broker=number) for number in (1, 2, 3)}
    outcome = run("list", "--format", "json")
    assert (outcome.exit_code, json.loads(outcome.stdout)["status"]) == (1, "failed")
    assert outcome.stderr.splitlines() == [f"Error: broker {number}: refused (TIMEOUT)" for number in (1, 2, 3)]


def test_a_denied_group_is_an_error_although_it_was_not_named(cluster: FakeCluster) -> None:
    cluster.undescribable["a"] = failure(group="a")
    outcome = run("describe", "--all-groups", "--format", "ndjson")
    stderr = "Consumer group 'b' has no active members.\nError: group 'a': refused (GROUP_AUTHORIZATION_FAILED)\n"
    assert (outcome.exit_code, outcome.stderr) == (3, stderr)
    assert [json.loads(line)["group"] for line in outcome.stdout.splitlines()] == ["b"]


def test_a_group_whose_commits_fail_has_no_rows_and_an_error(cluster: FakeCluster) -> None:
    cluster.unfetchable["a"] = failure("TIMEOUT", code=None, group="a")
    outcome = run("describe", "a", "b", "--format", "json")
    document = json.loads(outcome.stdout)
    assert [group["group"] for group in document["groups"]] == ["b"]
    assert (outcome.exit_code, document["status"], len(document["errors"])) == (3, "partial", 1)


def test_a_partition_without_a_leader_is_an_error_and_keeps_its_row(cluster: FakeCluster) -> None:
    cluster.leaderless[TopicPartition("t", 1)] = failure(
        "LEADER_NOT_AVAILABLE", code=5, topic="t", partition=1, broker=2
    )
    outcome = run("describe", "a", "--format", "csv")
    assert outcome.stdout.splitlines()[1:] == ["a,t,0,1,5,4,m,/10.0.0.1,client", "a,t,1,1,,,m,/10.0.0.1,client"]
    assert (outcome.exit_code, outcome.stderr) == (3, "Error: partition t-1: refused (LEADER_NOT_AVAILABLE)\n")


def test_the_log_start_offset_of_a_failed_partition_is_not_fetched(cluster: FakeCluster) -> None:
    cluster.leaderless[TopicPartition("t", 1)] = failure("LEADER_NOT_AVAILABLE", code=5, topic="t", partition=1)
    outcome = run("describe", "a", "--verbose", "--format", "json")
    assert len(errors_of(outcome.stdout)) == 1
    assert list(cluster.admin.list_offsets.call_args.args[0]) == [("t", 0)]


def test_a_topic_that_cannot_be_described_hides_members_but_not_commits(cluster: FakeCluster) -> None:
    cluster.undescribable["a"] = failure("TOPIC_AUTHORIZATION_FAILED", code=29, group="a")
    outcome = run("describe", "a", "--format", "csv")
    assert outcome.stdout.splitlines()[1:] == ["a,t,0,1,5,4,,,", "a,t,1,1,5,4,,,"]
    assert (outcome.exit_code, outcome.stderr) == (3, "Error: group 'a': refused (TOPIC_AUTHORIZATION_FAILED)\n")


def test_a_group_that_cannot_be_described_and_has_no_visible_commits_is_only_an_error(cluster: FakeCluster) -> None:
    cluster.add("bare", kind="Consumer")
    cluster.undescribable["bare"] = failure("TOPIC_AUTHORIZATION_FAILED", code=29, group="bare")
    assert run("describe", "bare") == (1, "", "Error: group 'bare': refused (TOPIC_AUTHORIZATION_FAILED)\n")


@pytest.mark.parametrize("view", ["--members", "--state"])
def test_views_without_commits_have_no_row_for_a_group_that_cannot_be_described(
    cluster: FakeCluster, view: str
) -> None:
    cluster.undescribable["a"] = failure("TOPIC_AUTHORIZATION_FAILED", code=29, group="a")
    assert run("describe", "a", view) == (1, "", "Error: group 'a': refused (TOPIC_AUTHORIZATION_FAILED)\n")


@pytest.mark.parametrize(
    "message",
    ["broker 3 (b3:9092): closed the connection", "cannot connect to broker 3 (b3:9092): connection refused"],
)
def test_an_error_names_its_broker_once(cluster: FakeCluster, message: str) -> None:
    cluster.unlistable[3] = Failure(code=None, name="CONNECTION_FAILED", message=message, broker=3)
    assert run("list", "-q").stderr == f"Error: {message} (CONNECTION_FAILED)\n"


def test_a_config_provider_that_fails_ends_a_command_with_a_document(tmp_path: Path) -> None:
    config, kind = tmp_path / "client.properties", "org.apache.kafka.common.config.provider.FileConfigProvider"
    config.write_text(
        f"bootstrap.servers=b:1\nconfig.providers=file\nconfig.providers.file.class={kind}\n"
        "client.id=${file:/nowhere/secrets:id}\n"
    )
    outcome = run("list", "--config", str(config), "--format", "json")
    document = json.loads(outcome.stdout)
    assert (outcome.exit_code, document["status"]) == (1, "failed")
    assert [each["name"] for each in document["errors"]] == ["CONFIG_PROVIDER_FAILED"]
    assert "client.id: the file /nowhere/secrets of a config provider cannot be read: No such" in outcome.stderr

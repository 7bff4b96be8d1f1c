"""All checks, with and without a cluster, and the command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from kafka_groups.errors import SettingsError
from kafka_groups.pipeline.doctor.check import Check
from kafka_groups.pipeline.doctor.checks import run_checks
from kafka_groups.pipeline.facts.source.brokers import check_client
from kafka_groups.pipeline.store import Storage
from kafka_groups.settings.librdkafka import ClientSettings
from tests.fakes.command_line import run

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


def test_without_a_cluster_this_machine_is_checked() -> None:
    checks = {check.check: check for check in run_checks(None, None, environment={"PATH": ""})}
    assert checks["python"].status == "ok"
    assert checks["brokers"].status == "warning"


def test_brokers_that_do_not_respond_fail_within_the_timeout() -> None:
    client = ClientSettings(properties={"bootstrap.servers": "127.0.0.1:1"}, timeout_s=0.5)
    checks = run_checks(client, None, environment={"PATH": ""})
    (brokers,) = (check for check in checks if check.check == "brokers")
    assert brokers.status == "failed"
    assert "127.0.0.1:1" in brokers.detail


def test_a_property_that_librdkafka_refuses_is_a_settings_error() -> None:
    with pytest.raises(SettingsError, match=r"no\.such"):
        check_client({"bootstrap.servers": "127.0.0.1:1", "no.such": "1"}, 1.0)


def test_the_command_fails_if_a_check_does(storage: Storage, mocker: MockerFixture) -> None:
    checks = [Check("java", "ok", "17"), Check("brokers", "failed", "away")]
    fake = mocker.patch("kafka_groups.pipeline.doctor.checks.run_checks", return_value=checks)
    outcome = run("pipeline", "doctor", "--data-dir", storage.location)
    table = "CHECK    STATUS  DETAIL\njava     ok      17\nbrokers  failed  away\n"
    assert outcome == (3, table, "Failed checks: 1.\n")
    assert fake.call_args.args[0].properties["bootstrap.servers"] == "b1:9092"
    document = json.loads(run("pipeline", "doctor", "--format", "json").stdout)
    Draft202012Validator(json.loads(run("schema", "pipeline-doctor").stdout)).validate(document)
    assert document["checks"][1] == {"check": "brokers", "status": "failed", "detail": "away"}
    assert (document["status"], [error["message"] for error in document["errors"]]) == ("partial", ["brokers: away"])
    lines = run("pipeline", "doctor", "--format", "ndjson").stdout.splitlines()
    assert [json.loads(line)["check"] for line in lines] == ["java", "brokers"]


def test_without_a_cluster_the_command_sends_no_request(mocker: MockerFixture) -> None:
    fake = mocker.patch("kafka_groups.pipeline.doctor.checks.run_checks", return_value=[Check("java", "warning", "x")])
    assert run("pipeline", "doctor", bootstrap=None).exit_code == 0
    assert fake.call_args.args[:2] == (None, None)

"""The doctor's check of settings of the brokers."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from kafka_groups.pipeline.doctor import broker_settings
from kafka_groups.pipeline.doctor.broker_settings import check_broker_settings
from kafka_groups.pipeline.doctor.check import Check
from tests.fakes.raw_port import accepting_only

if TYPE_CHECKING:
    from confluent_kafka.admin import ConfigResource
    from pytest_mock import MockerFixture

NAME = "settings of the brokers"
CLIENT = {"bootstrap.servers": "127.0.0.1:1", "sasl.password": "s3cret-word"}
USUAL = {"offsets.retention.minutes": "10080", "log.cleaner.enable": "true", "num.io.threads": "8"}
USUAL_TEXT = "offsets.retention.minutes=10080, log.cleaner.enable=true"


def check_brokers(mocker: MockerFixture, settings: dict[int, dict[str, str] | KafkaError]) -> Check:
    """Check brokers that return these settings, or an error, by their id."""

    def describe(resources: Sequence[ConfigResource], **_options: object) -> dict[ConfigResource, Future[Any]]:
        # librdkafka refuses several brokers in one request.
        (resource,) = resources
        response: Future[Any] = Future()
        values = settings[int(resource.name)]
        if isinstance(values, KafkaError):
            response.set_exception(KafkaException(values))
        else:
            response.set_result({name: SimpleNamespace(value=value) for name, value in values.items()})
        return {resource: response}

    cluster: Future[Any] = Future()
    cluster.set_result(SimpleNamespace(nodes=[SimpleNamespace(id=broker) for broker in settings]))
    admin = mocker.patch.object(broker_settings, "new_admin").return_value
    admin.describe_cluster.return_value = cluster
    admin.describe_configs.side_effect = describe
    return check_broker_settings(CLIENT, 5)


def test_settings_that_all_brokers_share_are_reported_once(mocker: MockerFixture) -> None:
    assert check_brokers(mocker, {1: USUAL, 2: USUAL}) == Check(NAME, "ok", USUAL_TEXT)


def test_brokers_that_differ_are_a_warning(mocker: MockerFixture) -> None:
    check = check_brokers(mocker, {3: USUAL, 1: USUAL, 2: USUAL | {"offsets.retention.minutes": "60"}})
    assert check.status == "warning"
    assert check.detail == (
        f"brokers differ: brokers 1, 3: {USUAL_TEXT}; brokers 2: offsets.retention.minutes=60, log.cleaner.enable=true"
    )


def test_brokers_without_a_log_cleaner_are_a_warning(mocker: MockerFixture) -> None:
    check = check_brokers(mocker, {1: {"log.cleaner.enable": "false"}})
    assert (check.status, check.detail.split(";")[0]) == ("warning", "log.cleaner.enable=false")
    assert "grows without bound" in check.detail


def test_brokers_that_return_none_of_these_settings_are_ok(mocker: MockerFixture) -> None:
    assert check_brokers(mocker, {1: {"num.io.threads": "8"}}) == Check(NAME, "ok", "defaults")


def test_a_missing_right_is_a_warning_without_secrets(mocker: MockerFixture) -> None:
    error = KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed for s3cret-word")
    assert check_brokers(mocker, {1: USUAL, 2: error}) == Check(
        NAME,
        "warning",
        "they cannot be read: broker 2: Cluster authorization failed for (hidden); "
        "this check needs DESCRIBE_CONFIGS on the cluster",
    )


def test_properties_that_librdkafka_refuses_are_a_warning() -> None:
    check = check_broker_settings({**CLIENT, "no.such": "1"}, 5)
    assert (check.status, "no.such" in check.detail, "s3cret" in check.detail) == ("warning", True, False)


@pytest.mark.timed
def test_brokers_that_do_not_respond_are_a_warning(capfd: pytest.CaptureFixture[str]) -> None:
    with accepting_only() as silent:
        check = check_broker_settings({"bootstrap.servers": str(silent)}, 1)
    assert (check.status, "imed out" in check.detail or "in time" in check.detail) == ("warning", True)
    assert capfd.readouterr() == ("", "")

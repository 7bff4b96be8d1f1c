"""Kerberos in librdkafka: the build of the library is checked before anything connects."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from kafka_groups.admin import GroupAdmin, librdkafka
from kafka_groups.admin.librdkafka import open_admin_client, open_consumer, require_features
from kafka_groups.errors import MissingFeatureError, SourceError
from kafka_groups.groups.lag.measurement import measure_lag
from kafka_groups.groups.selection import Selectors
from kafka_groups.pipeline.facts.source.brokers import new_admin, new_consumer
from kafka_groups.settings import ConnectionSettings, KerberosCredentials
from tests.fakes.sasl_cluster import SaslCluster

KERBEROS = {
    "bootstrap.servers": "127.0.0.1:1",
    "security.protocol": "sasl_plaintext",
    "sasl.mechanism": "GSSAPI",
}
MISSING = "librdkafka, which reads them, is built without it, as in the wheels of confluent-kafka; install "


@pytest.fixture
def wheel(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Let librdkafka refuse the feature, as the one in the wheels does, and return the properties of its clients."""
    created: list[dict[str, Any]] = []

    def refuse(properties: dict[str, Any]) -> None:
        created.append(properties)
        raise KafkaException(KafkaError(KafkaError._INVALID_ARG, "cyrus-sasl/libsasl2 not available at build time"))

    monkeypatch.setattr(librdkafka, "AdminClient", refuse)
    return created


def test_the_feature_is_asked_for_without_any_server(wheel: list[dict[str, Any]]) -> None:
    with pytest.raises(MissingFeatureError, match=MISSING) as caught:
        require_features(KERBEROS)
    assert wheel == [{"builtin.features": "sasl_gssapi", "log_level": 0}]
    assert (caught.value.exit_code, caught.value.name) == (1, "AUTHENTICATION_FAILED")


def test_other_users_need_no_feature(wheel: list[dict[str, Any]]) -> None:
    require_features({**KERBEROS, "sasl.mechanism": "PLAIN"})
    require_features({"bootstrap.servers": "127.0.0.1:1"})
    assert wheel == []


def test_no_client_is_opened_without_the_feature(wheel: list[dict[str, Any]]) -> None:
    for opened in (lambda: open_consumer(Consumer, KERBEROS, {}), lambda: open_admin_client(KERBEROS)):
        with pytest.raises(MissingFeatureError, match=MISSING):
            opened()
    for read in (lambda: new_consumer(KERBEROS, 1), lambda: new_admin(KERBEROS, 1)):
        with pytest.raises(SourceError, match=MISSING):
            read()
    assert len(wheel) == 4


def test_a_librdkafka_with_the_feature_gets_the_properties(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(librdkafka, "AdminClient", lambda _properties: None)
    properties = {**KERBEROS, "sasl.kerberos.keytab": "/k"}
    assert open_consumer(dict, properties, {}).items() >= properties.items()


def test_the_feature_has_the_name_that_librdkafka_knows() -> None:
    refusals: list[str] = []
    try:
        AdminClient({**librdkafka._KERBEROS_FEATURE, "log_level": 0})
    except KafkaException as error:
        refusals.append(error.args[0].str())
    # A name that it does not know is "Invalid", whatever the build.
    assert all(text.startswith('Unsupported value "sasl_gssapi"') for text in refusals)


@pytest.mark.usefixtures("wheel")
def test_time_lag_fails_before_the_first_request() -> None:
    with SaslCluster(brokers=1, mechanism="GSSAPI") as cluster:
        settings: ConnectionSettings = cluster.settings(credentials=KerberosCredentials())
        with GroupAdmin(settings) as admin, pytest.raises(MissingFeatureError, match=MISSING):
            measure_lag(admin, Selectors(), with_time=True)
        with GroupAdmin(settings) as admin, pytest.raises(MissingFeatureError, match=MISSING):
            admin.list_record_times([("t", 0, 1)])
        assert cluster.brokers[1].received == []

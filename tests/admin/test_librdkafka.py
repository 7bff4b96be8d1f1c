"""librdkafka's clients: what they may not do, and texts of errors without secrets."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError

from kafka_groups.admin.librdkafka import describe_error, mask_secrets, open_admin_client, open_consumer
from kafka_groups.errors import SettingsError
from kafka_groups.settings.properties import PROPERTIES

SERVERS = {"bootstrap.servers": "127.0.0.1:1"}
SECRET = "hunter2"


def properties_of_consumer(properties: dict[str, str], **reading: Any) -> dict[str, Any]:
    """Return the properties that librdkafka's Consumer gets."""
    return open_consumer(dict, properties, reading)


def test_a_consumer_joins_no_group_and_commits_nothing_whatever_the_properties_say() -> None:
    given = properties_of_consumer({"group.id": "theirs", "enable.auto.commit": "true", "auto.offset.reset": "latest"})
    assert given["group.id"] == "kafka-groups-reads-without-a-group"
    assert given["auto.offset.reset"] == "error"
    switched_off = ("enable.auto.commit", "enable.auto.offset.store", "allow.auto.create.topics")
    assert [given[key] for key in switched_off] == [False, False, False]


def test_a_reader_adds_its_own_properties() -> None:
    assert properties_of_consumer(SERVERS, **{"fetch.max.bytes": 7})["fetch.max.bytes"] == 7


def test_clients_print_nothing_of_a_broker_that_is_not_there(capfd: pytest.CaptureFixture[str]) -> None:
    errors: list[KafkaError] = []
    client = open_admin_client(SERVERS, on_error=errors.append)
    while not errors:
        client.poll(0.1)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["ssl.key.pem", "sasl.password", "sasl.oauthbearer.config", "unknown.to.the.table"])
def test_a_value_that_may_be_secret_is_in_no_text(name: str) -> None:
    assert mask_secrets(f"bad key {SECRET}x at here:9", {name: SECRET}) == "bad key (hidden)x at here:9"


@pytest.mark.parametrize("name", [name for each in PROPERTIES if each.is_secret for name in (each.name, *each.aliases)])
def test_each_secret_property_of_the_table_is_masked_by_all_its_names(name: str) -> None:
    assert mask_secrets(SECRET, {name: SECRET}) == "(hidden)"


def test_a_value_that_is_no_secret_stays() -> None:
    properties = {"bootstrap.servers": "kafka:9", "sasl.username": "kafka", "socket.timeout.ms": "9000"}
    text = "kafka:9: no response for 9000 ms"
    assert mask_secrets(text, {**properties, "sasl.password": "", "ssl.key.password": SECRET}) == text


def test_a_secret_that_contains_another_is_masked_as_a_whole() -> None:
    properties = {"ssl.key.password": "hunt", "sasl.password": SECRET, "ssl.keystore.password": "hidden"}
    assert mask_secrets("hunter2 and hunted", properties) == "(hidden) and (hidden)ed"


def test_a_short_secret_is_masked_as_a_word_and_no_text_is_garbled() -> None:
    assert mask_secrets("refused: a, and all", {"sasl.password": "a"}) == "refused: (hidden), and all"


def test_an_error_has_no_secret_and_no_time() -> None:
    error = KafkaError(KafkaError._TRANSPORT, f"b:9: refused {SECRET} (after 12ms in state CONNECT)")
    assert describe_error(error, {"sasl.password": SECRET}) == "b:9: refused (hidden)"


def test_a_failed_tls_handshake_has_the_next_step() -> None:
    text = "b:9: SSL handshake failed: error:0A00018A:SSL routines::dh key too small"
    assert "set ssl.cipher.suites of the broker" in describe_error(KafkaError(KafkaError._SSL, text), {})


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        # A value of a property that is no secret may be one that belongs elsewhere.
        (
            {"ssl.endpoint.identification.algorithm": f'{SECRET}" for'},
            'Invalid value "(hidden)" for configuration property "ssl.endpoint.identification.algorithm"',
        ),
        ({"socket.timout.ms": SECRET}, "did you mean 'socket.timeout.ms'?"),
        ({"sasl.oauthbearer.confik": SECRET}, "did you mean 'sasl.oauthbearer.config'?"),
        ({"nosuch": SECRET}, 'No such configuration property: "nosuch"'),
        ({"ssl.ca.location": "/no/such/file", "security.protocol": "ssl"}, "ssl.ca.location failed"),
    ],
)
def test_a_property_that_librdkafka_refuses_is_named_without_a_secret(properties: dict[str, str], reason: str) -> None:
    for opened in (lambda: open_consumer(Consumer, SERVERS | properties, {}), lambda: open_admin_client(properties)):
        with pytest.raises(SettingsError, match="librdkafka refuses the connection properties: ") as refused:
            opened()
        assert reason in str(refused.value)
        assert SECRET not in str(refused.value)

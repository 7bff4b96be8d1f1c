"""The table of property keys: each key once, and only properties that librdkafka has."""

from __future__ import annotations

from itertools import chain

import pytest
from confluent_kafka import Consumer, KafkaException

from kafka_groups.settings.properties import PROPERTIES, canonical_name

NO_SUCH_PROPERTY = "No such configuration property"


def test_every_key_and_alias_has_one_row() -> None:
    keys = list(chain.from_iterable((each.name, *each.aliases) for each in PROPERTIES))
    assert len(keys) == len(set(keys))


def test_an_alias_has_the_canonical_name_of_its_row() -> None:
    for each in PROPERTIES:
        assert {canonical_name(key) for key in (each.name, *each.aliases)} == {each.name}
    assert canonical_name("no.such.property") == "no.such.property"


def test_values_of_properties_named_as_secrets_are_secret() -> None:
    words = ("password", "client.secret", "keystore.key", "certificates", "jaas")
    named = {each.name for each in PROPERTIES if any(word in each.name for word in words)}
    assert named <= {each.name for each in PROPERTIES if each.is_secret}


@pytest.mark.parametrize("key", [each.name for each in PROPERTIES if each.librdkafka in ("passed", "reserved")])
def test_librdkafka_has_every_property_that_is_passed_or_reserved(key: str) -> None:
    assert NO_SUCH_PROPERTY not in librdkafka_error(key)
    assert NO_SUCH_PROPERTY in librdkafka_error("no.such.property")


def librdkafka_error(key: str) -> str:
    """Return the error that librdkafka has for a property, empty if it accepts the value."""
    try:
        Consumer({"group.id": "g", key: "kafka-groups-test", "log_level": 0}).close()
    except KafkaException as error:
        return str(error.args[0].str())
    return ""

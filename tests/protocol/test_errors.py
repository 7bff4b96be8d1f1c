"""Error codes of Kafka: names and retriable codes as in Kafka's own table, which the package kio carries."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode as KioErrorCode

from kafka_groups.errors import BrokerError
from kafka_groups.protocol import errors
from kafka_groups.protocol.errors import ErrorCode, broker_error, error_code, error_name


@pytest.mark.parametrize("kafka_code", KioErrorCode, ids=lambda code: code.name)
def test_a_code_has_the_name_and_the_retriability_of_kafka(kafka_code: KioErrorCode) -> None:
    code = error_code(int(kafka_code))
    assert (code.number, code.name, code.retriable) == (int(kafka_code), kafka_code.name.upper(), kafka_code.retriable)


def test_each_constant_has_the_number_of_its_name() -> None:
    constants = {name: value for name, value in vars(errors).items() if isinstance(value, int)}
    assert len(constants) > 15
    assert {name: error_name(value) for name, value in constants.items()} == {name: name for name in constants}


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (135, "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED"),
        (136, "CONTROLLER_ID_NOT_REGISTERED"),
    ],
)
def test_codes_of_kafka_4_4_are_known(number: int, name: str) -> None:
    assert error_code(number) == ErrorCode(number, name, name.lower().replace("_", " "), retriable=False)


def test_a_code_that_users_meet_has_a_sentence_of_its_own() -> None:
    assert error_code(134).name == "GROUP_DELETION_FAILED"
    for number in (12, 24, 25, 27, 68, 69, 82, 86, 134):
        assert error_code(number).sentence != error_code(number).name.lower().replace("_", " ")


def test_a_code_newer_than_the_table_is_named_by_its_number_and_is_not_retriable() -> None:
    assert error_code(32_000) == ErrorCode(32_000, "ERROR_32000", "error 32000", retriable=False)
    assert error_name(32_000) == "ERROR_32000"


def test_an_error_has_the_message_of_the_broker_or_else_the_sentence_of_its_code() -> None:
    with_message, without = broker_error(134, "the plugin failed"), broker_error(3)
    assert (str(with_message), with_message.code, with_message.name) == (
        "the plugin failed",
        134,
        "GROUP_DELETION_FAILED",
    )
    assert (type(without), str(without)) == (BrokerError, error_code(3).sentence)
    assert str(without) == "the topic or partition does not exist"

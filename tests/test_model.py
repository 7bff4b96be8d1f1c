"""Spelling of states and types, failures, errors and results."""

from __future__ import annotations

import json

import pytest

from kafka_groups.errors import (
    AdminError,
    AuthenticationFailedError,
    BrokerError,
    ConnectionFailedError,
    IncompleteResultError,
    InvalidRequestError,
    KafkaGroupsError,
    MalformedResponseError,
    MissingFromResponseError,
    NameNotResolvedError,
    SandboxError,
    SettingsError,
    TimeoutExceededError,
    TlsFailedError,
    UnsupportedVersionError,
)
from kafka_groups.exit_codes import ResultStatus
from kafka_groups.model import Assignment, Failure, Member, Results, TopicPartition, status_of
from kafka_groups.protocol.errors import broker_error, error_name

OWN_ERRORS = [
    (TimeoutExceededError, "TIMEOUT"),
    (NameNotResolvedError, "NAME_NOT_RESOLVED"),
    (ConnectionFailedError, "CONNECTION_FAILED"),
    (TlsFailedError, "TLS_FAILED"),
    (AuthenticationFailedError, "AUTHENTICATION_FAILED"),
    (UnsupportedVersionError, "UNSUPPORTED_VERSION"),
    (MissingFromResponseError, "MISSING_FROM_RESPONSE"),
    (MalformedResponseError, "MALFORMED_RESPONSE"),
]


@pytest.mark.parametrize(("kind", "name"), OWN_ERRORS)
def test_a_failure_on_the_clients_side_has_a_name_and_no_code(kind: type[AdminError], name: str) -> None:
    failure = Failure.of(kind("the reason"), group="g")
    assert (failure.code, failure.name, failure.message, failure.group) == (None, name, "the reason", "g")


@pytest.mark.parametrize(("kind", "name"), OWN_ERRORS)
def test_a_failure_on_the_clients_side_converts_back_to_its_error(kind: type[AdminError], name: str) -> None:
    error = Failure.of(kind("the reason")).to_error()
    assert type(error) is kind
    assert (str(error), error.name) == ("the reason", name)


def test_an_invalid_request_has_the_code_and_the_name_of_kafkas_error() -> None:
    failure = Failure.of(InvalidRequestError("too long"), group="g")
    assert (failure.code, failure.name) == (42, "INVALID_REQUEST")
    assert error_name(42) == "INVALID_REQUEST"


def test_a_failure_with_a_kafka_code_converts_back_to_a_broker_error() -> None:
    failure = Failure.of(broker_error(30), group="g", broker=2)
    assert failure == Failure(
        group="g",
        broker=2,
        code=30,
        name="GROUP_AUTHORIZATION_FAILED",
        message="not allowed: this needs DESCRIBE on the group",
    )
    error = failure.to_error()
    assert type(error) is BrokerError
    assert (error.code, error.name) == (30, "GROUP_AUTHORIZATION_FAILED")


def test_the_message_of_a_broker_replaces_the_sentence_of_the_code() -> None:
    assert str(broker_error(69, "Group g was never seen.")) == "Group g was never seen."
    assert str(broker_error(69, "")) == "there is no such group"
    assert str(broker_error(69)) == "there is no such group"


def test_a_code_without_a_sentence_has_its_name_as_text() -> None:
    assert str(broker_error(79)) == "member id required"


def test_a_code_newer_than_the_table_has_its_number_as_name() -> None:
    error = broker_error(9999)
    assert (error.code, error.name, str(error)) == (9999, "ERROR_9999", "error 9999")


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (-1, "UNKNOWN_SERVER_ERROR"),
        (3, "UNKNOWN_TOPIC_OR_PARTITION"),
        (14, "COORDINATOR_LOAD_IN_PROGRESS"),
        (15, "COORDINATOR_NOT_AVAILABLE"),
        (16, "NOT_COORDINATOR"),
        (24, "INVALID_GROUP_ID"),
        (25, "UNKNOWN_MEMBER_ID"),
        (27, "REBALANCE_IN_PROGRESS"),
        (29, "TOPIC_AUTHORIZATION_FAILED"),
        (30, "GROUP_AUTHORIZATION_FAILED"),
        (35, "UNSUPPORTED_VERSION"),
        (68, "NON_EMPTY_GROUP"),
        (69, "GROUP_ID_NOT_FOUND"),
        (86, "GROUP_SUBSCRIBED_TO_TOPIC"),
        (88, "UNSTABLE_OFFSET_COMMIT"),
        (113, "STALE_MEMBER_EPOCH"),
    ],
)
def test_codes_have_the_names_of_kafka(code: int, name: str) -> None:
    assert error_name(code) == name


def test_all_returns_the_results_if_nothing_failed() -> None:
    assert Results(succeeded={"a": 1}).all() == {"a": 1}


def test_all_raises_the_first_failure_if_some_keys_succeeded() -> None:
    failed = {"b": Failure.of(TimeoutExceededError("late"), group="b"), "c": Failure.of(broker_error(30), group="c")}
    with pytest.raises(TimeoutExceededError, match="late"):
        Results(succeeded={"a": 1}, failed=failed).all()


def test_results_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Results(succeeded={}).succeeded = {}  # type: ignore[misc]  # the assignment that mypy rejects


def test_the_partition_count_of_a_member_is_over_all_its_topics() -> None:
    topics = (Assignment(topic="a", partitions=(0, 1)), Assignment(topic="b", partitions=(0,)))
    member = Member(member_id="m", group_instance_id=None, client_id="c", host="h", assignment=topics)
    assert member.partition_count == 3


def test_partitions_are_ordered_by_topic_and_then_by_number() -> None:
    assert sorted([TopicPartition("t", 10), TopicPartition("t", 9), TopicPartition("a", 99)]) == [
        ("a", 99),
        ("t", 9),
        ("t", 10),
    ]


@pytest.mark.parametrize(
    ("error", "exit_code"),
    [
        (KafkaGroupsError(), 1),
        (SettingsError(), 2),
        (SandboxError(), 1),
        (TimeoutExceededError(), 1),
        (broker_error(30), 1),
        (IncompleteResultError(ResultStatus.PARTIAL), 3),
        (IncompleteResultError(ResultStatus.FAILED), 1),
    ],
)
def test_every_error_has_an_exit_code(error: KafkaGroupsError, exit_code: int) -> None:
    assert error.exit_code == exit_code


@pytest.mark.parametrize(
    ("anything_failed", "anything_succeeded", "status", "exit_code"),
    [
        (False, False, "complete", 0),
        (False, True, "complete", 0),
        (True, True, "partial", 3),
        (True, False, "failed", 1),
    ],
)
def test_the_status_of_a_result_decides_its_exit_code(
    anything_failed: bool, anything_succeeded: bool, status: str, exit_code: int
) -> None:
    found = status_of(anything_failed=anything_failed, anything_succeeded=anything_succeeded)
    assert (json.dumps(found), found.exit_code) == (f'"{status}"', exit_code)

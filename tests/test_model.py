"""The language of the house: spelling, failures and answers."""

from __future__ import annotations

import dataclasses

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
from kafka_groups.model import Assignment, Failure, Member, Results, TopicPartition, spell
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


@pytest.mark.parametrize(
    ("told", "spelled"),
    [
        ("stable", "Stable"),
        ("PREPARINGREBALANCE", "PreparingRebalance"),
        ("NotReady", "NotReady"),
        ("consumer", "Consumer"),
        ("streams", "Streams"),
        ("Hibernating", "Hibernating"),
        ("", None),
    ],
)
def test_states_and_types_are_spelled_as_kafkas_tools_print_them(told: str, spelled: str | None) -> None:
    assert spell(told) == spelled


@pytest.mark.parametrize(("kind", "name"), OWN_ERRORS)
def test_what_happened_on_our_side_has_a_name_and_no_code(kind: type[AdminError], name: str) -> None:
    failure = Failure.of(kind("told so"), group="g")
    assert (failure.code, failure.name, failure.message, failure.group) == (None, name, "told so", "g")


@pytest.mark.parametrize(("kind", "name"), OWN_ERRORS)
def test_a_failure_of_ours_becomes_the_same_error_again(kind: type[AdminError], name: str) -> None:
    error = Failure.of(kind("told so")).to_error()
    assert type(error) is kind
    assert (str(error), error.name) == ("told so", name)


def test_a_name_that_no_request_can_carry_is_called_as_a_broker_would_call_it() -> None:
    failure = Failure.of(InvalidRequestError("too long"), group="g")
    assert (failure.code, failure.name) == (42, "INVALID_REQUEST")
    assert error_name(42) == "INVALID_REQUEST"


def test_a_brokers_failure_becomes_a_brokers_error_again() -> None:
    failure = Failure.of(broker_error(30), group="g", broker=2)
    assert failure == Failure(
        group="g",
        broker=2,
        code=30,
        name="GROUP_AUTHORIZATION_FAILED",
        message="not allowed: this needs Describe on the group",
    )
    error = failure.to_error()
    assert type(error) is BrokerError
    assert (error.code, error.name) == (30, "GROUP_AUTHORIZATION_FAILED")


def test_the_words_of_a_broker_win_over_ours() -> None:
    assert str(broker_error(69, "Group g was never seen.")) == "Group g was never seen."
    assert str(broker_error(69, "")) == "there is no such group"
    assert str(broker_error(69)) == "there is no such group"


def test_a_code_without_a_sentence_is_told_by_its_name() -> None:
    assert str(broker_error(79)) == "member id required"


def test_a_code_that_is_newer_than_our_table_is_told_by_its_number() -> None:
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
def test_codes_have_kafkas_names(code: int, name: str) -> None:
    assert error_name(code) == name


def test_answers_without_failures_are_all_there() -> None:
    assert Results(succeeded={"a": 1}).all() == {"a": 1}


def test_all_raises_the_first_failure_though_others_were_found() -> None:
    failed = {"b": Failure.of(TimeoutExceededError("late"), group="b"), "c": Failure.of(broker_error(30), group="c")}
    with pytest.raises(TimeoutExceededError, match="late"):
        Results(succeeded={"a": 1}, failed=failed).all()


def test_answers_cannot_be_changed_by_who_gets_them() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Results(succeeded={}).succeeded = {}  # type: ignore[misc]  # what mypy forbids is what is tried


def test_a_members_partitions_are_counted_over_its_topics() -> None:
    topics = (Assignment(topic="a", partitions=(0, 1)), Assignment(topic="b", partitions=(0,)))
    member = Member(member_id="m", group_instance_id=None, client_id="c", host="h", assignment=topics)
    assert member.partition_count() == 3


def test_partitions_are_ordered_by_topic_then_number() -> None:
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
        (IncompleteResultError(anything_succeeded=True), 3),
        (IncompleteResultError(anything_succeeded=False), 1),
    ],
)
def test_every_error_carries_its_exit_code(error: KafkaGroupsError, exit_code: int) -> None:
    assert error.exit_code == exit_code

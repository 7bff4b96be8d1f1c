"""Requests to brokers: properties that librdkafka refuses, and brokers that do not respond."""

from __future__ import annotations

import socket
import time
from typing import NoReturn

import pytest
from confluent_kafka import KafkaError

from kafka_groups.errors import SourceError, UnreachableError
from kafka_groups.pipeline.facts.source.brokers import Brokers, source_error


def test_refused_properties_are_reported_without_their_values() -> None:
    with pytest.raises(SourceError, match="librdkafka refuses the connection properties") as caught:
        Brokers({"bootstrap.servers": "127.0.0.1:1", "ssl.endpoint.identification.algorithm": "hunter2"}, 1)

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "end"),
    [("socket.timout.ms", "; did you mean 'socket.timeout.ms'?"), ("nosuch", '"nosuch"')],
)
def test_an_unknown_property_gets_a_suggestion(key: str, end: str) -> None:
    with pytest.raises(SourceError, match="No such configuration property") as caught:
        Brokers({"bootstrap.servers": "127.0.0.1:1", key: "5"}, 1)

    assert str(caught.value).endswith(end)


@pytest.mark.parametrize(
    "code", [KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.UNKNOWN_TOPIC_ID, KafkaError._UNKNOWN_TOPIC]
)
def test_an_unknown_topic_is_a_retriable_error(code: int) -> None:
    assert type(source_error(KafkaError(code), {})) is UnreachableError


def test_a_refusal_is_no_retriable_error() -> None:
    assert type(source_error(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), {})) is SourceError


def test_unreachable_brokers_are_reported_in_time() -> None:
    begun = time.monotonic()
    with pytest.raises(UnreachableError, match=r"^cannot connect to 127\.0\.0\.1:1: Connection refused$"):
        Brokers({"bootstrap.servers": "127.0.0.1:1"}, 30).cluster()
    assert time.monotonic() - begun < 5


def test_an_unknown_host_name_is_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the resolver, because a real one may take longer to respond."""

    def unknown(*_: object, **__: object) -> NoReturn:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(UnreachableError, match=r": the host name 'no-such\.invalid' has no address$"):
        Brokers({"bootstrap.servers": "no-such.invalid:9092"}, 30).cluster()

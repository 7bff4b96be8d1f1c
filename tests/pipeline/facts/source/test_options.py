"""The options of a reader, and what is said of addresses, properties and errors of brokers."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from typing import NoReturn

import pytest
from confluent_kafka import KafkaError
from pyspark.sql.types import StructType

from kafka_groups.errors import SourceError, UnreachableError
from kafka_groups.pipeline.facts.source.addresses import unreachable_reason
from kafka_groups.pipeline.facts.source.brokers import Brokers, source_error
from kafka_groups.pipeline.facts.source.datasource import KafkaGroupsSource
from kafka_groups.pipeline.facts.source.plan import EARLIEST, LATEST
from kafka_groups.pipeline.facts.source.source_options import read_options

AT = {"kafka.bootstrap.servers": "127.0.0.1:1"}


def test_option_names_have_any_case() -> None:
    options = read_options(AT | {"startingoffsets": '{"3": 7}', "MaxRecordsPerBatch": "9", "timeout": "1.5"})

    assert options["starting"] == {3: 7}
    assert (options["records_per_batch"], options["timeout_s"]) == (9, 1.5)


def test_starting_offsets_are_earliest_or_latest() -> None:
    for word, offset in (("earliest", EARLIEST), ("latest", LATEST)):
        assert read_options(AT | {"startingOffsets": word})["starting"] == offset


def test_reserved_properties_of_librdkafka_are_ignored() -> None:
    options = read_options(
        AT
        | {"kafka.ssl.ca.location": "/ca", "kafka.isolation.level": "x"}
        | {"kafka.group.id": "mine", "kafka.group.instance.id": "me", "kafka.group.protocol": "consumer"}
    )

    assert dict(options["client"]) == {"bootstrap.servers": "127.0.0.1:1", "ssl.ca.location": "/ca"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"startingOfsets": "earliest"}, "no option 'startingofsets'.*startingOffsets, group"),
        ({"startingOffsets": "soon"}, "write earliest, latest, or offsets as JSON"),
        ({"startingOffsets": '{"0": -3}'}, "latest, or offsets as JSON"),
        ({"startingOffsets": "[]"}, "latest, or offsets as JSON"),
        ({"maxRecordsPerBatch": "0"}, "maxRecordsPerBatch cannot be '0'; write a whole number, at least 1"),
        ({"maxRecordsPerBatch": "many"}, "maxRecordsPerBatch cannot be 'many'; write a whole number"),
        ({"minPartitions": "0.5"}, "minPartitions cannot be '0.5'; write a whole number"),
        ({"maxRecordsPerBatch": "1_0"}, "maxRecordsPerBatch cannot be '1_0'; write a whole number"),
        ({"minPartitions": "٣"}, "minPartitions cannot be '٣'; write a whole number"),
        ({"startingOffsets": '{"1_0": 5}'}, "latest, or offsets as JSON"),
        ({"timeout": "1_0"}, "timeout cannot be '1_0'; write a number of seconds greater than 0"),
        ({"timeout": "inf"}, "timeout cannot be 'inf'; write a number of seconds greater than 0"),
        ({"kafka.bootstrap.servers": ""}, "kafka.bootstrap.servers is missing"),
    ],
)
def test_an_unusable_option_is_named(given: dict[str, str], said: str) -> None:
    with pytest.raises(SourceError, match=said):
        read_options(AT | given)


def test_options_do_not_show_their_secrets() -> None:
    assert "hunter2" not in repr(KafkaGroupsSource(AT | {"kafka.sasl.password": "hunter2"}).reader(StructType()))


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
    """A resolver of this machine may take longer to say so than anybody waits for it."""

    def unknown(*_: object, **__: object) -> NoReturn:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(UnreachableError, match=r": the host name 'no-such\.invalid' has no address$"):
        Brokers({"bootstrap.servers": "no-such.invalid:9092"}, 30).cluster()


def test_one_reachable_address_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert unreachable_reason(f"127.0.0.1:1,PLAINTEXT://127.0.0.1:{port}", 5) is None


def test_an_inconclusive_address_is_left_to_librdkafka() -> None:
    assert unreachable_reason("", 5) is None
    assert unreachable_reason("not:an:address", 5) is None
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, ExitStack() as clients:
        for _ in range(4):
            client = clients.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(full.getsockname())
        assert unreachable_reason(f"127.0.0.1:{full.getsockname()[1]}", 0.3) is None


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (socket.EAI_NONAME, "the host name 'kafka' has no address"),
        (socket.EAI_AGAIN, "the host name 'kafka' cannot be resolved now"),
    ],
)
def test_an_unavailable_resolver_is_no_unknown_name(monkeypatch: pytest.MonkeyPatch, code: int, said: str) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise socket.gaierror(code, "no")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    assert unreachable_reason("kafka:9092", 5) == said

"""What each of Spark's two readers takes, and the error for an address that is not found."""

from __future__ import annotations

import socket
from typing import NoReturn

import pytest
from pyspark.sql.types import StructType

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.source.addresses import why_unreachable
from kafka_groups.pipeline.source.datasource import KafkaGroupsSource

AT = {"kafka.bootstrap.servers": "127.0.0.1:1"}


@pytest.mark.parametrize("ending", ["latest", '{"0": 23}'])
def test_a_stream_has_no_end_and_a_batch_may_have_one(ending: str) -> None:
    source = KafkaGroupsSource(AT | {"endingOffsets": ending})
    source.reader(StructType())
    with pytest.raises(SourceError, match=r"the option endingOffsets is for spark\.read"):
        source.streamReader(StructType())


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (socket.EAI_NONAME, "the host name 'kafka' has no address"),
        (socket.EAI_AGAIN, "the host name 'kafka' cannot be resolved now"),
    ],
)
def test_a_resolver_that_is_away_is_not_a_name_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch, code: int, told: str
) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise socket.gaierror(code, "no")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    assert why_unreachable("kafka:9092", 5) == told

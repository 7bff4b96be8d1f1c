"""What a reader may be told."""

from __future__ import annotations

import pytest

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.source.brokers import Brokers, hidden
from kafka_groups.pipeline.source.options import read_options

AT = {"kafka.bootstrap.servers": "127.0.0.1:1"}


def test_names_are_known_in_any_case() -> None:
    options = read_options(AT | {"startingoffsets": '{"3": 7}', "MaxRecordsPerBatch": "9", "timeout": "1.5"})

    assert (options.starting, options.ending) == ({3: 7}, None)
    assert (options.records_per_batch, options.timeout_s) == (9, 1.5)


def test_the_size_of_batches_may_be_left_to_the_source() -> None:
    options = read_options(AT | {"maxRecordsPerBatch": "auto"})

    assert (options.records_per_batch, options.batches_are_automatic) == (None, True)


def test_properties_of_librdkafka_pass_but_for_those_that_are_settled() -> None:
    options = read_options(
        AT | {"kafka.ssl.ca.location": "/ca", "kafka.group.id": "mine", "kafka.isolation.level": "x"}
    )

    assert dict(options.client) == {"bootstrap.servers": "127.0.0.1:1", "ssl.ca.location": "/ca"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"startingOfsets": "earliest"}, "no option 'startingofsets'.*startingOffsets, endingOffsets"),
        ({"startingOffsets": "soon"}, "earliest, or offsets by partition as JSON"),
        ({"endingOffsets": '{"0": -3}'}, "latest, or offsets by partition"),
        ({"endingOffsets": "[]"}, "latest, or offsets by partition"),
        ({"recordsPerTask": "0"}, "recordsPerTask is a whole number, at least 1; not '0'"),
        ({"maxRecordsPerBatch": "many"}, "maxRecordsPerBatch is a whole number"),
        ({"minPartitions": "0.5"}, "minPartitions is a whole number"),
        ({"timeout": "inf"}, "timeout is a number of seconds above 0"),
        ({"kafka.bootstrap.servers": ""}, "kafka.bootstrap.servers is missing"),
    ],
)
def test_what_cannot_be_used_is_named(given: dict[str, str], said: str) -> None:
    with pytest.raises(SourceError, match=said):
        read_options(AT | given)


def test_options_do_not_show_their_secrets() -> None:
    assert "hunter2" not in repr(read_options(AT | {"kafka.sasl.password": "hunter2"}))


def test_no_secret_stays_in_a_sentence() -> None:
    said = hidden(
        "bad key -----SECRET----- at here:9", {"ssl.key.pem": "-----SECRET-----", "bootstrap.servers": "here:9"}
    )

    assert said == "bad key (hidden) at here:9"


def test_properties_that_librdkafka_does_not_take_are_told_without_their_values() -> None:
    with pytest.raises(SourceError, match="does not take these properties") as caught:
        Brokers({"bootstrap.servers": "127.0.0.1:1", "ssl.endpoint.identification.algorithm": "hunter2"}, 1)

    assert "hunter2" not in str(caught.value)


def test_brokers_that_are_not_there_are_told_in_time() -> None:
    with pytest.raises(SourceError, match=r"127\.0\.0\.1:1"):
        Brokers({"bootstrap.servers": "127.0.0.1:1"}, 0.5).cluster_id()

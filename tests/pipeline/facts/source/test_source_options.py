"""The options of Spark's format "kafka_groups"."""

from __future__ import annotations

import pytest
from pyspark.sql.types import StructType

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.facts.source.datasource import KafkaGroupsSource
from kafka_groups.pipeline.facts.source.range_plan import EARLIEST, LATEST
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
    ("given", "problem"),
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
def test_an_unusable_option_is_named(given: dict[str, str], problem: str) -> None:
    with pytest.raises(SourceError, match=problem):
        read_options(AT | given)


def test_options_do_not_show_their_secrets() -> None:
    assert "hunter2" not in repr(KafkaGroupsSource(AT | {"kafka.sasl.password": "hunter2"}).reader(StructType()))

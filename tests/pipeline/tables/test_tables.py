"""The tables, which are written as texts."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kafka_groups.pipeline import tables as schemas
from kafka_groups.pipeline.tables import STORED, TABLES, Table, create_statement, spell_type
from kafka_groups.pipeline.tables.shape import parse_tables, shaped


@pytest.mark.parametrize("table", STORED.values(), ids=lambda table: table.name)
def test_a_table_has_the_columns_that_its_rows_are_identified_and_dated_by(table: Table) -> None:
    kinds = {column.name: column.type for column in table.columns}
    assert len(kinds) == len(table.columns)
    assert kinds.keys() >= set(table.identity)
    assert pa.types.is_timestamp(kinds[table.dated_by])
    assert table.about.endswith(".")
    assert all(column.about for column in table.columns)


@pytest.mark.parametrize("table", STORED.values(), ids=lambda table: table.name)
def test_a_table_has_a_name_in_the_module(table: Table) -> None:
    assert getattr(schemas, table.name.upper()) is table


def test_five_tables_are_derived_from_facts() -> None:
    derived = {"lag_history", "group_status", "rebalances", "group_daily", "topic_daily"}
    assert {name for name, table in TABLES.items() if table.derived} == derived


def test_a_text_that_goes_on_in_the_next_line_is_one_sentence() -> None:
    _, table = parse_tables(
        """
        groups: Groups.
        facts; identity group; dated by seen
        group STRING: id of the group
        seen TIMESTAMP: when

        rates: Rates of
            groups.
        derived; identity group, day; dated by day
        group
        day TIMESTAMP: when: at
            midnight
        """
    )
    assert (table.name, table.about, table.identity) == ("rates", "Rates of groups.", ("group", "day"))
    assert [(column.name, column.about) for column in table.columns] == [
        ("group", "id of the group"),
        ("day", "when: at midnight"),
    ]
    assert create_statement(table, "s3://o'clock").splitlines()[1:] == [
        "  `group` STRING,",
        "  `day` TIMESTAMP,",
        "  `date` DATE",
        ")",
        "USING DELTA",
        "PARTITIONED BY (`date`)",
        "LOCATION 's3://o\\'clock';",
    ]


def test_types_are_spelled_as_spark_does() -> None:
    kind = pa.list_(pa.struct([("id", pa.string()), ("partitions", pa.list_(pa.int32()))]))
    assert spell_type(kind) == "ARRAY<STRUCT<`id`: STRING, `partitions`: ARRAY<INT>>>"
    assert spell_type(kind, is_short=True) == "ARRAY<STRUCT<…>>"


@pytest.mark.parametrize("table", STORED.values(), ids=lambda table: table.name)
def test_what_is_not_known_of_rows_is_null(table: Table) -> None:
    rows = shaped(table.arrow(), 2, {}, {"cluster_id": "c1"})
    rows.validate(full=True)
    assert rows.to_pylist() == [dict.fromkeys(table.arrow().names) | {"cluster_id": "c1"}] * 2

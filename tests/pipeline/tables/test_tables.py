"""The tables: their columns, their types as Spark spells them, and rows of them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kafka_groups.pipeline import tables as schemas
from kafka_groups.pipeline.frames.batches import make_batch
from kafka_groups.pipeline.frames.frame import ColumnError
from kafka_groups.pipeline.tables import GROUP_STATE, STORED_TABLES, TABLES, Table
from kafka_groups.pipeline.tables.spark_types import spark_type_name


@pytest.mark.parametrize("table", STORED_TABLES.values(), ids=lambda table: table.name)
def test_a_table_has_the_columns_that_its_rows_are_identified_and_dated_by(table: Table) -> None:
    kinds = {column.name: column.type for column in table.columns}
    assert len(kinds) == len(table.columns)
    assert kinds.keys() >= set(table.identity)
    assert pa.types.is_timestamp(kinds[table.time_column])
    assert table.about.endswith(".")
    assert all(column.about for column in table.columns)


@pytest.mark.parametrize("table", STORED_TABLES.values(), ids=lambda table: table.name)
def test_a_table_has_a_name_in_the_module(table: Table) -> None:
    assert getattr(schemas, table.name.upper()) is table


def test_five_tables_are_derived_from_facts() -> None:
    derived = {"lag_history", "group_status", "rebalances", "group_daily", "topic_daily"}
    assert {name for name, table in TABLES.items() if table.is_derived} == derived


def test_a_catalog_registers_a_table_by_its_columns_and_its_location() -> None:
    assert GROUP_STATE.create_statement("s3://o'clock").splitlines() == [
        "CREATE TABLE IF NOT EXISTS group_state (",
        "  `cluster_id` STRING,",
        "  `group` STRING,",
        "  `day` TIMESTAMP,",
        "  `state` STRING,",
        "  `date` DATE",
        ")",
        "USING DELTA",
        "PARTITIONED BY (`date`)",
        "LOCATION 's3://o\\'clock';",
    ]


def test_a_location_with_a_backslash_and_a_quote_stays_one_literal() -> None:
    assert GROUP_STATE.create_statement("/a\\'; x").endswith("LOCATION '/a\\\\\\'; x';")


def test_types_are_spelled_as_spark_does() -> None:
    kind = pa.list_(pa.struct([("id", pa.string()), ("partitions", pa.list_(pa.int32()))]))
    assert spark_type_name(kind) == "ARRAY<STRUCT<`id`: STRING, `partitions`: ARRAY<INT>>>"
    assert spark_type_name(kind, is_short=True) == "ARRAY<STRUCT<…>>"


@pytest.mark.parametrize("table", STORED_TABLES.values(), ids=lambda table: table.name)
def test_columns_that_are_not_given_are_null_only_where_that_is_requested(table: Table) -> None:
    rows = make_batch(table.frame, {"cluster_id": "c1"}, size=2, fill_null=True)
    rows.validate(full=True)
    assert rows.to_pylist() == [dict.fromkeys(table.arrow().names) | {"cluster_id": "c1"}] * 2
    with pytest.raises(ColumnError, match=f"{table.frame.__name__} needs the column '{table.columns[1].name}'"):
        make_batch(table.frame, {"cluster_id": "c1"}, size=2)

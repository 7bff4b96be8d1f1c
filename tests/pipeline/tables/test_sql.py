"""SQL is rendered from templates: every value that a user or a broker chose is a literal or an identifier."""

from __future__ import annotations

from datetime import date

import pytest

from kafka_groups.pipeline.tables.sql import Identifier, Sql, SqlValue, any_of, render_spark_sql, render_sql


@pytest.mark.parametrize(
    ("value", "rendered"),
    [
        ("it's", "'it''s'"),
        ("{rows}", "'{rows}'"),
        ("", "''"),
        (-7, "-7"),
        (0.5, "0.5"),
        (None, "NULL"),
        (date(2026, 11, 26), "DATE '2026-11-26'"),
        (Identifier('a "group"'), '"a ""group"""'),
        (Sql("count(*)"), "count(*)"),
        (("a", "b'"), "'a', 'b'''"),
        ([Identifier("cluster_id"), Identifier("group")], '"cluster_id", "group"'),
        ((), "NULL"),
    ],
)
def test_a_field_is_rendered_by_the_type_of_its_value(value: SqlValue, rendered: str) -> None:
    assert render_sql("x {field} y", field=value) == f"x {rendered} y"


@pytest.mark.parametrize(
    ("value", "in_datafusion", "in_spark"),
    [
        ("it's", "'it''s'", r"'it\'s'"),
        ("/a\\'; x", "'/a\\''; x'", r"'/a\\\'; x'"),
        ("a\\", "'a\\'", r"'a\\'"),
        ("a\nb\r", "'a\nb\r'", r"'a\nb\r'"),
        ('a "b"', "'a \"b\"'", "'a \"b\"'"),
        (Identifier('a "b`'), '"a ""b`"', '`a "b```'),
        ((1, None, "x"), "1, NULL, 'x'", "1, NULL, 'x'"),
    ],
)
def test_each_dialect_quotes_in_its_way(value: SqlValue, in_datafusion: str, in_spark: str) -> None:
    assert render_sql("{field}", field=value) == in_datafusion
    assert render_spark_sql("{field}", field=value) == in_spark


def test_rendered_sql_can_be_a_part_of_other_sql() -> None:
    inner = render_sql("SELECT * FROM {table} WHERE id = {id}", table=Identifier("t"), id="{rows}")
    assert render_sql("SELECT count(*) FROM ({inner})", inner=inner) == (
        "SELECT count(*) FROM (SELECT * FROM \"t\" WHERE id = '{rows}')"
    )


def test_a_field_without_a_value_is_an_error_that_names_it() -> None:
    with pytest.raises(KeyError, match="day"):
        render_sql("SELECT {day}")


def test_braces_that_are_written_twice_belong_to_the_sql() -> None:
    assert render_sql("SELECT '{{}}', {text}", text="{") == "SELECT '{}', '{'"


@pytest.mark.parametrize(
    ("conditions", "rendered"), [([], "FALSE"), (["a = 1"], "(a = 1)"), (["a", "b AND c"], "(a) OR (b AND c)")]
)
def test_any_of_joins_conditions_to_one_condition(conditions: list[str], rendered: str) -> None:
    assert any_of(Sql(condition) for condition in conditions) == rendered

"""One declaration of a column: every writer and the JSON Schema use it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import pytest
from jsonschema import Draft202012Validator, ValidationError

from kafka_groups.rendering.columns import Entry, View, number_column
from kafka_groups.rendering.schemas import number_schema
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.views.list_groups import GROUP, STATE
from kafka_groups.rendering.writers import open_writer
from kafka_groups.rendering.writers.kafka import kafka_lines
from kafka_groups.rendering.writers.table import TableWriter
from tests.rendering.streams import written

MakeScreen = Callable[..., Screen]


class Row(NamedTuple):
    """A group with its age."""

    group: str
    state: str | None
    age_s: int | None


ROWS = (Row("orders", "Stable", 7200), Row("billing", "Empty", None))
AGE = number_column(
    "AGE-HOURS",
    "age_s",
    key="age_ms",
    schema=number_schema("The group's age in milliseconds."),
    show=lambda age_s: None if age_s is None else age_s // 3600,
    encode=lambda age_s: None if age_s is None else age_s * 1000,
)
VIEW = View((GROUP, STATE, AGE))


def output_of(screen: Screen, output_format: str, rows: Sequence[Row] = ROWS) -> str:
    """Return what the writer of a format for programs writes, one group for each row."""
    writer = open_writer(screen, output_format, command="ages", view=VIEW, columns=VIEW.table())
    encode = VIEW.encoder()
    for row in rows:
        writer.add(Entry(columns=VIEW.table(), rows=[row], document=partial(encode, row)))
    writer.end([], [], status="complete")
    return written(screen.out)


def test_an_added_column_is_in_the_table(make_screen: MakeScreen) -> None:
    screen = make_screen()
    writer = TableWriter(screen, VIEW.table())
    writer.add(Entry(columns=VIEW.table(), rows=ROWS, document=dict))
    writer.end([], [], status="complete")
    assert written(screen.out) == (
        "GROUP    STATE   AGE-HOURS\norders   Stable          2\nbilling  Empty           -\n"
    )


def test_an_added_column_is_in_csv(make_screen: MakeScreen) -> None:
    assert output_of(make_screen(), "csv") == "GROUP,STATE,AGE-HOURS\norders,Stable,2\nbilling,Empty,\n"


def test_an_added_column_is_in_json_under_its_key(make_screen: MakeScreen) -> None:
    expected = [
        {"group": "orders", "state": "Stable", "age_ms": 7_200_000},
        {"group": "billing", "state": "Empty", "age_ms": None},
    ]
    assert json.loads(output_of(make_screen(), "json"))["groups"] == expected
    assert [json.loads(line) for line in output_of(make_screen(), "ndjson").splitlines()] == expected


def test_an_added_column_is_required_by_the_json_schema(make_screen: MakeScreen) -> None:
    schema = VIEW.schema()
    assert schema["properties"]["age_ms"] == number_schema("The group's age in milliseconds.")
    validator = Draft202012Validator(schema)
    documents: list[dict[str, Any]] = json.loads(output_of(make_screen(), "json"))["groups"]
    for document in documents:
        validator.validate(document)
    del documents[0]["age_ms"]
    with pytest.raises(ValidationError, match="'age_ms' is a required property"):
        validator.validate(documents[0])


def test_a_column_that_kafkas_tool_does_not_have_is_not_in_its_format() -> None:
    lines = "".join(kafka_lines(VIEW.table(as_kafka=True), ROWS))
    assert "AGE-HOURS" not in lines
    assert "STATE" in lines


def test_a_column_without_a_header_is_only_in_json_and_one_without_a_schema_only_in_tables() -> None:
    only_json = number_column("", "age_s", schema=number_schema("The age in seconds."))
    only_table = number_column("AGE", "age_s")
    assert View((GROUP, STATE, only_json)).table() == (GROUP, STATE)
    assert View((GROUP, STATE, only_json)).encoder()(ROWS[0]) == {"group": "orders", "state": "Stable", "age_s": 7200}
    assert View((GROUP, STATE, only_table)).table() == (GROUP, STATE, only_table)
    assert list(View((GROUP, STATE, only_table)).properties()) == ["group", "state"]

"""The view of `check`: a row is a check of a server, a broker, the cluster, a group or a topic."""

from __future__ import annotations

from functools import partial
from typing import Final

from kafka_groups.checks.check import Check, Status
from kafka_groups.rendering.columns import Column, Entry, View, text_column
from kafka_groups.rendering.schemas import (
    Schema,
    array_schema,
    choice_schema,
    errors_schema,
    line_schema,
    name_schema,
    notes_schema,
    number_schema,
    object_schema,
    status_schema,
    text_schema,
    titled_schema,
    with_cluster,
)

ITEMS: Final = "checks"
_NOT_REACHED: Final = "no bootstrap server was reached."

CHECKS: Final = View(
    (
        Column(
            "", "server", schema=text_schema("A bootstrap server, or the address of a broker, or null.", nullable=True)
        ),
        Column("", "broker", schema=number_schema("The id of a broker, or null.", minimum=None)),
        Column("", "group", schema=text_schema("A group, or null.", nullable=True)),
        Column("", "topic", schema=text_schema("A topic, or null.", nullable=True)),
        text_column(
            "SUBJECT", "subject", when_narrow="fold", schema=text_schema("What the check is about, for people.")
        ),
        text_column(
            "CHECK",
            "check",
            encode=str,
            schema=text_schema(
                "Of a bootstrap server: name, address, tls, protocol, mechanisms, authentication, versions or cluster. "
                "Of a broker: connection. Of the cluster, a group or a topic: rights. Of one of several clusters whose "
                "settings cannot be used: settings. Later versions may have more."
            ),
        ),
        text_column(
            "STATUS",
            "status",
            encode=str,
            schema=choice_schema(
                "warning: it works, but something else does not, or soon will not. skipped: the settings do not need "
                "it, an earlier check failed, or the result is unknown.",
                [status.value for status in Status],
            ),
        ),
        text_column(
            "DETAIL", "detail", when_narrow="fold", schema=text_schema("What was found, or what to do, for people.")
        ),
    )
)
_encode: Final = CHECKS.encoder()


def check_entry(check: Check) -> Entry:
    """Return a check as it is written."""
    return Entry(CHECKS.table(), [check], partial(_encode, check))


def checks_schema() -> Schema:
    """Return the JSON Schema of `check`."""
    document = object_schema(
        {
            "schema": name_schema("kafka-groups/check/1"),
            "status": status_schema(_NOT_REACHED),
            ITEMS: array_schema("The checks, in their order.", object_schema(with_cluster(CHECKS.properties()))),
            "notes": notes_schema(),
            "errors": errors_schema("The checks that failed."),
        }
    )
    return titled_schema(
        "kafka-groups check --format json", document, {"row": line_schema(with_cluster(CHECKS.properties()))}
    )

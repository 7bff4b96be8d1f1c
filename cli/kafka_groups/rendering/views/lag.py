"""The view of `lag`: a row is the lag of a group, or of a topic, a member or a partition of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from kafka_groups.groups.lag.lag_row import ISOLATION_LEVELS, NOTES, LagKey, LagRow
from kafka_groups.groups.lag.time_lag import QUALITIES
from kafka_groups.rendering.columns import Column, View, number_column, text_column
from kafka_groups.rendering.durations import format_duration
from kafka_groups.rendering.schemas import Document, Schema, array_schema, document_schema, number_schema, text_schema
from kafka_groups.rendering.sparkline import draw_sparkline
from kafka_groups.rendering.times import format_time
from kafka_groups.rendering.views.list_groups import GROUP, STATE
from kafka_groups.rendering.views.members import CLIENT_ID_TEXT, HOST_TEXT
from kafka_groups.rendering.views.offsets import COMMITTED_SCHEMA, PARTITION, TOPIC


def _count(header: str, attribute: str, text: str, *, nullable: bool = True, minimum: int | None = 0) -> Column:
    schema = number_schema(text, nullable=nullable, minimum=minimum)
    return number_column(header, attribute, schema=schema)


TIME: Final = "--time"
_STATE: Final = STATE._replace(option=None)
_MEMBERS: Final = _count("MEMBERS", "members", "The number of members.")
_LAG: Final = _count(
    "LAG",
    "lag",
    "Messages between the commits and the log ends, of the partitions where both are known; null if none is. A total "
    "counts a commit above the log end as 0; the lag of a partition is negative then.",
    minimum=None,
)
_READABLE_LAG: Final = _count(
    "",
    "readable_lag",
    "The part of the lag that can still be read: from the commit, or from the log start if that is larger and known, "
    "to the log end; 0 for a commit above the log end; null if the lag is.",
)
_BEHIND: Final = _count(
    "PARTITIONS-BEHIND",
    "partitions_behind",
    "Partitions with a lag above 0; null if no lag of a share group is known.",
)
_UNCOMMITTED: Final = _count(
    "UNCOMMITTED",
    "uncommitted_partitions",
    "Partitions without a commit that a member owns, or whose topic has a commit of the group or is assigned to a "
    "member; null if the partitions of a member are unknown.",
)
_LOST: Final = _count(
    "LOST",
    "messages_lost",
    "Messages that retention deleted before they were read, of the partitions whose log start is known; null if it is "
    "unknown. It is 0 only if no partition that lags has an unknown log start.",
)
_MARGIN: Final = _count(
    "MARGIN",
    "retention_margin",
    "Messages between the log start and the commit, the smallest of the partitions that still have messages "
    "to read; null if there is none, or if a log start is unknown.",
)
_MARGIN_PERCENT: Final = number_column(
    "MARGIN%",
    "retention_margin_percent",
    schema={
        "description": "The margin as a share of the partition's log, the smallest of the partitions that still have "
        "messages to read; not always that of the partition with the smallest margin.",
        "type": ["number", "null"],
        "minimum": 0,
        "maximum": 100,
    },
)


def _join_words(words: Sequence[str]) -> str | None:
    """Return the words of a note as a cell."""
    return ",".join(words) or None


_NOTE: Final = text_column(
    "NOTE",
    "note",
    when_narrow="fold",
    show=_join_words,
    schema=array_schema(
        "data_loss: a commit is below the log start. beyond_end: a commit is above the log end. incomplete: a log end "
        "or a log start is unknown. unknown_assignment: partitions of a member are unknown, because its assignment "
        "cannot be read, the group is rebalancing, or it could not be described. With --time: "
        "caught_up (there is a lag, and no record), open_transaction (the last "
        "stable offset is below the log end), no_timestamp (a record has none), future_timestamp (a record's is later "
        "than now). In tables and CSV joined by commas.",
        {"enum": list(NOTES)},
    ),
)
_ISOLATION: Final = Column(
    "",
    "isolation",
    schema={
        "description": "uncommitted: the lag is measured to the log end. committed: it is measured to the last stable "
        "offset (--isolation committed). The lag of a share group is always measured to the log end.",
        "enum": list(ISOLATION_LEVELS.values()),
    },
)


def _encode_time(at_ms: int | None) -> str | None:
    return None if at_ms is None else format_time(datetime.fromtimestamp(at_ms // 1_000, UTC))


def _format_duration(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else format_duration(milliseconds)


_TIME: Final = (
    number_column(
        "TIME-LAG",
        "time_lag_ms",
        show=_format_duration,
        option=TIME,
        schema=number_schema(
            "With --time: the age of the first record that is not processed, the largest of all partitions; 0 if there "
            "is none, null if it is unknown.",
        ),
    ),
    text_column(
        "QUALITY",
        "time_lag_quality",
        option=TIME,
        schema={
            "description": "With --time: exact, compacted (the record at the commit does not exist, the value is the "
            "age of the next one), data_loss (records below the log start are lost, the value is a lower bound), "
            "lower_bound or unknown.",
            "enum": [*QUALITIES, None],
        },
    ),
)
_RATE: Final = {"type": ["number", "null"]}
_PACE: Final = (
    number_column(
        "CONSUME/S",
        "consume_rate",
        schema={"description": "With polls: messages that the group commits in a second.", **_RATE},
    ),
    number_column(
        "PRODUCE/S",
        "produce_rate",
        schema={"description": "With polls: messages that are written in a second.", **_RATE},
    ),
    _count("TREND", "trend", "With polls: how much the lag has grown over the kept polls.", minimum=None),
    number_column(
        "CATCH-UP",
        "catch_up_ms",
        show=_format_duration,
        schema=number_schema("With polls: when the lag is gone at these rates; null if it does not shrink."),
    ),
    text_column(
        "LAGS",
        "lags",
        show=draw_sparkline,
        encode=list,
        schema=array_schema("With polls: the lag at the last polls.", number_schema("A lag.", nullable=False)),
    ),
    text_column(
        "VERDICT",
        "verdict",
        schema=text_schema("With polls: OK, UNKNOWN, WARN, REWIND or STOP (see `rule`).", nullable=True),
    ),
    text_column(
        "RULE", "rule", schema=text_schema("The rule that gave the verdict; null without polls.", nullable=True)
    ),
    Column(
        "",
        "verdict_since",
        encode=_encode_time,
        schema=text_schema(
            "Since when polls have given that verdict to a partition, in UTC; null without polls.", nullable=True
        ),
    ),
)
_MEMBER: Final = text_column(
    "CONSUMER-ID",
    "member_id",
    when_narrow="cut",
    schema=text_schema(
        "The member's id; null where no member is known to own the partition. If several members own it, the row by "
        "partition has the first of them.",
        nullable=True,
    ),
)
_HOST: Final = text_column("HOST", "host", schema=text_schema(HOST_TEXT, nullable=True))
_CLIENT: Final = text_column(
    "CLIENT-ID", "client_id", when_narrow="cut", schema=text_schema(CLIENT_ID_TEXT, nullable=True)
)
_RETENTION: Final = (_LOST, _MARGIN, _MARGIN_PERCENT)
_TOTALS: Final = (_LAG, _READABLE_LAG, *_TIME, _BEHIND, _UNCOMMITTED, *_RETENTION, _NOTE, _ISOLATION)
_TOPIC: Final = TOPIC._replace(kafka_width=None)
_PARTITION: Final = PARTITION._replace(kafka_width=None)
_OFFSETS: Final = (
    _count("CURRENT-OFFSET", "committed_offset", "")._replace(schema=COMMITTED_SCHEMA),
    _count("LOG-START-OFFSET", "log_start_offset", "The log start offset; null if it is unknown."),
    _count("LOG-END-OFFSET", "log_end_offset", "The log end offset; null if it is unknown."),
)
LAG_VIEWS: Final = {
    LagKey.GROUP: View((GROUP, _STATE, _MEMBERS, *_TOTALS)),
    LagKey.TOPIC: View((GROUP, _TOPIC, *_TOTALS)),
    LagKey.MEMBER: View((GROUP, _MEMBER, _HOST, _CLIENT, *_TOTALS)),
    LagKey.PARTITION: View(
        (
            GROUP,
            _TOPIC,
            _PARTITION,
            *_OFFSETS,
            _LAG,
            _READABLE_LAG,
            *_TIME,
            *_RETENTION,
            _MEMBER,
            _HOST,
            _CLIENT,
            _NOTE,
            _ISOLATION,
        )
    ),
}
# With polls, rates and verdicts replace the retention columns.
PACE_VIEW: Final = View(
    (
        Column("", "at", schema=text_schema("With --watch: the time of the poll, in UTC.", nullable=True)),
        GROUP,
        _STATE,
        _MEMBERS,
        _LAG,
        _READABLE_LAG,
        *_TIME,
        _BEHIND,
        *_PACE,
        _UNCOMMITTED,
        *(c._replace(header="") for c in _RETENTION),
        _NOTE,
        _ISOLATION,
    )
)
# What a narrow terminal shows last.
PACE_HIDEABLE: Final = (
    *("UNCOMMITTED", "PARTITIONS-BEHIND", "MEMBERS", "NOTE", "TREND", "RULE"),
    *("PRODUCE/S", "CONSUME/S", "CATCH-UP", "LAGS", "STATE"),
)


def lag_columns(view: View, *, with_time: bool) -> tuple[Column, ...]:
    """Return the columns of a table, with those of time lag if it was measured."""
    return view.table(options={TIME} if with_time else ())


_encode_pace: Final = PACE_VIEW.encoder()
# These keys are those of the group.
_SHARED: Final = ("group", "isolation")
_encoders: Final = {key: view.encoder(without=_SHARED) for key, view in LAG_VIEWS.items() if key is not LagKey.GROUP}


def lag_document(by: LagKey, total: LagRow, rows: Sequence[LagRow]) -> Document:
    """Return the JSON object of a group; `rows` are its parts, none by group."""
    parts = [] if by is LagKey.GROUP else list(map(_encoders[by], rows))
    return {**_encode_pace(total), "by": by.value, "rows": parts}


def lag_schema(command: str = "lag") -> Schema:
    """Return the JSON Schema of `lag`, or of `wait`, whose groups have no parts."""
    parts = [LAG_VIEWS[key].schema(without=_SHARED) for key in LagKey if key is not LagKey.GROUP]
    group = {
        **PACE_VIEW.properties(),
        "by": {"description": "What a row is for.", "enum": [key.value for key in LagKey]},
        "rows": array_schema("The parts of the group, those that are furthest behind first.", {"anyOf": parts}),
    }
    lines = {f"row_by_{key.value}": view.properties() for key, view in LAG_VIEWS.items()}
    return document_schema(command, group, {**lines, "row_with_polls": PACE_VIEW.properties()})

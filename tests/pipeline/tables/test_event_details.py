"""The regular expressions in the details of events, which builds and retention read in one way."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.dataset as ds

from kafka_groups.pipeline.build.fact_columns import EVENT_NAMES, convert_events
from kafka_groups.pipeline.frames.batches import make_batch
from kafka_groups.pipeline.store.last_records import _EXPRESSIONS
from kafka_groups.pipeline.tables import GROUP_EVENTS
from kafka_groups.pipeline.tables.event_details import read_expression

# The type, the event and the details of a record, and the expression that it has.
CASES = [
    ("ConsumerGroupRegularExpression", "regex_resolved", '{"regular_expression": "a.*"}', "a.*"),
    ("ConsumerGroupRegularExpression", "regex_removed", '{"regular_expression": "b.*"}', "b.*"),
    ("ConsumerGroupRegularExpression", "regex_resolved", None, None),
    ("ConsumerGroupRegularExpression", None, '{"regular_expression": "c.*"}', "c.*"),
    ("ConsumerGroupMetadata", "regex_like", "no JSON", None),
    (None, None, "no JSON", None),
]


def test_builds_and_retention_read_the_same_expressions() -> None:
    types, events, details, expressions = (list(values) for values in zip(*CASES, strict=True))
    columns = {"record_name": types, "event_type": events, "details": details}
    rows = make_batch(GROUP_EVENTS.frame, columns, fill_null=True)

    in_builds = convert_events(rows.select(EVENT_NAMES), 0)["expression"].to_pylist()
    in_retention = ds.dataset(pa.table(rows)).to_table(columns={"details": _EXPRESSIONS["details"]})["details"]

    assert in_builds == expressions
    assert [read_expression(text) for text in in_retention.to_pylist()] == expressions

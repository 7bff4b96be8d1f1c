"""The view of `orphans`: a row is a commit that nobody reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from kafka_groups.groups.orphans import Orphan, Reason
from kafka_groups.rendering.columns import Entry, View, number_column, text_column
from kafka_groups.rendering.schemas import Document, Schema, array_schema, choice_schema, document_schema, number_schema
from kafka_groups.rendering.views.list_groups import GROUP
from kafka_groups.rendering.views.offsets import PARTITION, TOPIC

ORPHANS: Final = View(
    (
        GROUP,
        TOPIC,
        PARTITION,
        number_column(
            "COMMITTED-OFFSET", "committed_offset", schema=number_schema("The committed offset.", nullable=False)
        ),
        text_column(
            "REASON",
            "reason",
            schema=choice_schema(
                "topic_deleted: the topic, or the partition, does not exist. not_subscribed: no member "
                "of the group, which is Stable, has a partition of the topic, or subscribes to it in a share group. "
                "idle: the group has no members, and none of its commits has changed for the time of --idle.",
                [reason.value for reason in Reason],
            ),
            encode=str,
        ),
    )
)
_encode: Final = ORPHANS.encoder(without=("group",))


def orphans_document(group: str, orphans: Iterable[Orphan]) -> Document:
    """Return the JSON object of a group."""
    return {"group": group, "offsets": [_encode(orphan) for orphan in orphans]}


def orphans_entry(group: str, orphans: Sequence[Orphan]) -> Entry:
    """Return a group as it is written."""
    return Entry(ORPHANS.columns, orphans, partial(orphans_document, group, orphans))


def orphans_schema() -> Schema:
    """Return the JSON Schema of `orphans`."""
    offsets = array_schema("The commits that nobody reads.", ORPHANS.schema(without=("group",)))
    return document_schema(
        "orphans", {"group": ORPHANS.properties()["group"], "offsets": offsets}, {"row": ORPHANS.properties()}
    )

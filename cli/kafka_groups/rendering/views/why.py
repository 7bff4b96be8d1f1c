"""The view of `why`: a row is a finding on a group; the JSON object of a group has what was checked, too."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from kafka_groups.causes.evidence import Need
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Since
from kafka_groups.model import TopicPartition
from kafka_groups.rendering.columns import Column, Entry, View, number_column, text_column
from kafka_groups.rendering.schemas import (
    Document,
    Schema,
    array_schema,
    choice_schema,
    document_schema,
    number_schema,
    object_schema,
    text_schema,
    texts_schema,
    time_schema,
)
from kafka_groups.rendering.times import format_time
from kafka_groups.rendering.views.judgement import Judgement
from kafka_groups.rendering.views.list_groups import GROUP, STATE, TYPE


def encode_time(at_ms: int | None) -> str | None:
    """Return a time in ms since 1970 as ISO-8601 text; None if it is None."""
    return None if at_ms is None else format_time(datetime.fromtimestamp(at_ms / 1000, UTC), timespec="milliseconds")


def _encode_since(since: Since | None) -> Document | None:
    if since is None:
        return None
    return {"earliest": encode_time(since.earliest_ms), "latest": encode_time(since.latest_ms)}


def _show_since(since: Since | None) -> str | None:
    """Return both bounds as an interval of ISO-8601; the first one is `..` if nothing bounds it."""
    return None if since is None else f"{encode_time(since.earliest_ms) or '..'}/{encode_time(since.latest_ms)}"


def _encode_fact(fact: Fact) -> Document:
    document = fact._asdict()
    at_ms = document.pop("at_ms")
    return {"text": document.pop("text"), "at": encode_time(at_ms), **document}


def _encode_facts(facts: Sequence[Fact]) -> list[Document]:
    return list(map(_encode_fact, facts))


def _encode_partitions(partitions: Sequence[TopicPartition]) -> list[Document]:
    return [key._asdict() for key in partitions]


_PARTITION_SCHEMA: Final = {
    "topic": text_schema("The topic."),
    "partition": number_schema("The number of the partition.", nullable=False),
}
_FACT_SCHEMA: Final = object_schema(
    {
        "text": text_schema("A sentence for people."),
        "at": time_schema("When it was observed; null if it has no time.", nullable=True),
        "topic": text_schema("The topic that it is about, or null.", nullable=True),
        "partition": number_schema("The partition that it is about, or null."),
        "offset": number_schema("The offset that it is about, or null."),
        "member_id": text_schema("The id of the member that it is about, or null.", nullable=True),
        "client_id": text_schema("The client id of the member, or null.", nullable=True),
        "host": text_schema("The host of the member, or null.", nullable=True),
        "epoch": number_schema("The epoch of the group, a member or a leader, as the text says, or null."),
        "broker": number_schema("The id of the broker that it is about, or null."),
    }
)
_SINCE_SCHEMA: Final = object_schema(
    {
        "earliest": time_schema("Not before this time; null if nothing bounds it.", nullable=True),
        "latest": time_schema("Not after this time."),
    }
) | {"description": "When it began; null if that is unknown.", "type": ["object", "null"]}
FINDINGS: Final = View(
    (
        Column("", "at_ms", key="at", encode=encode_time, schema=time_schema("The time of the last poll.")),
        GROUP,
        number_column(
            "RANK", "rank", schema=number_schema("1 for the first finding of a group.", nullable=False, minimum=1)
        ),
        text_column("CAUSE", "cause", schema=text_schema("The name of the cause; docs/why.md has a table of them.")),
        text_column(
            "KIND",
            "kind",
            encode=str,
            schema=choice_schema(
                "trouble: somebody should act. explanation: why a lag is no trouble.",
                [kind.value for kind in CauseKind],
            ),
        ),
        text_column(
            "CERTAINTY",
            "certainty",
            show=lambda certainty: certainty.word,
            encode=lambda certainty: certainty.word,
            schema=choice_schema(
                "certain: the evidence admits no other cause. strong: it fits no other cause well. likely: another "
                "cause is possible.",
                [certainty.word for certainty in Certainty],
            ),
        ),
        number_column(
            "LAG",
            "lag",
            schema=number_schema("The number of records behind on its partitions; null if it is unknown."),
        ),
        text_column("SINCE", "since", show=_show_since, encode=_encode_since, schema=_SINCE_SCHEMA),
        text_column("SUMMARY", "summary", schema=text_schema("The finding, as one sentence for people.")),
        text_column("REFUTED-BY", "refuted_by", schema=text_schema("What would show that the cause is another one.")),
        text_column("NEXT-STEP", "next_step", schema=text_schema("What to do next.")),
        text_column(
            "NEXT-COMMAND",
            "next_command",
            schema=text_schema("A command line to run next, or null.", nullable=True),
        ),
        Column(
            "",
            "partitions",
            encode=_encode_partitions,
            schema=array_schema("The partitions whose lag it explains.", object_schema(_PARTITION_SCHEMA)),
        ),
        Column(
            "",
            "evidence",
            encode=_encode_facts,
            schema=array_schema("What shows it, so that anyone can check it.", _FACT_SCHEMA),
        ),
    )
)
_OF_GROUP: Final = ("at", "group")
_encode: Final = FINDINGS.encoder(without=_OF_GROUP)


def finding_entry(judgement: Judgement) -> Entry:
    """Return a group with a row for each finding."""
    return Entry(FINDINGS.table(), judgement.rows, partial(why_document, judgement))


def text_entry(judgement: Judgement) -> Entry:
    """Return a group as one row, for a text."""
    return Entry((), (judgement,), partial(why_document, judgement))


def why_document(judgement: Judgement) -> Document:
    """Return the JSON object of a group."""
    diagnosis = judgement.diagnosis
    evidence = diagnosis.evidence
    group = evidence.last.group
    unexplained: list[dict[str, Any]] = [
        {**key._asdict(), "lag": evidence.partitions[key][-1].lag} for key in sorted(diagnosis.unexplained)
    ]
    return {
        "group": group.group,
        "type": group.type,
        "state": group.state,
        "members": group.member_count,
        "lag": judgement.lag,
        "uncommitted_partitions": judgement.uncommitted_partitions,
        "polls": len(evidence.polls),
        "first_poll": encode_time(evidence.polls[0].at_ms),
        "last_poll": encode_time(evidence.last.at_ms),
        "findings": list(map(_encode, judgement.rows)),
        "checked": judgement.checked,
        "untested": [{"cause": cause, "reason": reason} for cause, reason in judgement.untested],
        "unexplained": unexplained,
        "unseen": [{"evidence": need.value, "reason": reason} for need, reason in evidence.unseen.items()],
    }


def why_schema() -> Schema:
    """Return the JSON Schema of `why`."""
    untested = object_schema({"cause": text_schema("The name of the cause."), "reason": text_schema("The reason.")})
    unseen = object_schema(
        {
            "evidence": choice_schema("The part of the evidence.", [need.value for need in Need]),
            "reason": text_schema("The reason, such as a right that the user lacks."),
        }
    )
    lag = number_schema("The lag of all partitions whose lag is known; null if none is.")
    group = {
        **View((GROUP, TYPE, STATE)).properties(),
        "members": number_schema("The number of members; null if it is unknown."),
        "lag": lag,
        "uncommitted_partitions": number_schema(
            "Partitions of members without a commit, or of a share group without a known start offset.", nullable=False
        ),
        "polls": number_schema("The number of polls that observed the group.", nullable=False, minimum=1),
        "first_poll": time_schema("The time of the first of these polls."),
        "last_poll": time_schema("The time of the last of these polls."),
        "findings": array_schema("The causes that hold, the worst first.", FINDINGS.schema(without=_OF_GROUP)),
        "checked": texts_schema("The names of the causes that were tested, and that do not hold."),
        "untested": array_schema("The causes that could not be tested.", untested),
        "unexplained": array_schema(
            "The partitions with a lag that no cause explains.",
            object_schema({**_PARTITION_SCHEMA, "lag": number_schema("Its lag.", nullable=False)}),
        ),
        "unseen": array_schema("The parts of the evidence that could not be observed.", unseen),
    }
    return document_schema("why", group, {"row": FINDINGS.properties()})

"""The parts that all JSON documents share: missing values are null, and keys are only ever added."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure
from kafka_groups.rendering.schemas import Document
from kafka_groups.rendering.screen import Screen, escape_controls
from kafka_groups.surrogates import escape_in_json


def failure_document(failure: Failure) -> Document:
    """Return an element of `errors`."""
    return {
        "cluster": failure.cluster,
        "group": failure.group,
        "topic": failure.topic,
        "partition": failure.partition,
        "broker": failure.broker,
        "code": failure.code,
        "name": failure.name,
        "message": failure.message,
    }


def note_document(note: Note) -> Document:
    """Return an element of `notes`."""
    return {"kind": note.kind.value, "cluster": note.cluster, "group": note.subject, "text": note.text}


def format_json(screen: Screen, value: Mapping[str, Any], *, indent: int | None = None) -> str:
    """Return a value as JSON for stdout; what the stream cannot encode is one of JSON's own escapes."""
    text = json.dumps(value, ensure_ascii=not screen.is_unicode, indent=indent)
    if not screen.out_is_terminal:
        return escape_in_json(text)
    # What JSON itself leaves unchanged may still control a terminal; line ends of the document stay.
    return "\n".join(escape_controls(line, lambda char: json.dumps(char)[1:-1]) for line in text.split("\n"))

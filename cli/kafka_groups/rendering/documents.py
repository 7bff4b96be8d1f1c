"""The parts that all JSON documents share: missing values are null, and keys are only ever added."""

from __future__ import annotations

from typing import Any

from kafka_groups.model import Failure

Document = dict[str, Any]


def failure_document(failure: Failure) -> Document:
    """Return an element of `errors`."""
    return {
        "group": failure.group,
        "topic": failure.topic,
        "partition": failure.partition,
        "broker": failure.broker,
        "code": failure.code,
        "name": failure.name,
        "message": failure.message,
    }

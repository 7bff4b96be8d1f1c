"""The JSON documents of the pipeline's commands."""

from __future__ import annotations

import json
from typing import Any

from jsonschema import Draft202012Validator

from tests.fakes.command_line import run

Json = dict[str, Any]


def document_of(command: str, *arguments: str, exit_code: int = 0) -> Json:
    """Return the document of a command, which conforms to its schema."""
    outcome = run("pipeline", command, *arguments, "--format", "json")
    assert outcome.exit_code == exit_code, outcome
    document: Json = json.loads(outcome.stdout)
    schema = json.loads(run("schema", f"pipeline-{command}", bootstrap=None).stdout)
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(document)
    assert document["schema"] == f"kafka-groups/pipeline-{command}/1"
    return document

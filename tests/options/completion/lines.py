"""Completions of command lines without a shell: the words are given, and the values returned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka_groups.cli import cli
from kafka_groups.options import COMPLETION_VARIABLE
from kafka_groups.options.completion.shell import Shell

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def items_offered(*words: str) -> list[CompletionItem[Any]]:
    """Return the completions of the last word of a line; the program is left out."""
    *args, incomplete = words
    return Shell(cli, {}, "kafka-groups", COMPLETION_VARIABLE).get_completions(args, incomplete)


def offered(*words: str) -> list[str]:
    """Return the values that complete the last word of a line."""
    return [item.value for item in items_offered(*words)]


def kinds_offered(*words: str) -> set[str]:
    """Return the types of the values that complete the last word of a line."""
    return {item.type for item in items_offered(*words)}

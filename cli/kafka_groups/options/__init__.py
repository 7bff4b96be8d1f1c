"""What several commands share: options, the session of a cluster, completion, signals, files beside the output."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

# The key of click's `meta` that is true if the user wants tracebacks.
DEBUG: Final = "kafka_groups.debug"
# The environment variable with which the script of a shell requests completions.
COMPLETION_VARIABLE: Final = "_KAFKA_GROUPS_COMPLETE"


def offer(name: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem[Any]]]:
    """Return the `shell_complete` of an option: a function of `completion.values`, imported when a shell needs it."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[Any]]:
        from kafka_groups.options.completion import values

        items: list[CompletionItem[Any]] = getattr(values, name)(ctx, param, incomplete)
        return items

    return complete

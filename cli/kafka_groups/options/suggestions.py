"""The ends of click's errors that suggest the nearest name: of a command, an option, a choice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click

from kafka_groups.suggestions import did_you_mean, nearest, suggest


class Choice(click.Choice[str]):
    """A choice that suggests the nearest of its values for one that does not exist."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return the error, with all values and the nearest one."""
        message = super().get_invalid_choice_message(value, ctx)
        return f"{message.rstrip('.')}{did_you_mean(str(value), self.choices)}"


def suggest_command(name: str, commands: Iterable[str], other_names: Mapping[str, str]) -> str:
    """Return the end of the error for a command that does not exist.

    `other_names` are names that users may expect, each with the command to suggest for it. A command that begins with
    the name comes before them: `stat` is nearer to `start`, and is meant as `status`.
    """
    names = list(commands)
    longer = [command for command in names if command.startswith(name.lower())]
    near = nearest(name, longer) or nearest(name, [*names, *other_names])
    return suggest(name, near and other_names.get(near, near))


def suggest_option(error: click.NoSuchOption) -> str:
    """Return the end of the error for an option that does not exist."""
    if error.ctx is None:
        return ""
    params = error.ctx.command.get_params(error.ctx)
    options = [param for param in params if isinstance(param, click.Option) and not param.hidden]
    # Names are compared without the dashes, which all of them have.
    names = {name.lstrip("-"): name for option in options for name in (*option.opts, *option.secondary_opts)}
    near = nearest(error.option_name.lstrip("-"), names)
    return suggest(error.option_name, near and names[near])

"""Command lines for users to copy: a shell reads exactly these words."""

from __future__ import annotations

import shlex
from typing import Final

_PROGRAM: Final = "kafka-groups"
_END_OF_OPTIONS: Final = "--"


def command_line(*words: str | int) -> str:
    """Return a command line that a shell reads as these words."""
    return shlex.join(map(str, words))


def group_command(name: str, group: str, *options: str) -> str:
    """Return the command line of this tool for a group, whose id may begin as an option does."""
    words = (*options, _END_OF_OPTIONS, group) if group.startswith("-") else (group, *options)
    return command_line(_PROGRAM, name, *words)

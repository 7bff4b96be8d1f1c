"""The shells whose completion is supported, their scripts, and the process that a script starts."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from click.shell_completion import add_completion_class

from kafka_groups.options import COMPLETION_VARIABLE
from kafka_groups.options.completion.bash import BashShell
from kafka_groups.options.completion.fish import FishShell
from kafka_groups.options.completion.zsh import ZshShell

if TYPE_CHECKING:
    import click

PROGRAM: Final = "kafka-groups"
SHELLS: Final = {"bash": BashShell, "zsh": ZshShell, "fish": FishShell}


def script_of(shell: str, root: click.Command) -> str:
    """Return the script that a shell loads."""
    return SHELLS[shell](root, {}, PROGRAM, COMPLETION_VARIABLE).source()


def print_completions(root: click.Command) -> None:
    """Print the completions that the script of a shell requests, and exit.

    Nothing else is printed, whatever fails, because the user is typing: click prints all completions at once.
    """
    for shell in SHELLS.values():
        add_completion_class(shell)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    # click looks at the variable of the script, and exits.
    root(prog_name=PROGRAM)

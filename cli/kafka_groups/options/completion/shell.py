"""What the shells share: the words of a command line in, whole words out, and silence if anything fails."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from click.shell_completion import CompletionItem, ShellComplete

from kafka_groups.options.parameters import decode_argument

# The values of a list go to the shell behind their kind, because the shells treat a list as one.
DESCRIBED: Final = "described"
PLAIN: Final = "plain"
# A value that more may follow, so that the shell adds no space.
PREFIX: Final = "prefix"


class Shell(ShellComplete):
    """A shell whose script passes the words of the line as arguments, the program first and the incomplete word last.

    It gets the kind of the values and then the values, each ended by NUL, because a group id may contain newlines.
    """

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words between the program and the incomplete word, and that word."""
        _program, *words, incomplete = map(decode_argument, sys.argv[1:])
        return words, incomplete

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[Any]]:
        """Return the completions of a word. Those of `--option=val` are whole words, too."""
        option = incomplete[: incomplete.find("=") + 1] if incomplete.startswith("-") else ""
        if option and not option.startswith("--"):
            # `-g=orders` names a group `=orders`.
            return []
        words = [_expanded(word, before) for before, word in pairwise(("", *args))]
        self.ctx_args["obj"] = tuple(words)
        items = super().get_completions(words, incomplete)
        return [_prefixed(option, item) for item in items]

    def complete(self) -> str:
        """Return the kind of the values, and the values."""
        args, incomplete = self.get_completion_args()
        items = self.get_completions(args, incomplete)
        return self.join([kind_of(items), *map(self.format_completion, items)])

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Return a value, behind it a tab and its description if it has one."""
        return f"{item.value}\t{one_line(item.help)}" if item.help else str(item.value)

    def join(self, texts: Sequence[str]) -> str:
        """Return the texts as the script reads them."""
        return "".join(f"{text}\0" for text in texts)


def _expanded(word: str, before: str) -> str:
    """Return a word as the shell passes it to the command, as far as that is known without its quotes.

    A property may be a password with a `$`, which is in quotes.
    """
    if before == "-X" or word.startswith("-X"):
        return word
    return os.path.expandvars(os.path.expanduser(word))  # noqa: PTH111 - most words are no paths, and a Path would change them


def kind_of(items: Sequence[CompletionItem[Any]]) -> str:
    """Return how the shell treats the values."""
    if items and items[0].type != PLAIN:
        return items[0].type
    return DESCRIBED if any(item.help for item in items) else PLAIN


def one_line(text: str) -> str:
    """Return a description without line breaks."""
    return " ".join(text.split())


def _prefixed(option: str, item: CompletionItem[Any]) -> CompletionItem[Any]:
    return CompletionItem(option + item.value, item.type, item.help) if option else item

"""Completion in bash."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, ClassVar

from click.shell_completion import CompletionItem

from kafka_groups.options.completion.bash_line import parse_line
from kafka_groups.options.completion.shell import Shell

_SCRIPT = """\
%(complete_func)s() {
    local program=$1 values
    [[ $program == "~/"* ]] && program=$HOME/${program:2}
    mapfile -t values < <(
        %(complete_var)s=bash_complete "$program" "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null
    )
    case ${values[0]-} in
        dir) compopt -o dirnames ;;
        file) compopt -o default ;;
        prefix) compopt -o nospace ;;&
        *) COMPREPLY=("${values[@]:1}") ;;
    esac
}

complete -F %(complete_func)s %(prog_name)s
"""


class BashShell(Shell):
    """bash, whose script passes the line and inserts values as they are: they are quoted here.

    A line of output is a value: where a group id has a newline, the value has `$'\\n'`.
    """

    name: ClassVar[str] = "bash"
    source_template: ClassVar[str] = _SCRIPT

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words between the program and the incomplete word, and that word."""
        text, word_breaks = sys.argv[1:]
        self._line = parse_line(text, word_breaks=word_breaks)
        return self._line.words[1:-1], self._line.words[-1]

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[Any]]:
        """Return the completions of a word."""
        if self._line.is_redirection:
            return [CompletionItem(incomplete, "file")]
        return super().get_completions(args, incomplete)

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Return the text that replaces the end of the line."""
        text = self._line.written(item.value)
        quote = self._line.quote
        # readline takes a quote at the start of the text for the open one, and one at its end for the closing one.
        if quote and text.startswith(quote):
            text = f"{quote}{text}"
        return f"{text}{quote}" if quote and text.endswith(quote) else text

    def join(self, texts: Sequence[str]) -> str:
        """Return a line for each text."""
        return "\n".join(texts)

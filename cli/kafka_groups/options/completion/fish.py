"""Completion in fish."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Final

from kafka_groups.options.completion.shell import Shell

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# fish writes the controls of C1 and bidirectional ones as they are, and the terminal would obey.
_UNWRITABLE: Final = re.compile(r"[\t\x80-\x9f\u2028-\u202e\u2066-\u2069]")
_SCRIPT = """\
function %(complete_func)s
    set -l words (commandline -opc)
    set -l program (string replace -r '^~/' ~/ -- $words[1])
    set -l word (commandline -ct)
    set -l plain
    # A quote may be open.
    for quote in '' '"' "'"
        set plain (string unescape -- "$word$quote"); and break
    end
    set -l values (%(complete_var)s=fish_complete $program $words "$plain" 2>/dev/null | string split0)
    switch "$values[1]"
        case dir file
            # An empty command has no completions of its own, so that fish offers files.
            set -l option (string match -r -- '^--[^=]*=' $word)
            set -l paths (complete -C "'' "(string replace -r -- '^--[^=]*=' '' $word))
            test $values[1] = dir; and set paths (string match -- '*/' $paths)
            printf "$option%%s\\n" $paths
        case '?*'
            printf '%%s\\0' $values[2..-2] | string split0
    end
end

complete --no-files --command %(prog_name)s --arguments "(%(complete_func)s)"
"""


class FishShell(Shell):
    """fish, which quotes values itself."""

    name: ClassVar[str] = "fish"
    source_template: ClassVar[str] = _SCRIPT

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[Any]]:
        """Return the completions of a word, without those that fish cannot write: a tab ends a value there."""
        items = super().get_completions(args, incomplete)
        return [item for item in items if not _UNWRITABLE.search(str(item.value))]

"""Completion in zsh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from kafka_groups.options.completion.shell import Shell, one_line

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_SCRIPT = """\
#compdef %(prog_name)s

%(complete_func)s() {
    local program=${~${(Q)words[1]}} word=$PREFIX kind
    local -a values
    # In single quotes, a backslash is a backslash.
    [[ $compstate[quote] == "'" ]] || word=${(Q)word}
    values=("${(@0)$(%(complete_var)s=zsh_complete $program "${(@Q)words[1,CURRENT-1]}" "$word" 2>/dev/null)}")
    kind=$values[1]
    values=("${(@)values[2,-2]}")
    case $kind in
        described) _describe -V option values ;;
        # The names of states match whatever their case.
        plain) compadd -M 'm:{a-zA-Z}={A-Za-z}' -a values ;;
        prefix) compadd -S '' -a values ;;
        file|dir)
            [[ $PREFIX == --*=* ]] && compset -P 1 '*='
            if [[ $kind == dir ]]; then _files -/; else _files; fi
            ;;
    esac
}

# In a directory of fpath, this file is the body of a function.
if [[ $funcstack[1] == _%(prog_name)s ]]; then
    %(complete_func)s "$@"
else
    compdef %(complete_func)s %(prog_name)s
fi
"""


class ZshShell(Shell):
    """zsh, which quotes values itself."""

    name: ClassVar[str] = "zsh"
    source_template: ClassVar[str] = _SCRIPT

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Return a value, or `value:description`."""
        escaped = item.value.replace(":", r"\:")
        return f"{escaped}:{one_line(item.help)}" if item.help else item.value

"""Java's `sasl.jaas.config`: text that names a login module and its options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

# The login modules that take a user and a password.
_MODULES: Final = {"PlainLoginModule", "ScramLoginModule"}
_NAMES: Final = ("username", "password")
_ENTRY: Final = re.compile(
    r"\s*(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(?P<rest>.*)", re.DOTALL
)
_OPTION: Final = re.compile(r"""(\w+)\s*=\s*("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^\s;]+)""")


class Jaas(NamedTuple):
    """A login module, by the last part of its name (empty if there is none), and its options.

    An option may be a password, so the repr does not show the options.
    """

    module: str
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Jaas(module={self.module!r})"

    def credentials(self) -> dict[str, str]:
        """Return the options `username` and `password` that are set; none for another login module."""
        if self.module not in _MODULES:
            return {}
        return {name: self.options[name] for name in _NAMES if name in self.options}

    def find_problem(self) -> str | None:
        """Return why there is no user and password in it, or None. The text has secrets, so it is not repeated."""
        if self.module not in _MODULES:
            problem = f"the login module {self.module} is not supported" if self.module else "it names no login module"
            return f"{problem}; set librdkafka's properties instead (sasl.mechanism, sasl.username, sasl.password, …)"
        found = self.credentials()
        missing = [name for name in _NAMES if name not in found]
        return f"it has no option {missing[0]}; add the option, or set sasl.{missing[0]}" if missing else None


def parse_jaas(text: str) -> Jaas:
    """Return the login module and its options; the module is empty if the text is not in Java's format."""
    entry = _ENTRY.fullmatch(text)
    if entry is None:
        return Jaas("", {})
    options = {name: _unquote(value) for name, value in _OPTION.findall(entry["rest"])}
    return Jaas(entry["module"].rpartition(".")[2], options)


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[:1] in {'"', "'"} else text

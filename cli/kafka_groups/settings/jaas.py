"""Java's `sasl.jaas.config`: a login module and its options, as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

# Those that a user and a password are for.
_MODULES: Final = {"PlainLoginModule", "ScramLoginModule"}
_LOGIN: Final = re.compile(
    r"\s*(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(?P<rest>.*)", re.DOTALL
)
_OPTION: Final = re.compile(r"""(\w+)\s*=\s*("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^\s;]+)""")


class Jaas(NamedTuple):
    """The last part of the module's name, empty if there is none, and the options."""

    module: str
    options: Mapping[str, str]

    def login(self) -> dict[str, str]:
        """`username` and `password`, as far as they are given to a module that is for them."""
        if self.module not in _MODULES:
            return {}
        return {name: self.options[name] for name in ("username", "password") if name in self.options}

    def lack(self) -> str | None:
        """Why there is no whole login in it; None if there is one. Nothing of the text is repeated: it has secrets."""
        if self.module not in _MODULES:
            told = f"{self.module} is not understood" if self.module else "it names no login module"
            return f"{told}; set librdkafka's own keys (sasl.mechanism, sasl.username, sasl.password, …)"
        found = self.login()
        return next((f"it has no {name}" for name in ("username", "password") if name not in found), None)


def parse_jaas(text: str) -> Jaas:
    """What the text says; without a module if it is none of Java's."""
    login = _LOGIN.fullmatch(text)
    if login is None:
        return Jaas("", {})
    options = {name: _unquoted(value) for name, value in _OPTION.findall(login["rest"])}
    return Jaas(login["module"].rpartition(".")[2], options)


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[:1] in {'"', "'"} else text

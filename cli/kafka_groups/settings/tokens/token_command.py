"""A command that prints a token: the command-line tool of an identity provider, or a script of the user."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafka_groups.errors import TokenFailedError
from kafka_groups.settings.commands import CommandFailedError, run_command
from kafka_groups.settings.limits import Limit
from kafka_groups.settings.tokens.token import Token, parse_token


@dataclass(frozen=True, slots=True)
class TokenCommand:
    """A command whose stdout is a token and nothing else but blanks; `source` is where the user wrote the command.

    The words may hold a password, so the repr does not show them.
    """

    words: tuple[str, ...] = field(repr=False)
    source: str

    @property
    def place(self) -> str:
        """The source as errors name it; the program's name, as its arguments may be secret."""
        return f"the command '{self.words[0]}' of {self.source}"

    @property
    def is_read_each_time(self) -> bool:
        """Whether each authentication reads the source again."""
        return False

    def fetch(self, limit: Limit) -> Token:
        """Run the command. Raises TokenFailedError if it fails or prints no token."""
        try:
            printed = run_command(self.words, limit)
        except CommandFailedError as error:
            msg = f"{self.place} {error}"
            raise TokenFailedError(msg) from None
        return parse_token(printed.decode(errors="replace").strip(), place=self.place)

"""A token in a file, which another program renews, as Kubernetes does for the token of a service account."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_groups.errors import TokenFailedError
from kafka_groups.settings.limits import Limit
from kafka_groups.settings.secret_files import SecretFileError, read_limited
from kafka_groups.settings.tokens.token import Token, parse_token
from kafka_groups.text_encoding import NotUtf8Error, decode_utf8


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A file with a token, by the path of a `file:` URL (FileJwtRetriever); blanks around the token do not count."""

    path: str

    @property
    def place(self) -> str:
        """The source as errors name it."""
        return f"the token file {self.path}"

    @property
    def is_read_each_time(self) -> bool:
        """Whether each authentication reads the source again."""
        return True

    def fetch(self, limit: Limit) -> Token:
        """Read the file, which may have changed since the last time. Raises TokenFailedError if it has no token."""
        del limit
        try:
            text = decode_utf8(read_limited(self.path))
        except NotUtf8Error:
            # A token is ASCII, so the encoding is not what is wrong.
            msg = f"{self.place} has no token: it is not a text file"
            raise TokenFailedError(msg) from None
        except SecretFileError as error:
            msg = f"{self.place} {error}"
            raise TokenFailedError(msg) from None
        return parse_token(text.strip(), place=self.place)

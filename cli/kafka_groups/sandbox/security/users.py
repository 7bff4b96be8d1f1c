"""The users of a sandbox with `--secure`, and what brokers expect of their tokens.

The passwords are fixed, because every program of this machine may also use the listener PLAINTEXT without one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class User:
    """A user with a password for PLAIN and SCRAM. The name is also the subject of its certificate and its token."""

    name: str
    password: str


# A super user, whom no ACL limits.
ADMIN: Final = User("admin", "admin-secret")
# A user who may describe everything, and change and read nothing.
READER: Final = User("reader", "reader-secret")
USERS: Final = (ADMIN, READER)

SCRAM_MECHANISMS: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS: Final = ("PLAIN", *SCRAM_MECHANISMS, "OAUTHBEARER")

# The issuer and the audience of tokens.
ISSUER: Final = "https://sandbox.invalid"
AUDIENCE: Final = "kafka-groups-sandbox"

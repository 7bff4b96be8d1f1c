"""The files of a sandbox with `--secure`: certificates, keys and a token, which only their owner may read."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from kafka_groups.errors import SandboxError, TokenFailedError
from kafka_groups.files import PRIVATE, write_atomically
from kafka_groups.sandbox.directory import SandboxDirectory, user_directory
from kafka_groups.sandbox.security.users import ADMIN, USERS

# Brokers use the path of a `file:` URL as it is written, with its percent signs. So what would have to be encoded in a
# URL (RFC 2396, and java.net.URI's other characters) cannot be in the path.
_NOT_IN_URL: Final = re.compile(r"[\"#%<>?\[\\\]^`{|}\s]")
_DIGEST_DIGITS: Final = 16
_PRIVATE_FOLDER: Final = 0o700


@dataclass(frozen=True, slots=True)
class SecretFiles:
    """The paths of the files, all in one directory.

    `key_set` is the file with the public key of tokens, which brokers open.
    """

    folder: Path
    key_set: Path

    @property
    def authority(self) -> Path:
        """The certificate of the authority, which clients trust."""
        return self.folder / "ca.pem"

    @property
    def server(self) -> Path:
        """The certificate of all brokers, and its key."""
        return self.folder / "broker.pem"

    @property
    def signing_key(self) -> Path:
        """The private key that signs tokens."""
        return self.folder / "token-key.pem"

    @property
    def token(self) -> Path:
        """A token of the user admin."""
        return self.folder / "token"

    @property
    def key_set_url(self) -> str:
        """The URL of the public key, in the form that brokers open."""
        return f"file://{self.key_set}"

    def certificate(self, user: str) -> Path:
        """Return the certificate of a user, and its key."""
        return self.folder / f"{user}.pem"


def secret_files(directory: SandboxDirectory) -> SecretFiles:
    """Return the files of a sandbox."""
    key_set = directory.security / "jwks.json"
    if not _NOT_IN_URL.search(str(key_set)):
        return SecretFiles(directory.security, key_set)
    # On macOS, the path of the user's state directory has a blank, and that of the cache has none.
    digest = hashlib.sha256(str(directory.path.resolve()).encode()).hexdigest()
    return SecretFiles(directory.security, user_directory("cache") / "key-sets" / f"{digest[:_DIGEST_DIGITS]}.json")


def require_usable_path(directory: SandboxDirectory) -> None:
    """Raise SandboxError if brokers could not open the key set of the sandbox."""
    key_set = secret_files(directory).key_set
    if found := _NOT_IN_URL.search(str(key_set)):
        msg = (
            f"brokers cannot open the keys of tokens in {str(directory.path)!r} and {str(key_set.parent)!r}, "
            f"which contains {found[0]!r}; give another --dir"
        )
        raise SandboxError(msg)


def delete_key_set(directory: SandboxDirectory) -> None:
    """Delete the key set, which need not be in the directory of the sandbox."""
    secret_files(directory).key_set.unlink(missing_ok=True)


def create_secrets(directory: SandboxDirectory, *, now: datetime) -> None:
    """Write new certificates, keys and a token; raise SandboxError if a file cannot be written."""
    # Imported here, as below, because `down` and a sandbox without `--secure` need no cryptography.
    from kafka_groups.sandbox.security.certificates import create_authority, issue_client, issue_server
    from kafka_groups.sandbox.security.token_keys import create_key, key_set

    files = secret_files(directory)
    authority = create_authority(now)
    key = create_key()
    contents: dict[Path, str | bytes] = {
        files.authority: authority.pem(),
        files.server: issue_server(authority, now),
        **{files.certificate(user.name): issue_client(authority, user.name, now) for user in USERS},
        files.signing_key: key,
        files.key_set: key_set(key),
    }
    with directory.report_write_errors():
        files.folder.mkdir(mode=_PRIVATE_FOLDER)
        files.key_set.parent.mkdir(parents=True, exist_ok=True)
        for path, content in contents.items():
            write_atomically(path, content, mode=PRIVATE)
    renew_token(directory, now=now)


def renew_token(directory: SandboxDirectory, *, now: datetime) -> None:
    """Replace the token with one that is valid for 24 hours; raise SandboxError if the files cannot be used."""
    from kafka_groups.sandbox.security.token_keys import sign_token, user_claims

    files = secret_files(directory)
    with directory.report_write_errors():
        claims = user_claims(ADMIN.name, now_s=now.timestamp())
        token = sign_token(files.signing_key.read_bytes(), claims)
        write_atomically(files.token, token + "\n", mode=PRIVATE)


def token_expiry(directory: SandboxDirectory) -> datetime | None:
    """Return the time in UTC at which the token expires; None if the file has no token."""
    from kafka_groups.settings.tokens.token import parse_token

    path = secret_files(directory).token
    try:
        expires_at = parse_token(path.read_text(encoding="ascii").strip(), place=str(path)).expires_at
    except (OSError, ValueError, TokenFailedError):
        return None
    return None if expires_at is None else datetime.fromtimestamp(expires_at, UTC)

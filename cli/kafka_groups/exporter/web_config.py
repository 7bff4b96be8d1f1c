"""The web config file of the Prometheus project: TLS of the server, and users with passwords.

Its format is that of prometheus/exporter-toolkit (docs/web-configuration.md). The file, and the certificates that it
names, are read again when one of them has changed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import ssl
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from kafka_groups.errors import SettingsError

T = TypeVar("T")

_TLS: Final = "tls_server_config"
_USERS: Final = "basic_auth_users"
_SECTIONS: Final = (_TLS, _USERS)
_TLS_KEYS: Final = (
    *("cert_file", "key_file", "client_auth_type", "client_ca_file", "client_allowed_sans"),
    *("min_version", "max_version", "cipher_suites", "prefer_server_cipher_suites", "curve_preferences"),
)
# Keys of the format whose effect Python's ssl does not have.
_UNSUPPORTED: Final = ("client_allowed_sans", "cipher_suites", "curve_preferences")
_VERSIONS: Final = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
# What is required of client certificates, by Go's names.
_CLIENT_AUTH: Final = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
_UNVERIFIED: Final = ("RequestClientCert", "RequireAnyClientCert")
_BCRYPT: Final = ("$2a$", "$2b$", "$2y$")
# bcrypt takes a tenth of a second on purpose, so passwords that were right are kept as hashes of this process.
_MOST_PASSWORDS: Final = 100
# A hash that no password has: an unknown user takes as long as a wrong password.
_NO_PASSWORD: Final = "$2b$10$" + "." * 53


class Access(Protocol):
    """TLS and passwords of the server."""

    def context(self) -> ssl.SSLContext | None:
        """Return the TLS context of the next connection; None without TLS. Raises OSError or SettingsError."""

    def allows(self, authorization: str | None) -> bool:
        """Return whether a request with this Authorization header is allowed."""


class OpenAccess:
    """No TLS and no passwords, without a file."""

    def context(self) -> ssl.SSLContext | None:
        """Return no TLS context."""
        return None

    def allows(self, authorization: str | None) -> bool:
        """Return True: every request is allowed."""
        return True


class WebConfig(NamedTuple):
    """What a file describes: the TLS context, hashes of passwords by user, and all files that were read."""

    context: ssl.SSLContext | None
    users: Mapping[str, str]
    files: tuple[str, ...]


class FileAccess:
    """The access that a file describes. A change that cannot be used refuses connections, as in Prometheus' servers."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._config = read_web_config(name)
        self._stamps = _stamps_of(self._config.files)
        self._accepted: dict[bytes, None] = {}
        self._salt = os.urandom(16)

    def context(self) -> ssl.SSLContext | None:
        """Return the TLS context of the next connection; None without TLS. Raises OSError or SettingsError."""
        return self._current().context

    def allows(self, authorization: str | None) -> bool:
        """Return whether a request with this Authorization header is allowed."""
        users = self._current().users
        if not users:
            return True
        user, password = _credentials_of(authorization)
        is_known = user in users
        return self._is_right(password, users.get(user, _NO_PASSWORD)) and is_known

    def _current(self) -> WebConfig:
        with self._lock:
            if (stamps := _stamps_of(self._config.files)) != self._stamps:
                self._config = read_web_config(self._name)
                self._stamps = stamps
                self._accepted.clear()
            return self._config

    def _is_right(self, password: bytes, hashed: str) -> bool:
        import bcrypt

        digest = hashlib.sha256(b"\0".join((self._salt, hashed.encode(), password))).digest()
        with self._lock:
            if digest in self._accepted:
                return True
        try:
            # bcrypt reads 72 bytes at most.
            is_right = bcrypt.checkpw(password[:72], hashed.encode())
        except ValueError:
            return False
        if is_right:
            with self._lock:
                while len(self._accepted) >= _MOST_PASSWORDS:
                    del self._accepted[next(iter(self._accepted))]
                self._accepted[digest] = None
        return is_right


def open_access(name: str | None) -> Access:
    """Return the access that a file describes; open access without one. Raises SettingsError."""
    return OpenAccess() if name is None else FileAccess(name)


def read_web_config(name: str) -> WebConfig:
    """Read a web config file. Raises SettingsError if it, or a file that it names, cannot be used."""
    document = _read_document(name)
    users = _section(document, _USERS, name)
    for user, hashed in users.items():
        if not str(hashed).startswith(_BCRYPT):
            raise _error(
                name, f"{_USERS}: the password of {user!r} is not hashed with bcrypt; htpasswd -nBC 10 '' does it"
            )
    tls = _section(document, _TLS, name)
    if not tls:
        return WebConfig(None, users, (name,))
    context, files = _make_context(tls, name)
    return WebConfig(context, users, (name, *files))


def _read_document(name: str) -> Mapping[str, Any]:
    import yaml

    try:
        document = yaml.safe_load(Path(name).read_bytes())
    except OSError as error:
        raise _error(name, f"it cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise _error(name, f"it is not YAML: {' '.join(str(error).split())}") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise _error(name, "it is not a mapping")
    if "http_server_config" in document:
        raise _error(name, "http_server_config is not supported; remove it")
    _require_known(document, _SECTIONS, name, "")
    return document


def _section(document: Mapping[str, Any], key: str, name: str) -> Mapping[str, Any]:
    section = document.get(key) or {}
    if not isinstance(section, dict):
        raise _error(name, f"{key} is not a mapping")
    return section


def _require_known(given: Mapping[Any, Any], known: Sequence[str], name: str, place: str) -> None:
    if unknown := [str(key) for key in given if key not in known]:
        raise _error(name, f"{place}unknown key {', '.join(unknown)}; known are {', '.join(known)}")


def _make_context(tls: Mapping[str, Any], name: str) -> tuple[ssl.SSLContext, tuple[str, ...]]:
    """Return the TLS context, and the files that it was read from; their paths are relative to the config file."""
    _require_known(tls, _TLS_KEYS, name, f"{_TLS}: ")
    if unsupported := [key for key in _UNSUPPORTED if tls.get(key)]:
        raise _error(name, f"{_TLS}: {', '.join(unsupported)} is not supported; remove it")
    folder = Path(name).parent
    paths = {key: str(folder / str(tls[key])) for key in ("cert_file", "key_file", "client_ca_file") if tls.get(key)}
    if not ("cert_file" in paths and "key_file" in paths):
        raise _error(name, f"{_TLS} needs cert_file and key_file")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _choose(tls, "min_version", _VERSIONS, "TLS12", name)
    if tls.get("max_version"):
        context.maximum_version = _choose(tls, "max_version", _VERSIONS, "TLS13", name)
    try:
        # A password of the key would be requested on the terminal.
        context.load_cert_chain(paths["cert_file"], paths["key_file"], password=lambda: "")
        if "client_ca_file" in paths:
            context.load_verify_locations(paths["client_ca_file"])
    except (OSError, ValueError) as error:
        raise _error(name, f"{_TLS}: {', '.join(paths.values())}: {error}") from None
    context.verify_mode = _client_auth(tls, name, has_ca="client_ca_file" in paths)
    return context, tuple(paths.values())


def _client_auth(tls: Mapping[str, Any], name: str, *, has_ca: bool) -> ssl.VerifyMode:
    if tls.get("client_auth_type") in _UNVERIFIED:
        raise _error(name, f"{_TLS}: client_auth_type {tls['client_auth_type']} verifies nothing; use another one")
    mode = _choose(tls, "client_auth_type", _CLIENT_AUTH, "NoClientCert", name)
    if mode is not ssl.CERT_NONE and not has_ca:
        raise _error(name, f"{_TLS}: client_auth_type {tls['client_auth_type']} needs client_ca_file")
    if mode is ssl.CERT_NONE and has_ca:
        raise _error(name, f"{_TLS}: client_ca_file needs a client_auth_type that verifies certificates")
    return mode


def _choose(tls: Mapping[str, Any], key: str, values: Mapping[str, T], default: str, name: str) -> T:
    value = tls.get(key) or default
    if value not in values:
        raise _error(name, f"{_TLS}: {key} {value!r} is not one of {', '.join(values)}")
    return values[value]


def _credentials_of(authorization: str | None) -> tuple[str, bytes]:
    """Return the user and the password of an Authorization header; both are empty if it has none."""
    scheme, _, encoded = (authorization or "").partition(" ")
    if scheme.lower() != "basic":
        return "", b""
    try:
        user, _, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
        return user.decode(), password
    except (binascii.Error, ValueError):
        return "", b""


def _stamps_of(files: Sequence[str]) -> list[tuple[int, int, int] | None]:
    """Return what changes when a file does: its time, size and inode; None for one that is not there."""
    stamps: list[tuple[int, int, int] | None] = []
    for file in files:
        try:
            status = Path(file).stat()
        except OSError:
            stamps.append(None)
        else:
            stamps.append((status.st_mtime_ns, status.st_size, status.st_ino))
    return stamps


def _error(name: str, problem: str) -> SettingsError:
    text = f"the web config file {name} cannot be used: {problem}"
    return SettingsError(text)

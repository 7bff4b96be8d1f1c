"""Assertions (RFC 7523): a JWT that proves who the client is, from a file or signed by its private key (KIP-1258)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from time import time
from typing import Any, Final, Protocol

from kafka_groups.errors import SettingsError, TokenFailedError
from kafka_groups.settings.pairs import Setting
from kafka_groups.settings.pem import PRIVATE_KEY, has_block, pem_blocks
from kafka_groups.settings.secret_files import SecretFileError, read_limited
from kafka_groups.settings.tokens.jwt_signing import (
    ES256,
    RS256,
    KeyUnusableError,
    algorithm_of,
    load_key,
    sign_jwt,
)
from kafka_groups.settings.tokens.token import parse_token
from kafka_groups.settings.tokens.token_settings import is_enabled, number_of, text_of

_PREFIX: Final = "sasl.oauthbearer.assertion."
FILE: Final = f"{_PREFIX}file"
KEY_FILE: Final = f"{_PREFIX}private.key.file"
KEY_PEM: Final = f"{_PREFIX}private.key.pem"
_ALGORITHM: Final = f"{_PREFIX}algorithm"
_TEMPLATE: Final = f"{_PREFIX}template.file"
_CLAIMS: Final = {"aud": f"{_PREFIX}claim.aud", "iss": f"{_PREFIX}claim.iss", "sub": f"{_PREFIX}claim.sub"}


class Assertion(Protocol):
    """Where assertions come from."""

    def create(self) -> str:
        """Return an assertion that is valid now. Raises TokenFailedError if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class AssertionFile:
    """A file with an assertion, which another program renews, such as the token of a Kubernetes service account."""

    path: str

    def create(self) -> str:
        """Read the file again."""
        text = _read(self.path, f"the assertion file {self.path}").decode(errors="replace")
        return parse_token(text.strip(), place=f"the assertion file {self.path}").text


@dataclass(frozen=True, kw_only=True, slots=True)
class SignedAssertion:
    """An assertion that this tool signs with a private key, by a file or by its PEM text.

    `claims` are those of the properties; a template file (JSON with `header` and `payload`) precedes them, and the
    times and the id precede the template, as in Kafka's LayeredAssertionJwtTemplate. `clock` returns seconds since
    1970.
    """

    key_file: str | None = None
    key_pem: str | None = field(default=None, repr=False)
    passphrase: str = field(default="", repr=False)
    algorithm: str = RS256
    claims: Mapping[str, str] = field(default_factory=dict)
    lifetime_s: int = 300
    backdated_s: int = 60
    has_id: bool = False
    template_file: str | None = None
    clock: Callable[[], float] = time

    def create(self) -> str:
        """Sign an assertion."""
        place = f"the private key {self.key_file}" if self.key_file else f"the private key of {KEY_PEM}"
        pem = _read(self.key_file, place) if self.key_file else (self.key_pem or "").encode()
        try:
            key = load_key(pem, self.passphrase)
        except KeyUnusableError as error:
            msg = f"{place} {error}"
            raise TokenFailedError(msg) from None
        if algorithm_of(key) != self.algorithm:
            msg = f"{place} signs by {algorithm_of(key)}, and not by {self.algorithm}; set {_ALGORITHM}"
            raise TokenFailedError(msg)
        header, payload = _read_template(self.template_file) if self.template_file else ({}, {})
        return sign_jwt({**self.claims, **payload, **self._dynamic_claims()}, key, header=header)

    def _dynamic_claims(self) -> dict[str, Any]:
        now = int(self.clock())
        claims: dict[str, Any] = {"iat": now, "exp": now + self.lifetime_s, "nbf": now - self.backdated_s}
        if self.has_id:
            from uuid import uuid4

            claims["jti"] = str(uuid4())
        return claims


def select_assertion(settings: Mapping[str, Setting]) -> Assertion | None:
    """Return the assertion that the settings name, None if they name none: a file, else a private key.

    Raises SettingsError for settings that cannot be used, and if the package that signs is not installed.
    """
    if file := text_of(settings, FILE):
        return AssertionFile(file)
    named = next((settings[key] for key in (KEY_FILE, KEY_PEM, _CLAIMS["iss"]) if text_of(settings, key)), None)
    if named is None:
        return None
    key_file, key_pem = text_of(settings, KEY_FILE), text_of(settings, KEY_PEM)
    _check_key(settings, named)
    if find_spec("cryptography") is None:
        msg = f"{named.source} needs the package cryptography; run: pip install 'kafka-groups[keys]'"
        raise SettingsError(msg)
    return SignedAssertion(
        key_file=key_file or None,
        key_pem="".join(block.text for block in pem_blocks(key_pem)) or None,
        passphrase=text_of(settings, f"{_PREFIX}private.key.passphrase"),
        algorithm=_algorithm(settings),
        claims={claim: text for claim, key in _CLAIMS.items() if (text := text_of(settings, key))},
        lifetime_s=number_of(settings, f"{_PREFIX}claim.exp.seconds", 300, least=1),
        backdated_s=number_of(settings, f"{_PREFIX}claim.nbf.seconds", 60),
        has_id=is_enabled(settings, f"{_PREFIX}claim.jti.include"),
        template_file=text_of(settings, _TEMPLATE) or None,
    )


def _check_key(settings: Mapping[str, Setting], named: Setting) -> None:
    file, pem = text_of(settings, KEY_FILE), text_of(settings, KEY_PEM)
    if file and pem:
        msg = f"{settings[KEY_FILE].source} and {settings[KEY_PEM].source} exclude each other; remove one of them"
        raise SettingsError(msg)
    if not file and not pem:
        msg = f"{named.source} needs the private key that signs the assertion; set {KEY_FILE}"
        raise SettingsError(msg)
    if pem and not has_block(pem_blocks(pem), PRIVATE_KEY):
        msg = f"{settings[KEY_PEM].source} has no private key; write the text of a PEM file"
        raise SettingsError(msg)


def _algorithm(settings: Mapping[str, Setting]) -> str:
    algorithm = text_of(settings, _ALGORITHM).upper() or RS256
    if algorithm not in {RS256, ES256}:
        setting = settings[_ALGORITHM]
        msg = f"{setting.source}={setting.value} is not supported; write {RS256} or {ES256}"
        raise SettingsError(msg)
    return algorithm


def _read_template(path: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    place = f"the assertion template {path}"
    try:
        template = json.loads(_read(path, place))
    except (ValueError, RecursionError):
        template = None
    parts = template if isinstance(template, dict) else {"header": None}
    header, payload = parts.get("header", {}), parts.get("payload", {})
    if not isinstance(header, dict) or not isinstance(payload, dict):
        msg = f'{place} cannot be used; write JSON: {{"header": {{…}}, "payload": {{…}}}}'
        raise TokenFailedError(msg)
    return header, payload


def _read(path: str, place: str) -> bytes:
    try:
        return read_limited(path)
    except SecretFileError as error:
        msg = f"{place} {error}"
        raise TokenFailedError(msg) from None

"""SASL credentials: a mechanism, a user and a password."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_groups.errors import SettingsError
from kafka_groups.settings.pairs import Setting
from kafka_groups.settings.values import hint_of_variable, is_utf8

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_SUPPORTED: Final = f"{', '.join(MECHANISMS[:-1])} or {MECHANISMS[-1]}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SaslCredentials:
    """A user, a password, and the SASL mechanism that proves to the broker that the client knows the password.

    With `is_token` they are the ID and the HMAC of a delegation token (KIP-48).
    """

    mechanism: str
    username: str
    password: str = field(repr=False)
    is_token: bool = False


def sasl_credentials(settings: Mapping[str, Setting], protocol: Setting) -> SaslCredentials:
    """Return the credentials that a security protocol with SASL needs.

    Raises SettingsError for a property that is missing, and for a mechanism that is not supported.
    """
    mechanism = _mechanism(require_mechanism(settings, protocol, _SUPPORTED))
    check_jaas(settings)
    return SaslCredentials(
        mechanism=mechanism,
        username=_require(settings, "sasl.username", protocol),
        password=_require(settings, "sasl.password", protocol),
        is_token=mechanism.startswith("SCRAM-") and has_token(settings),
    )


def check_jaas(settings: Mapping[str, Setting]) -> None:
    """Raise SettingsError for a `sasl.jaas.config` without a user and a password that no other property has either."""
    jaas = settings.get("sasl.jaas.config")
    if jaas is None or all(f"sasl.{name}" in settings for name in ("username", "password")):
        return
    from kafka_groups.settings.jaas import parse_jaas

    if problem := parse_jaas(jaas.value).find_problem():
        msg = f"{jaas.source}: {problem}"
        raise SettingsError(msg)


def has_token(settings: Mapping[str, Setting]) -> bool:
    """Return whether the user is the ID of a delegation token: the JAAS text that names it has `tokenauth=true`."""
    jaas = settings.get("sasl.jaas.config")
    user = settings.get("sasl.username")
    if jaas is None or user is None or user.source != jaas.source:
        return False
    from kafka_groups.settings.jaas import parse_jaas

    return parse_jaas(jaas.value).is_token()


def require_mechanism(settings: Mapping[str, Setting], protocol: Setting, supported: str) -> Setting:
    """Return the SASL mechanism; SettingsError if it is not set, with the text `supported`."""
    setting = settings.get("sasl.mechanism")
    if setting is None:
        msg = f"{protocol.source}={protocol.value} needs sasl.mechanism, which is not set; set it to {supported}"
        raise SettingsError(msg)
    return setting


def _mechanism(setting: Setting) -> str:
    if setting.value.upper() not in MECHANISMS:
        msg = (
            f"{setting.source}={setting.value} is not supported; write {_SUPPORTED} "
            f"(pipeline ingest and doctor also support OAUTHBEARER, and GSSAPI if librdkafka is built with it)"
            f"{hint_of_variable(setting.value)}"
        )
        raise SettingsError(msg)
    return setting.value.upper()


def _require(settings: Mapping[str, Setting], name: str, protocol: Setting) -> str:
    setting = settings.get(name)
    if setting is None or not setting.value:
        msg = f"{protocol.source}={protocol.value} needs {name}, which is not set; set {name} or sasl.jaas.config"
        raise SettingsError(msg)
    if not is_utf8(setting.value):
        msg = f"{setting.source} is not valid UTF-8; write it in UTF-8"
        raise SettingsError(msg)
    return setting.value

"""Who logs in, and how: SASL by user and password."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_groups.errors import SettingsError
from kafka_groups.settings.jaas import parse_jaas
from kafka_groups.settings.properties import Setting

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@dataclass(frozen=True, kw_only=True, slots=True)
class SaslCredentials:
    """A user and a password, and the SASL mechanism that shows the broker that we know it."""

    mechanism: str
    username: str
    password: str = field(repr=False)


def login_of(settings: Mapping[str, Setting], protocol: Setting) -> SaslCredentials:
    """The login that a protocol with SASL needs. SettingsError names what is missing, or is not spoken here."""
    mechanism = _mechanism(settings.get("sasl.mechanism"), protocol)
    check_jaas(settings)
    found = {name: settings.get(f"sasl.{name}") for name in ("username", "password")}
    said: dict[str, str] = {}
    for name, setting in found.items():
        if setting is None or not setting.value:
            msg = f"{protocol.where}={protocol.value} needs sasl.{name} (or sasl.jaas.config); it is not set"
            raise SettingsError(msg)
        said[name] = _text(setting)
    return SaslCredentials(mechanism=mechanism, username=said["username"], password=said["password"])


def check_login_is_wanted(typed: Mapping[str, Setting], protocol: str) -> None:
    """SettingsError for a typed login that the protocol has no use for: what was typed now must have an effect.

    What a file says may be for other programs.
    """
    idle = next((setting for key, setting in typed.items() if key.startswith("sasl.")), None)
    if idle is not None and not protocol.startswith("SASL_"):
        msg = f"{idle.where}: nobody logs in by security.protocol={protocol}; write SASL_SSL or SASL_PLAINTEXT"
        raise SettingsError(msg)


def check_jaas(settings: Mapping[str, Setting]) -> None:
    """SettingsError for a `sasl.jaas.config` that lacks what nothing else says, either."""
    jaas = settings.get("sasl.jaas.config")
    is_said = all(f"sasl.{name}" in settings for name in ("username", "password"))
    if jaas is not None and not is_said and (why := parse_jaas(jaas.value).lack()):
        msg = f"{jaas.where}: {why}"
        raise SettingsError(msg)


def _mechanism(setting: Setting | None, protocol: Setting) -> str:
    spoken = f"{', '.join(MECHANISMS[:-1])} or {MECHANISMS[-1]}"
    if setting is None:
        msg = f"{protocol.where}={protocol.value} needs sasl.mechanism: {spoken}; it is not set"
        raise SettingsError(msg)
    if setting.value.upper() not in MECHANISMS:
        told = f"{setting.where}={setting.value} is not spoken here; write {spoken}"
        msg = f"{told} (pipeline ingest and doctor take what librdkafka takes)"
        raise SettingsError(msg)
    return setting.value.upper()


def _text(setting: Setting) -> str:
    try:
        setting.value.encode()
    except UnicodeEncodeError:
        msg = f"{setting.where} is no text in UTF-8"
        raise SettingsError(msg) from None
    return setting.value

"""Who logs in, and how: SASL by user and password, also as Java's `sasl.jaas.config` has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_groups.errors import SettingsError
from kafka_groups.settings.sources import Setting

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
# What each of Java's login modules is for; the others have no user and password.
_MODULES: Final = {"PlainLoginModule", "ScramLoginModule"}
_LOGIN: Final = re.compile(
    r"\s*(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(?P<rest>.*)", re.DOTALL
)
_OPTION: Final = re.compile(r"""(\w+)\s*=\s*("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^\s;]+)""")


@dataclass(frozen=True, kw_only=True, slots=True)
class Login:
    """A user and a password, and the SASL mechanism that shows the broker that we know it."""

    mechanism: str
    username: str
    password: str = field(repr=False)


def login_of(settings: Mapping[str, Setting], protocol: Setting) -> Login:
    """The login that a protocol with SASL needs. SettingsError names what is missing, or is not spoken here."""
    mechanism = _mechanism(settings.get("sasl.mechanism"), protocol)
    jaas = settings.get("sasl.jaas.config")
    said = jaas_login(jaas) if jaas else {}
    for name in ("username", "password"):
        if own := settings.get(f"sasl.{name}"):
            said[name] = own.value
        if name not in said:
            msg = f"{protocol.where}={protocol.value} needs sasl.{name} (or sasl.jaas.config); it is not set"
            raise SettingsError(msg)
        _check_text(f"sasl.{name}", said[name])
    return Login(mechanism=mechanism, username=said["username"], password=said["password"])


def jaas_login(setting: Setting) -> dict[str, str]:
    """The user and password of Java's `sasl.jaas.config`, for PLAIN and SCRAM; SettingsError if it has none."""
    login = _LOGIN.fullmatch(setting.value)
    module = login["module"].rpartition(".")[2] if login else ""
    if login is None or module not in _MODULES:
        # The text itself may hold a password, so it is not repeated.
        told = f"{module} is not understood" if module else "it names no login module"
        msg = f"{setting.where}: {told}; set librdkafka's own keys (sasl.mechanism, sasl.username, sasl.password, …)"
        raise SettingsError(msg)
    options = {name: _unquoted(value) for name, value in _OPTION.findall(login["rest"])}
    for name in ("username", "password"):
        if name not in options:
            msg = f"{setting.where}: it has no {name}"
            raise SettingsError(msg)
    return {name: options[name] for name in ("username", "password")}


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


def _check_text(name: str, value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        msg = f"{name} is no text in UTF-8"
        raise SettingsError(msg) from None


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[:1] in {'"', "'"} else text

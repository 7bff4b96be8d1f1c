"""The choice of a token's source by the properties of the user, as Kafka's DefaultJwtRetriever chooses by the URL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import unquote, urlsplit

from kafka_groups.errors import SettingsError
from kafka_groups.settings.commands import split_command
from kafka_groups.settings.pairs import Setting
from kafka_groups.settings.properties import IAM_HANDLERS, LOGIN_HANDLER
from kafka_groups.settings.tokens.token import TokenSource
from kafka_groups.settings.tokens.token_command import TokenCommand
from kafka_groups.settings.tokens.token_file import TokenFile
from kafka_groups.settings.tokens.unsecured import UnsecuredToken

TOKEN_COMMAND: Final = "sasl.oauthbearer.token.command"  # noqa: S105 # The name of a property.
ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"
UNSECURED: Final = "enable.sasl.oauthbearer.unsecure.jwt"
CONFIG: Final = "sasl.oauthbearer.config"

_TRUE: Final = frozenset({"true", "t", "1"})


def select_source(settings: Mapping[str, Setting]) -> TokenSource:
    """Return the source of tokens that the settings name, by canonical names.

    Raises SettingsError if they name none, two that exclude each other, or one that lacks a property.
    """
    named = [key for key in _SOURCES if _names_source(settings, key)]
    if not named:
        ways = f"set {ENDPOINT} (https:// or file:///PATH) or {TOKEN_COMMAND}"
        msg = f"sasl.mechanism=OAUTHBEARER needs a token, and no property says where it comes from; {ways}"
        raise SettingsError(msg)
    if len(named) > 1:
        msg = f"{settings[named[0]].source} and {settings[named[1]].source} exclude each other; remove one of them"
        raise SettingsError(msg)
    return _SOURCES[named[0]](settings)


def _names_source(settings: Mapping[str, Setting], key: str) -> bool:
    value = settings[key].value if key in settings else ""
    if key == LOGIN_HANDLER:
        return value in IAM_HANDLERS
    return value.lower() in _TRUE if key == UNSECURED else bool(value)


def _select_command(settings: Mapping[str, Setting]) -> TokenSource:
    setting = settings[TOKEN_COMMAND]
    return TokenCommand(split_command(setting.value, setting.source), setting.source)


def _select_by_url(settings: Mapping[str, Setting]) -> TokenSource:
    setting = settings[ENDPOINT]
    url = urlsplit(setting.value)
    if url.scheme.lower() == "file":
        if url.netloc not in {"", "localhost"} or not url.path.startswith("/"):
            msg = f"{setting.source}={setting.value} is no file of this machine; write file:///PATH"
            raise SettingsError(msg)
        return TokenFile(unquote(url.path))
    msg = f"{setting.source}={setting.value} is not supported; write https://HOST/PATH or file:///PATH"
    raise SettingsError(msg)


def _select_unsecured(settings: Mapping[str, Setting]) -> TokenSource:
    """Return the token that librdkafka's `sasl.oauthbearer.config` describes: `principal=me scope=a,b`."""
    setting = settings.get(CONFIG)
    words = setting.value.split() if setting is not None else []
    pairs = dict(word.partition("=")[::2] for word in words)
    principal = pairs.get("principal", "")
    if not principal:
        msg = f"{settings[UNSECURED].source} needs the name of a user; set {CONFIG}=principal=NAME"
        raise SettingsError(msg)
    return UnsecuredToken(principal, tuple(each for each in pairs.get("scope", "").split(",") if each))


def _select_aws(settings: Mapping[str, Setting]) -> TokenSource:
    # Imported here, as most sources do not need it.
    from kafka_groups.settings.tokens.aws import select_aws

    return select_aws(settings)


_SOURCES: Final[Mapping[str, Callable[[Mapping[str, Setting]], TokenSource]]] = {
    TOKEN_COMMAND: _select_command,
    ENDPOINT: _select_by_url,
    UNSECURED: _select_unsecured,
    LOGIN_HANDLER: _select_aws,
}

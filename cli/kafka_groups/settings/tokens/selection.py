"""The choice of a token's source by the properties of the user, as Kafka's DefaultJwtRetriever chooses by the URL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias
from urllib.parse import unquote, urlsplit

from kafka_groups.errors import SettingsError
from kafka_groups.settings.commands import split_command
from kafka_groups.settings.pairs import Setting
from kafka_groups.settings.properties import GCP_HANDLER, IAM_HANDLERS, LOGIN_HANDLER, TOKEN_COMMAND
from kafka_groups.settings.tokens.token import TokenSource
from kafka_groups.settings.tokens.token_command import TokenCommand
from kafka_groups.settings.tokens.token_file import TokenFile
from kafka_groups.settings.tokens.token_settings import ENDPOINT, is_enabled, text_of
from kafka_groups.settings.tokens.unsecured import UnsecuredToken
from kafka_groups.settings.values import hint_of_variable

UNSECURED: Final = "enable.sasl.oauthbearer.unsecure.jwt"
CONFIG: Final = "sasl.oauthbearer.config"
METADATA: Final = "sasl.oauthbearer.metadata.authentication.type"
METHOD: Final = "sasl.oauthbearer.method"

Select: TypeAlias = Callable[[Mapping[str, Setting]], TokenSource]


def select_source(settings: Mapping[str, Setting]) -> TokenSource:
    """Return the source of tokens that the settings name, by canonical names.

    Raises SettingsError if they name none, two that exclude each other, or one that lacks a property.
    """
    _check_method(settings)
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
    if key == UNSECURED:
        return is_enabled(settings, key)
    if key == METADATA:
        return _metadata_type(settings) is not None
    if key == LOGIN_HANDLER:
        return text_of(settings, key) in _HANDLERS
    # The URL may be that of a metadata endpoint.
    return bool(text_of(settings, key)) and not (key == ENDPOINT and _names_cloud(settings))


def _names_cloud(settings: Mapping[str, Setting]) -> bool:
    return _names_source(settings, METADATA) or text_of(settings, LOGIN_HANDLER) == GCP_HANDLER


def _check_method(settings: Mapping[str, Setting]) -> None:
    """Raise SettingsError for a method of librdkafka's that does not exist; any property may name the source."""
    method = text_of(settings, METHOD)
    if method.lower() not in {"", "default", "oidc"}:
        msg = f"{settings[METHOD].source}={method} is not supported; write oidc or default{hint_of_variable(method)}"
        raise SettingsError(msg)


def _metadata_type(settings: Mapping[str, Setting]) -> Select | None:
    """Return the function that selects the metadata endpoint of a cloud, None if the settings name no cloud."""
    name = text_of(settings, METADATA)
    if name.lower() in {"", "none"}:
        return None
    if name.lower() not in _CLOUDS:
        ways = f"write none, {' or '.join(_CLOUDS)}; for Amazon MSK set sasl.mechanism=AWS_MSK_IAM"
        msg = f"{settings[METADATA].source}={name} is not supported; {ways}{hint_of_variable(name)}"
        raise SettingsError(msg)
    return _CLOUDS[name.lower()]


def _select_cloud(settings: Mapping[str, Setting]) -> TokenSource:
    select = _metadata_type(settings)
    assert select is not None
    return select(settings)


def _select_by_handler(settings: Mapping[str, Setting]) -> TokenSource:
    return _HANDLERS[settings[LOGIN_HANDLER].value](settings)


def _select_command(settings: Mapping[str, Setting]) -> TokenSource:
    setting = settings[TOKEN_COMMAND]
    return TokenCommand(split_command(setting.value, setting.source), setting.source)


def _select_by_url(settings: Mapping[str, Setting]) -> TokenSource:
    setting = settings[ENDPOINT]
    if setting.value[: len("file:")].lower() != "file:":
        # Imported here, as the other sources below: a command needs one of them.
        from kafka_groups.settings.tokens.client_credentials import credentials_from

        return credentials_from(settings)
    url = urlsplit(setting.value)
    if url.netloc not in {"", "localhost"} or not url.path.startswith("/"):
        msg = f"{setting.source}={setting.value} is no file of this machine; write file:///PATH"
        raise SettingsError(msg)
    return TokenFile(unquote(url.path))


def _select_unsecured(settings: Mapping[str, Setting]) -> TokenSource:
    """Return the token that librdkafka's `sasl.oauthbearer.config` describes: `principal=me scope=a,b`."""
    pairs = dict(word.partition("=")[::2] for word in text_of(settings, CONFIG).split())
    principal = pairs.get("principal", "")
    if not principal:
        msg = f"{settings[UNSECURED].source} needs the name of a user; set {CONFIG}=principal=NAME"
        raise SettingsError(msg)
    return UnsecuredToken(principal, tuple(each for each in pairs.get("scope", "").split(",") if each))


def _select_azure(settings: Mapping[str, Setting]) -> TokenSource:
    from kafka_groups.settings.tokens.azure_identity import azure_identity_from

    return azure_identity_from(settings)


def _select_gcp(settings: Mapping[str, Setting]) -> TokenSource:
    from kafka_groups.settings.tokens.gcp_account import gcp_account_from

    return gcp_account_from(settings)


def _select_aws(settings: Mapping[str, Setting]) -> TokenSource:
    from kafka_groups.settings.tokens.aws import select_aws

    return select_aws(settings)


# librdkafka's names of metadata endpoints, and one more for Google Cloud.
_CLOUDS: Final[Mapping[str, Select]] = {"azure_imds": _select_azure, "gcp": _select_gcp}
# Java's handlers that fetch tokens of a cloud.
_HANDLERS: Final[Mapping[str, Select]] = {**dict.fromkeys(IAM_HANDLERS, _select_aws), GCP_HANDLER: _select_gcp}
_SOURCES: Final[Mapping[str, Select]] = {
    TOKEN_COMMAND: _select_command,
    ENDPOINT: _select_by_url,
    UNSECURED: _select_unsecured,
    METADATA: _select_cloud,
    LOGIN_HANDLER: _select_by_handler,
}

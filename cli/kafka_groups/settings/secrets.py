"""The secrets that a connection needs: fetched when they are used, and warnings about those that others can see."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

from kafka_groups.errors import ConfigProviderError
from kafka_groups.settings.file_access import describe_readers
from kafka_groups.settings.limits import Limit
from kafka_groups.settings.pairs import FLAG, PASSWORD_KEYS, Setting, has_effect, with_jaas_credentials
from kafka_groups.settings.profile_variables import without_newline
from kafka_groups.settings.properties import GCP_HANDLER, IAM_HANDLERS, LOGIN_HANDLER, TOKEN_KEYS, TOKEN_SOURCE_KEYS
from kafka_groups.settings.sources import MergedSettings
from kafka_groups.settings.values import VARIABLE

_JAAS: Final = "sasl.jaas.config"
_ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"
# Secrets that only an identity provider gets, or that sign what it gets.
_CLIENT_SECRETS: Final = frozenset(
    {
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.private.key.pem",
        "sasl.oauthbearer.client.credentials.client.secret",
    }
)
_CLOUD_HANDLERS: Final = frozenset({GCP_HANDLER, *IAM_HANDLERS})
_OTHER_SOURCES: Final = frozenset(TOKEN_SOURCE_KEYS) - {_ENDPOINT}
# Values with which a property names no source of tokens.
_OFF: Final = frozenset({"", "0", "f", "false", "none"})
# The password of a store, and the property that names the store.
_STORES: Final[Mapping[str, str]] = {
    "ssl.keystore.password": "ssl.keystore.location",
    "ssl.truststore.password": "ssl.truststore.location",
}
# Properties whose value is a secret as a whole. Of a JAAS text, the properties are warned of that it stands for.
_WHOLE_SECRETS: Final = frozenset(
    {
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.password",
        "ssl.key.password",
        "ssl.keystore.password",
    }
)
# PEM text is hidden in every output, and only a private key in it is a secret.
_PEM_TEXTS: Final = frozenset(
    {"sasl.oauthbearer.assertion.private.key.pem", "ssl.keystore.certificate.chain", "ssl.keystore.key"}
)


def use_secrets(merged: MergedSettings, keys: Collection[str], protocol: str) -> tuple[MergedSettings, tuple[str, ...]]:
    """Return the settings with the secrets that a client needs, and warnings about those that others can read.

    `keys` are the properties that the client uses. Raises the problem of a needed setting without a value, and
    ConfigProviderError for a command that fails.
    """
    fetched = _fetch_secrets(merged, keys, protocol)
    return fetched, _find_exposed(fetched.settings, keys, protocol)


def _fetch_secrets(merged: MergedSettings, keys: Collection[str], protocol: str) -> MergedSettings:
    """Return the settings with what the commands of secret properties print; only those run that are needed.

    The commands together have the time of one timeout.
    """
    settings = dict(merged.settings)
    limit: Limit | None = None
    for key, setting in merged.settings.items():
        is_needed = key in keys and _is_needed(key, merged.settings, protocol)
        if is_needed and setting.problem is not None:
            raise setting.problem
        if setting.command is None:
            continue
        del settings[key]
        if is_needed:
            limit = limit or Limit.after(merged.timeout_s())
            settings[key] = _run(setting, limit)
    jaas = merged.settings.get(_JAAS)
    if jaas is not None and jaas.command is not None and _JAAS in settings:
        settings = with_jaas_credentials(settings)
    return merged._replace(settings=settings)


def _find_exposed(settings: Mapping[str, Setting], keys: Collection[str], protocol: str) -> tuple[str, ...]:
    """Return a warning for each place from which others can read a secret that the client uses."""
    places: dict[str, dict[str, None]] = {}
    for key, setting in settings.items():
        if key in keys and setting.origin and _holds_secret(key, setting.value) and _is_needed(key, settings, protocol):
            # Properties of one JAAS text have one source.
            name = _JAAS if _JAAS in setting.source else key
            places.setdefault(setting.origin, {})[name] = None
    warnings = [
        _describe_flags(names) if place == FLAG else describe_readers(Path(place), [*names])
        for place, names in places.items()
    ]
    return tuple(warning for warning in warnings if warning is not None)


def _is_needed(key: str, settings: Mapping[str, Setting], protocol: str) -> bool:
    """Return whether the security protocol and the mechanism use a property."""
    if not has_effect(key, protocol):
        return False
    mechanism = settings["sasl.mechanism"].value.upper() if "sasl.mechanism" in settings else ""
    has_password = mechanism == "PLAIN" or mechanism.startswith("SCRAM-")
    if key == _JAAS:
        return not (has_password and all(name in settings for name in PASSWORD_KEYS))
    if key in TOKEN_KEYS:
        is_of_provider = key in _CLIENT_SECRETS
        return protocol.startswith("SASL_") and not has_password and (not is_of_provider or _has_provider(settings))
    if key in _STORES:
        return _STORES[key] in settings
    return key not in PASSWORD_KEYS or has_password


def _has_provider(settings: Mapping[str, Setting]) -> bool:
    """Return whether tokens come from an identity provider, and not from a file, a command, a cloud or this tool."""
    endpoint = settings.get(_ENDPOINT)
    if endpoint is None or endpoint.value[: len("file:")].lower() == "file:":
        return False
    if LOGIN_HANDLER in settings and settings[LOGIN_HANDLER].value in _CLOUD_HANDLERS:
        return False
    return not any(key in settings and settings[key].value.lower() not in _OFF for key in _OTHER_SOURCES)


def _run(setting: Setting, limit: Limit) -> Setting:
    """Return the setting with the output of its command. Raises ConfigProviderError, which shows none of the output."""
    # Imported here, as most settings have no command.
    from kafka_groups.settings.commands import CommandFailedError, run_command, split_command

    words = split_command(setting.command or "", setting.source)
    # The arguments may be secret, so the error has the name of the program alone.
    place = f"{setting.source}: the command '{words[0]}'"
    try:
        value = without_newline(run_command(words, limit).decode())
    except CommandFailedError as error:
        msg = f"{place} {error}"
    except UnicodeDecodeError:
        msg = f"{place} printed bytes that are not UTF-8; let it print text"
    else:
        if value:
            return setting._replace(value=value, command=None)
        msg = f"{place} printed nothing; correct it, so that it prints the secret"
    raise ConfigProviderError(msg)


def _holds_secret(key: str, value: str) -> bool:
    if key in _PEM_TEXTS:
        return "PRIVATE KEY" in value
    return key in _WHOLE_SECRETS and bool(value) and not VARIABLE.fullmatch(value)


def _describe_flags(keys: Iterable[str]) -> str:
    names = list(keys)
    listed = " and ".join(f"{FLAG} {name}" for name in names)
    shown = "shows a secret" if len(names) == 1 else "show secrets"
    ways = "use a profile or a config file that only you can read"
    if "sasl.password" in names:
        ways += ", or KAFKA_GROUPS_SASL_PASSWORD"
    return f"{listed} {shown} in the list of processes and in the history of the shell; {ways}"

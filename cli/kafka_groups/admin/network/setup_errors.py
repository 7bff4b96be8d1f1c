"""Errors of connections that could not be set up: what the peer did, in which step, the likely cause, the settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kafka_groups.errors import (
    AdminError,
    AuthenticationFailedError,
    BrokerTimeoutError,
    ConnectionFailedError,
    NameNotResolvedError,
    NoConnectionError,
    TlsFailedError,
)
from kafka_groups.protocol.messages import METADATA, SASL_AUTHENTICATE, SASL_HANDSHAKE
from kafka_groups.settings import KerberosCredentials, TokenCredentials
from kafka_groups.settings.properties import NETWORK_KEYS, SERVICE_NAME, TOKEN_KEYS, canonical_name
from kafka_groups.settings.values import VARIABLE, VARIABLE_PREFIX

if TYPE_CHECKING:
    from kafka_groups.admin.network.channel import Channel
    from kafka_groups.admin.network.request import InFlight
    from kafka_groups.settings import ConnectionSettings, Endpoint, SaslCredentials

_SASL: Final = (SASL_HANDSHAKE, SASL_AUTHENTICATE)
# Properties of Kafka's clients that this tool does not use, by the error of the step that they concern. A name that
# ends with a dot stands for all properties that begin with it.
_UNUSED: Final[Mapping[type[AdminError], Sequence[str]]] = {
    NameNotResolvedError: ("bootstrap.resolve.timeout.ms", "broker.address.family"),
    BrokerTimeoutError: (
        "broker.address.family",
        "default.api.timeout.ms",
        "request.timeout.ms",
        "socket.connection.setup.timeout.max.ms",
        "socket.timeout.ms",
    ),
    NoConnectionError: ("broker.address.family",),
    ConnectionFailedError: ("api.version.", "broker.version.fallback"),
    TlsFailedError: ("security.providers", "ssl."),
    AuthenticationFailedError: ("sasl.client.", "sasl.login.", "security.providers"),
}
_PROPERTY: Final = re.compile(r"[a-z]+(?:\.[a-z]+)+")
# A password of a key store has no part in a connection.
_IRRELEVANT: Final = ("ssl.key.password", "ssl.keystore.password", "ssl.truststore.password")


def unresolved(host: str, timeout_s: float) -> NameNotResolvedError:
    """Return the error of a host name whose lookup takes too long."""
    return NameNotResolvedError(f"the host name '{host}' was not resolved {_within(timeout_s)}")


def not_set_up(channel: Channel | None, in_flight: Collection[InFlight], timeout_s: float) -> BrokerTimeoutError:
    """Return the error of a connection that takes too long; `in_flight` are its requests."""
    if channel is None or not channel.is_connected:
        return BrokerTimeoutError(f"did not accept the connection {_within(timeout_s)}")
    step = open_step(channel, in_flight)
    cause = "" if channel.is_open else "; the listener may not use TLS, or may not be Kafka's"
    return BrokerTimeoutError(f"accepted the connection but did not respond{step} {_within(timeout_s)}{cause}")


def open_step(channel: Channel, in_flight: Collection[InFlight]) -> str:
    """Return the step to which a connected peer has not responded, as the end of a sentence; empty if it is the first.

    Only a channel with TLS is connected and not open.
    """
    if not channel.is_open:
        return " to the TLS handshake"
    return " to SASL" if any(each.request.api in _SASL for each in in_flight) else ""


def closed_at_once(channel: Channel | None, error: AdminError) -> bool:
    """Return whether the peer closed an open connection without a response."""
    return channel is not None and channel.is_open and not channel.received and type(error) is ConnectionFailedError


def with_cause(
    error: AdminError, channel: Channel | None, in_flight: Collection[InFlight], credentials: SaslCredentials | None
) -> AdminError:
    """Return the error of a connection that is lost before its first response to an operation, with step and cause.

    A listener with SASL responds to ApiVersions, and closes the connection at a first Metadata request of a client
    without credentials.
    """
    apis = [each.request.api for each in in_flight]
    if channel is None or not isinstance(error, ConnectionFailedError) or len(apis) != 1:
        return error
    if credentials is None and apis == [METADATA]:
        setting = f"security.protocol={channel.sasl_protocol}"
        cause = f"; the listener may require SASL (-X {setting}, and sasl.mechanism)"
    elif credentials is not None and apis == [SASL_HANDSHAKE]:
        setting = f"security.protocol={channel.sasl_protocol.removeprefix('SASL_')}"
        cause = f" at the SaslHandshake request; the listener may not use SASL (-X {setting}), or not "
        cause += f"{credentials.mechanism} (sasl.mechanism)"
    elif credentials is not None and apis == [SASL_AUTHENTICATE]:
        cause = f" at the SaslAuthenticate request; check {_what_to_check(credentials)}, and whether the listener "
        cause += f"supports {credentials.mechanism} (sasl.mechanism); the log of the broker has the reason"
    else:
        return error
    return type(error)(f"{error}{cause}")


def _what_to_check(credentials: SaslCredentials) -> str:
    if isinstance(credentials, TokenCredentials):
        return "the token"
    if isinstance(credentials, KerberosCredentials):
        return f"{SERVICE_NAME} and the clocks"
    return "sasl.username and sasl.password"


def idle_error(idle_timeout_s: float) -> BrokerTimeoutError:
    """Return the error of a broker that sends nothing although responses are outstanding."""
    return BrokerTimeoutError(f"accepted the request but sent nothing for {round(idle_timeout_s, 1):g} s")


def with_settings(error: AdminError, settings: ConnectionSettings, endpoint: Endpoint) -> AdminError:
    """Return the error with the properties of files and profiles that decide the step that failed, or are not used.

    A property decides a step if the error names it, or an alias of it.
    """
    text = str(error)
    named = {canonical_name(word) for word in _PROPERTY.findall(text)} | _deciding(error, text, settings, endpoint)
    # The error of a source of tokens may have the place of a property itself.
    unseen = {name: source for name, source in settings.sources.items() if source not in text}
    see = _list_by_source(unseen, lambda name: name in named and name in NETWORK_KEYS)
    is_tls = settings.tls is not None and not isinstance(error, AuthenticationFailedError) and "certificate" in text
    prefixes = [*_UNUSED.get(type(error), ()), *(_UNUSED[TlsFailedError] if is_tls else ())]
    used = NETWORK_KEYS if isinstance(settings.credentials, TokenCredentials) else NETWORK_KEYS - TOKEN_KEYS
    unused = _list_by_source(settings.sources, lambda name: name not in used and _is_unused(name, prefixes))
    parts = [*(f"see {each}" for each in see), *(f"this tool does not use {each}" for each in unused)]
    is_refused = isinstance(error, AuthenticationFailedError) or "sasl.password" in named
    if is_refused and settings.credentials is not None:
        parts += _unreplaced(settings.sources, settings.credentials)
    return type(error)("; ".join([text, *parts])) if parts else error


def _deciding(error: AdminError, text: str, settings: ConnectionSettings, endpoint: Endpoint) -> set[str]:
    """Return the properties that decide a step, but that its error does not name."""
    names = set()
    if endpoint in settings.bootstrap and isinstance(error, NameNotResolvedError | NoConnectionError):
        names.add("bootstrap.servers")
    if isinstance(error, BrokerTimeoutError):
        names.add("socket.connection.setup.timeout.ms")
    if isinstance(error, NameNotResolvedError) or "mismatch" in text:
        names.add("client.dns.lookup")
    return names


def _unreplaced(sources: Mapping[str, str], credentials: SaslCredentials) -> list[str]:
    """Return that a user name or a password is sent as a variable, as Kafka's clients do."""
    values = credentials.sent_properties
    found = _list_by_source(sources, lambda name: bool(VARIABLE.search(values.get(name, ""))))
    return [f"{each} has a variable ${{…}} that no config provider replaced; check config.providers" for each in found]


def _is_unused(name: str, prefixes: Sequence[str]) -> bool:
    if name in _IRRELEVANT:
        return False
    return any(name == prefix or (prefix.endswith(".") and name.startswith(prefix)) for prefix in prefixes)


def _list_by_source(sources: Mapping[str, str], is_wanted: Callable[[str], bool]) -> list[str]:
    """Return the wanted properties of each file and profile, as text, and the variables of the environment.

    Those of flags are in the command line.
    """
    keys: dict[str, list[str]] = {}
    variables: list[str] = []
    for name, source in sorted(sources.items()):
        place, separator, key = source.rpartition(": ")
        if is_wanted(name) and separator:
            keys.setdefault(place, []).append(key)
        elif is_wanted(name) and source.startswith(VARIABLE_PREFIX):
            variables.append(source)
    return [*(f"{' and '.join(dict.fromkeys(names))} of {place}" for place, names in keys.items()), *variables]


def _within(timeout_s: float) -> str:
    return f"within {max(0.1, round(timeout_s, 1)):g} s"

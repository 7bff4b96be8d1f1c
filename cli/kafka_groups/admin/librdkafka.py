"""librdkafka's clients: how each one is created, and its errors as sentences without secrets.

`lag --time` and the pipeline create their clients here alone. They pass `ClientProperties`, which
`settings/librdkafka.py` translates from the settings of the user. These are texts, so that Spark can send them to its
tasks. What cannot be sent, such as a callback, is added here, in the process that has the client.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from kafka_groups.admin.network.tls_reasons import explain_librdkafka
from kafka_groups.errors import SettingsError
from kafka_groups.settings.librdkafka import ClientProperties
from kafka_groups.settings.limits import Limit
from kafka_groups.settings.masks import MASK, hide_secrets
from kafka_groups.settings.pairs import Setting
from kafka_groups.settings.properties import TOKEN_KEYS, may_be_secret, suggest_property
from kafka_groups.settings.sasl import OAUTHBEARER, token_credentials

Client = TypeVar("Client")
ErrorCallback: TypeAlias = Callable[[KafkaError], None]

# The codes of refused credentials: of librdkafka, and of the broker. librdkafka tries them again and again.
CREDENTIAL_CODES: Final = frozenset({KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED})

_WITHOUT_GROUP: Final[Mapping[str, Any]] = {
    # The library requires a group id. Brokers see it only in a lookup of the coordinator.
    "group.id": "kafka-groups-reads-without-a-group",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "allow.auto.create.topics": False,
    # An offset whose record was deleted is an error. By default, librdkafka would read on at the log end.
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
}
# librdkafka writes logs to stderr.
_WITHOUT_LOGS: Final[Mapping[str, Any]] = {"log_level": 0}

_TOKEN_TIMEOUT_S: Final = 20.0
# How long a token is used if nobody knows when it expires.
_UNKNOWN_LIFETIME_S: Final = 60.0

# The end of a text on connections.
_TIME_IN_STATE: Final = re.compile(r" \(after \d+ms in state [^)]*\)")
_INVALID_VALUE: Final = re.compile(r'(?<=^Invalid value ").*(?=" for configuration property )', re.DOTALL)
_UNKNOWN_PROPERTY: Final = re.compile(r'No such configuration property: "([^"]+)"')


def ignore_error(_error: KafkaError) -> None:
    """Ignore an error of the whole client: the caller gets the errors of its requests."""


def open_consumer(
    create: Callable[[dict[str, Any]], Client],
    properties: ClientProperties,
    reading: Mapping[str, Any],
    *,
    on_error: ErrorCallback = ignore_error,
) -> Client:
    """Return a consumer that joins no group, commits nothing and prints nothing; `create` is librdkafka's Consumer.

    `reading` are the properties of one way to read: isolation level, sizes and times of fetches. `on_error` receives
    errors of the whole client. Raises SettingsError if librdkafka refuses a property.
    """
    return _open(create, properties, {**_WITHOUT_GROUP, **reading}, on_error)


def open_admin_client(properties: ClientProperties, *, on_error: ErrorCallback = ignore_error) -> AdminClient:
    """Return an Admin client that prints nothing. Raises SettingsError if librdkafka refuses a property."""
    return _open(AdminClient, properties, {}, on_error)


def describe_error(error: KafkaError, properties: ClientProperties) -> str:
    """Return the text of an error: without secrets and times, with the next step after a failed TLS handshake."""
    return explain_librdkafka(_TIME_IN_STATE.sub("", mask_secrets(error.str(), properties)))


def mask_secrets(text: str, properties: ClientProperties) -> str:
    """Return the text without the value of any property that may be secret."""
    return hide_secrets(text, (value for key, value in properties.items() if may_be_secret(key)))


def _open(
    create: Callable[[dict[str, Any]], Client],
    properties: ClientProperties,
    own: Mapping[str, Any],
    on_error: ErrorCallback,
) -> Client:
    own = {**own, **_WITHOUT_LOGS, "error_cb": on_error}
    if properties.get("sasl.mechanism") == OAUTHBEARER:
        own["oauth_cb"] = _token_callback(properties)
        properties = {key: value for key, value in properties.items() if key not in TOKEN_KEYS}
    try:
        return create({**properties, **own})
    except (KafkaException, ValueError, TypeError) as error:
        reason = error.args[0].str() if isinstance(error, KafkaException) else str(error)
        msg = f"librdkafka refuses the connection properties: {_describe_refusal(reason, properties)}"
        raise SettingsError(msg) from None


def _token_callback(properties: ClientProperties) -> Callable[[str], tuple[str, float, str, dict[str, str]]]:
    """Return what librdkafka calls for a token, at first and after 80 % of the lifetime of each.

    The source is selected in this process, because neither a callback nor a source can be sent to a task of Spark.
    """
    credentials = token_credentials({key: Setting(value, key) for key, value in properties.items()})

    def fetch(_config: str) -> tuple[str, float, str, dict[str, str]]:
        token = credentials.source.fetch(Limit.after(_TOKEN_TIMEOUT_S))
        expires_at = time.time() + _UNKNOWN_LIFETIME_S if token.expires_at is None else token.expires_at
        # librdkafka requires a name of the user, and sends it nowhere.
        return token.text, expires_at, token.subject or "kafka-groups", dict(credentials.extensions)

    return fetch


def _describe_refusal(reason: str, properties: ClientProperties) -> str:
    """Return why librdkafka refuses properties, without secrets, also without one that is in the wrong property."""
    unknown = _UNKNOWN_PROPERTY.search(reason)
    hint = suggest_property(unknown[1]) if unknown else ""
    return _INVALID_VALUE.sub(MASK, mask_secrets(reason, properties)) + hint

"""librdkafka's clients: how each one is created, and its errors as sentences without secrets.

`lag --time` and the pipeline create their clients here alone. They pass `ClientProperties`, which
`settings/librdkafka.py` translates from the settings of the user. These are texts, so that Spark can send them to its
tasks. What cannot be sent, such as a callback, is added here, in the process that has the client.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from kafka_groups.admin.network.tls_reasons import explain_librdkafka
from kafka_groups.admin.network.tokens import TokenFetch
from kafka_groups.errors import AuthenticationFailedError, MissingFeatureError, SettingsError, TokenFailedError
from kafka_groups.settings.kerberos import GSSAPI
from kafka_groups.settings.librdkafka import ClientProperties
from kafka_groups.settings.limits import Limit
from kafka_groups.settings.masks import MASK, hide_secrets
from kafka_groups.settings.pairs import Setting
from kafka_groups.settings.properties import TOKEN_KEYS, may_be_secret, suggest_property
from kafka_groups.settings.sasl import OAUTHBEARER, token_credentials
from kafka_groups.settings.tokens.token import Token, TokenSource

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

# How long a token may take.
TOKEN_TIMEOUT_S: Final = 20.0
# How soon librdkafka asks again after a token could not be fetched.
_RETRY_S: Final = 10.0
_TICK_S: Final = 0.05
_LONGEST_JOIN_S: Final = 1.0
# How long a token is used if nobody knows when it expires.
_UNKNOWN_LIFETIME_S: Final = 60.0

# The feature of librdkafka's property builtin.features that is Kerberos; librdkafka refuses it if it is not built in.
_KERBEROS_FEATURE: Final[Mapping[str, str]] = {"builtin.features": "sasl_gssapi"}

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
    token_timeout_s: float = TOKEN_TIMEOUT_S,
) -> Client:
    """Return a consumer that joins no group, commits nothing and prints nothing; `create` is librdkafka's Consumer.

    `reading` are the properties of one way to read: isolation level, sizes and times of fetches. `on_error` receives
    errors of the whole client. Raises SettingsError if librdkafka refuses a property, and TokenFailedError if the user
    logs in with a token that cannot be fetched in time. For a Kerberos user it raises MissingFeatureError if librdkafka
    is built without Kerberos.
    """
    return _open(create, properties, {**_WITHOUT_GROUP, **reading}, on_error, token_timeout_s)


def open_admin_client(
    properties: ClientProperties, *, on_error: ErrorCallback = ignore_error, token_timeout_s: float = TOKEN_TIMEOUT_S
) -> AdminClient:
    """Return an Admin client that prints nothing. Raises the errors of `open_consumer`."""
    return _open(AdminClient, properties, {}, on_error, token_timeout_s)


def require_features(properties: ClientProperties) -> None:
    """Raise MissingFeatureError if librdkafka is built without what the properties need. Nothing is sent.

    The wheels of confluent-kafka are built without libsasl2, and so without Kerberos.
    """
    if properties.get("sasl.mechanism") != GSSAPI:
        return
    try:
        AdminClient({**_KERBEROS_FEATURE, **_WITHOUT_LOGS})
    except KafkaException:
        msg = (
            "records cannot be read with Kerberos (sasl.mechanism=GSSAPI): librdkafka, which reads them, is built "
            "without it, as in the wheels of confluent-kafka; install a librdkafka that has libsasl2 (Debian: "
            "librdkafka-dev), and run pip install --no-binary confluent-kafka confluent-kafka"
        )
        raise MissingFeatureError(msg) from None


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
    token_timeout_s: float,
) -> Client:
    require_features(properties)
    own = {**own, **_WITHOUT_LOGS, "error_cb": on_error}
    if properties.get("sasl.mechanism") == OAUTHBEARER:
        own["oauth_cb"] = _TokenCallback(properties, token_timeout_s)
        properties = {key: value for key, value in properties.items() if key not in TOKEN_KEYS}
    try:
        return create({**properties, **own})
    except (KafkaException, ValueError, TypeError) as error:
        reason = error.args[0].str() if isinstance(error, KafkaException) else str(error)
        msg = f"librdkafka refuses the connection properties: {_describe_refusal(reason, properties)}"
        raise SettingsError(msg) from None


class _TokenCallback:
    """What librdkafka calls for a token: at first, and when 80 % of a token's lifetime are over.

    The source is selected in this process, because neither a callback nor a source can be sent to a task of Spark.
    """

    def __init__(self, properties: ClientProperties, timeout_s: float) -> None:
        """Fetch the first token; TokenFailedError if there is none: an exception of a callback ends the process."""
        self._credentials = token_credentials({key: Setting(value, key) for key, value in properties.items()})
        self._timeout_s = timeout_s
        self._next: Token | None = self._fetch()
        self._last = self._next

    def __call__(self, _config: str) -> tuple[str, float, str, dict[str, str]]:
        """Return a token, when it expires in seconds since 1970, the name of the user, and SASL extensions."""
        expires_at = None
        if self._next is None:
            try:
                self._last = self._fetch()
            except AuthenticationFailedError:
                # The broker decides whether the old token is still valid. librdkafka asks again soon.
                expires_at = time.time() + _RETRY_S
        self._next = None
        token = self._last
        expires_at = expires_at or token.expires_at or time.time() + _UNKNOWN_LIFETIME_S
        # librdkafka requires the name of a user, and sends it nowhere.
        return token.text, expires_at, token.subject or "kafka-groups", dict(self._credentials.extensions)

    def _fetch(self) -> Token:
        source = self._credentials.source
        token = _wait_for_token(source, self._timeout_s)
        if token.expires_at is not None and token.expires_at <= time.time():
            # librdkafka would refuse it, in words that name no source.
            msg = f"the token of {source.place} has expired; get a new one"
            raise TokenFailedError(msg)
        return token


def _wait_for_token(source: TokenSource, timeout_s: float) -> Token:
    """Return a token. Raises TokenFailedError after the timeout, whatever the source waits for."""
    has_ended = threading.Event()
    fetch = TokenFetch(source, Limit.after(timeout_s), has_ended.set)
    try:
        while (token := fetch.result()) is None:
            has_ended.wait(_TICK_S)
    finally:
        # A signal may have come, and the command of a source ends with its fetch.
        fetch.cancel(_LONGEST_JOIN_S)
    return token


def _describe_refusal(reason: str, properties: ClientProperties) -> str:
    """Return why librdkafka refuses properties, without secrets, also without one that is in the wrong property."""
    unknown = _UNKNOWN_PROPERTY.search(reason)
    hint = suggest_property(unknown[1]) if unknown else ""
    return _INVALID_VALUE.sub(MASK, mask_secrets(reason, properties)) + hint

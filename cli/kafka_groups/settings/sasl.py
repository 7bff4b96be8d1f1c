"""SASL credentials: a user with a password, a source of tokens, or a Kerberos principal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from kafka_groups.errors import SettingsError
from kafka_groups.settings.kerberos import GSSAPI, KerberosCredentials, kerberos_credentials
from kafka_groups.settings.pairs import Setting
from kafka_groups.settings.properties import CLIENT_HANDLER, IAM_HANDLERS, LOGIN_HANDLER, TOKEN_KEYS
from kafka_groups.settings.values import hint_of_variable, is_utf8

if TYPE_CHECKING:
    from kafka_groups.settings.tokens.token import TokenSource

OAUTHBEARER: Final = "OAUTHBEARER"
# Java's mechanism of Amazon MSK. Its brokers also take the tokens of OAUTHBEARER, which this tool sends.
AWS_MSK_IAM: Final = "AWS_MSK_IAM"
TOKEN_MECHANISMS: Final = frozenset({OAUTHBEARER, AWS_MSK_IAM})
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", OAUTHBEARER, AWS_MSK_IAM, GSSAPI)
SUPPORTED: Final = f"{', '.join(MECHANISMS[:-1])} or {MECHANISMS[-1]}"


@dataclass(frozen=True, kw_only=True, slots=True)
class PasswordCredentials:
    """A user, a password, and the SASL mechanism that proves to the broker that the client knows the password.

    With `is_delegation_token` they are the ID and the HMAC of a delegation token (KIP-48).
    """

    mechanism: str
    username: str
    password: str = field(repr=False)
    is_delegation_token: bool = False

    @property
    def identity(self) -> str:
        """Who logs in, as errors name it."""
        return f"user '{self.username}'"

    @property
    def sent_properties(self) -> Mapping[str, str]:
        """The properties whose values go to the broker."""
        return {"sasl.username": self.username, "sasl.password": self.password}


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenCredentials:
    """A source of bearer tokens, and the extensions that go to the broker with each of them.

    `properties` are the user's, by canonical names, from which another process can select the source again.
    """

    source: TokenSource
    extensions: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    mechanism: str = OAUTHBEARER

    @property
    def identity(self) -> str:
        """Who logs in, as errors name it."""
        return self.source.place

    @property
    def sent_properties(self) -> Mapping[str, str]:
        """The properties that decide which token goes to the broker."""
        return self.properties


SaslCredentials: TypeAlias = PasswordCredentials | TokenCredentials | KerberosCredentials


def sasl_credentials(settings: Mapping[str, Setting], protocol: Setting) -> SaslCredentials:
    """Return the credentials that a security protocol with SASL needs.

    Raises SettingsError for a property that is missing, and for a mechanism that is not supported.
    """
    mechanism = _mechanism(require_mechanism(settings, protocol, SUPPORTED))
    if mechanism in TOKEN_MECHANISMS:
        return token_credentials(settings)
    if mechanism == GSSAPI:
        return kerberos_credentials(settings)
    check_jaas(settings)
    return PasswordCredentials(
        mechanism=mechanism,
        username=_require(settings, "sasl.username", protocol),
        password=_require(settings, "sasl.password", protocol),
        is_delegation_token=mechanism.startswith("SCRAM-") and has_delegation_token(settings),
    )


def token_credentials(settings: Mapping[str, Setting]) -> TokenCredentials:
    """Return the credentials of OAUTHBEARER, also for AWS_MSK_IAM.

    Raises SettingsError if the settings name no source of tokens.
    """
    from kafka_groups.settings.tokens.extensions import parse_extensions
    from kafka_groups.settings.tokens.selection import select_source

    settings = _with_login_handler(settings)
    try:
        source = select_source(settings)
    except SettingsError:
        _refuse_unread_jaas(settings)
        raise
    return TokenCredentials(
        source=source,
        extensions=parse_extensions(settings),
        properties={name: setting.value for name, setting in settings.items() if name in TOKEN_KEYS},
    )


def _refuse_unread_jaas(settings: Mapping[str, Setting]) -> None:
    """Raise SettingsError for a `sasl.jaas.config` without options that can be read: what is missing may be there.

    The source of Amazon MSK refuses such a text itself.
    """
    jaas = settings.get("sasl.jaas.config")
    handler = settings.get(LOGIN_HANDLER)
    if jaas is None or not jaas.value or (handler is not None and handler.value in IAM_HANDLERS):
        return
    from kafka_groups.settings.jaas import parse_jaas

    if problem := parse_jaas(jaas.value).find_token_problem():
        msg = f"{jaas.source}: {problem}{hint_of_variable(jaas.value)}"
        raise SettingsError(msg) from None


def _with_login_handler(settings: Mapping[str, Setting]) -> Mapping[str, Setting]:
    """Return the settings with the class of Amazon MSK, if its mechanism or its other class names it.

    The process that has librdkafka's client gets the class, and not the mechanism.
    """
    for key in ("sasl.mechanism", CLIENT_HANDLER):
        setting = settings.get(key)
        if setting is not None and (setting.value in IAM_HANDLERS or setting.value.upper() == AWS_MSK_IAM):
            return {**settings, LOGIN_HANDLER: setting._replace(value=IAM_HANDLERS[0])}
    return settings


def check_jaas(settings: Mapping[str, Setting]) -> None:
    """Raise SettingsError for a `sasl.jaas.config` without a user and a password that no other property has either."""
    jaas = settings.get("sasl.jaas.config")
    if jaas is None or all(f"sasl.{name}" in settings for name in ("username", "password")):
        return
    from kafka_groups.settings.jaas import parse_jaas

    if problem := parse_jaas(jaas.value).find_problem():
        msg = f"{jaas.source}: {problem}"
        raise SettingsError(msg)


def has_delegation_token(settings: Mapping[str, Setting]) -> bool:
    """Return whether the user is the ID of a delegation token: the JAAS text that names it has `tokenauth=true`."""
    jaas = settings.get("sasl.jaas.config")
    user = settings.get("sasl.username")
    if jaas is None or user is None or user.source != jaas.source:
        return False
    from kafka_groups.settings.jaas import parse_jaas

    return parse_jaas(jaas.value).is_delegation_token()


def require_mechanism(settings: Mapping[str, Setting], protocol: Setting, supported: str) -> Setting:
    """Return the SASL mechanism; SettingsError if it is not set, with the text `supported`."""
    setting = settings.get("sasl.mechanism")
    if setting is None:
        msg = f"{protocol.source}={protocol.value} needs sasl.mechanism, which is not set; set it to {supported}"
        raise SettingsError(msg)
    return setting


def _mechanism(setting: Setting) -> str:
    if setting.value.upper() not in MECHANISMS:
        msg = f"{setting.source}={setting.value} is not supported; write {SUPPORTED}{hint_of_variable(setting.value)}"
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

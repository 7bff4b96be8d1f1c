"""SASL in librdkafka's properties, and what librdkafka does not support of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NoReturn

from kafka_groups.errors import SettingsError
from kafka_groups.settings.kerberos import GSSAPI, KerberosCredentials, check_kerberos
from kafka_groups.settings.pairs import Setting
from kafka_groups.settings.properties import KEYTAB
from kafka_groups.settings.sasl import (
    TOKEN_MECHANISMS,
    SaslCredentials,
    TokenCredentials,
    check_jaas,
    has_delegation_token,
    require_mechanism,
    token_credentials,
)

_MECHANISMS: Final = (
    "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or AWS_MSK_IAM (GSSAPI needs a confluent-kafka whose librdkafka "
    "is built with it; that of the published wheels is not)"
)
# librdkafka drops these at the start of every value.
_BLANKS: Final = frozenset(" \t\n\v\f\r")
_DROPS_BLANKS: Final = "drops blanks at the start of {names}; use a user without them"
_NO_DELEGATION_TOKENS: Final = (
    "does not support delegation tokens (tokenauth); set the user name and the password of a SCRAM user"
)
# By default librdkafka runs kinit with a keytab. With 0 it uses the user's ticket cache as it is.
_AS_IT_IS: Final[Mapping[str, str]] = {"sasl.kerberos.min.time.before.relogin": "0"}


def sasl_properties(credentials: SaslCredentials) -> dict[str, str]:
    """Return the properties of credentials. Raises SettingsError for credentials that librdkafka does not support."""
    if isinstance(credentials, TokenCredentials):
        return {**credentials.properties, "sasl.mechanism": credentials.mechanism}
    if isinstance(credentials, KerberosCredentials):
        return _kerberos_properties(credentials)
    problem = _NO_DELEGATION_TOKENS
    if not credentials.is_delegation_token:
        if not {credentials.username[:1], credentials.password[:1]} & _BLANKS:
            return {
                "sasl.mechanism": credentials.mechanism,
                "sasl.username": credentials.username,
                "sasl.password": credentials.password,
            }
        problem = _DROPS_BLANKS.format(names="user names and passwords")
    msg = f"records cannot be read: librdkafka, which reads them, {problem}"
    raise SettingsError(msg)


def _kerberos_properties(credentials: KerberosCredentials) -> dict[str, str]:
    properties = {**credentials.sent_properties, "sasl.mechanism": credentials.mechanism}
    return properties if credentials.keytab is not None else {**properties, **_AS_IT_IS}


def ticket_cache_properties(settings: Mapping[str, Setting]) -> Mapping[str, str]:
    """Return the properties of a Kerberos user without a keytab, none for other users."""
    has_login = any(name in settings for name in (KEYTAB, "sasl.kerberos.kinit.cmd", *_AS_IT_IS))
    return {} if has_login or settings["sasl.mechanism"].value.upper() != GSSAPI else _AS_IT_IS


def check_sasl(settings: Mapping[str, Setting]) -> None:
    """Raise SettingsError for credentials that librdkafka cannot use."""
    mechanism = require_mechanism(settings, settings["security.protocol"], _MECHANISMS).value.upper()
    if mechanism in TOKEN_MECHANISMS:
        token_credentials(settings)
        return
    if mechanism == GSSAPI:
        check_kerberos(settings)
        return
    if mechanism != "PLAIN" and not mechanism.startswith("SCRAM-"):
        # Their properties are librdkafka's own, and a JAAS text beside them is Java's.
        return
    check_jaas(settings)
    if has_delegation_token(settings):
        refuse_setting(settings["sasl.jaas.config"], _NO_DELEGATION_TOKENS)
    for key in ("sasl.username", "sasl.password"):
        if key in settings and settings[key].value[:1] in _BLANKS:
            refuse_setting(settings[key], _DROPS_BLANKS.format(names=key))


def refuse_setting(setting: Setting, problem: str) -> NoReturn:
    """Raise SettingsError for a setting of the pipeline; `problem` says what librdkafka does."""
    msg = f"{setting.source}: librdkafka, which reads topics for the pipeline, {problem}"
    raise SettingsError(msg)

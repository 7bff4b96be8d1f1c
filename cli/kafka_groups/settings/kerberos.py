"""Kerberos credentials from properties, and from the options of Java's Krb5LoginModule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kafka_groups.errors import KerberosMissingError, SettingsError
from kafka_groups.settings.pairs import Setting
from kafka_groups.settings.properties import KEYTAB, PRINCIPAL, SERVICE_NAME
from kafka_groups.settings.values import is_utf8

GSSAPI: Final = "GSSAPI"
_MISSING: Final = (
    "Kerberos (sasl.mechanism=GSSAPI) needs the library gssapi, which is not installed; run "
    "pip install 'kafka-groups[kerberos]', which on Linux needs a compiler and Kerberos's headers "
    "(Debian: apt-get install gcc python3-dev libkrb5-dev), or install your system's package (Debian: python3-gssapi)"
)
_SERVICE: Final = "kafka"


@dataclass(frozen=True, kw_only=True, slots=True)
class KerberosCredentials:
    """A Kerberos principal that has a ticket in the user's ticket cache, or a key in the file `keytab`.

    `principal` is None for that of the cache, or the first one of the keytab. The brokers have the principals
    `service`/HOST.
    """

    service: str = "kafka"
    principal: str | None = None
    keytab: str | None = None
    mechanism: str = GSSAPI

    @property
    def identity(self) -> str:
        """Who logs in, as errors name it."""
        if self.principal:
            return f"the Kerberos principal {self.principal}"
        return f"the keytab {self.keytab}" if self.keytab else "the Kerberos ticket cache"

    @property
    def sent_properties(self) -> Mapping[str, str]:
        """The properties that decide which ticket goes to the broker."""
        values = {SERVICE_NAME: self.service, PRINCIPAL: self.principal, KEYTAB: self.keytab}
        return {name: value for name, value in values.items() if value is not None}


def kerberos_credentials(settings: Mapping[str, Setting]) -> KerberosCredentials:
    """Return the credentials of GSSAPI. Raises SettingsError for settings that cannot be used.

    The same error has the lines that install the library if it is missing.
    """
    check_kerberos(settings)
    if not has_library():
        raise KerberosMissingError(_MISSING)
    return KerberosCredentials(
        service=_text(settings, SERVICE_NAME) or _SERVICE,
        principal=_text(settings, PRINCIPAL),
        keytab=_text(settings, KEYTAB),
    )


def has_library() -> bool:
    """Return whether the library of the extra `kerberos` is installed."""
    # Imported here, as most users have no Kerberos.
    from importlib.util import find_spec

    return find_spec("gssapi") is not None


def check_kerberos(settings: Mapping[str, Setting]) -> None:
    """Raise SettingsError for a JAAS text that is not Kerberos's, or that asks for what this tool does not do."""
    jaas = settings.get("sasl.jaas.config")
    if jaas is None:
        return
    from kafka_groups.settings.jaas import parse_jaas

    if problem := parse_jaas(jaas.value).find_kerberos_problem(has_keytab=KEYTAB in settings):
        msg = f"{jaas.source}: {problem}"
        raise SettingsError(msg)


def _text(settings: Mapping[str, Setting], key: str) -> str | None:
    setting = settings.get(key)
    if setting is None:
        return None
    if "\0" in setting.value or not is_utf8(setting.value):
        msg = f"{setting.source} has a NUL character, or is not valid UTF-8; write it in UTF-8"
        raise SettingsError(msg)
    return setting.value or None

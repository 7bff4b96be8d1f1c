"""The settings of commands that also read records, by librdkafka."""

from __future__ import annotations

from typing import Unpack

from kafka_groups.errors import KerberosMissingError, MissingFeatureError
from kafka_groups.settings import ConnectionSettings, resolve_settings
from kafka_groups.settings.kerberos import GSSAPI
from kafka_groups.settings.sources import Sources


def resolve_with_records(**sources: Unpack[Sources]) -> ConnectionSettings:
    """Resolve the settings; the error of a Kerberos user names the missing libraries of both clients at once.

    Raises SettingsError, and MissingFeatureError if librdkafka is built without Kerberos, and gssapi is missing.
    """
    try:
        return resolve_settings(**sources)
    except KerberosMissingError as error:
        from kafka_groups.admin.librdkafka import require_features

        try:
            require_features({"sasl.mechanism": GSSAPI})
        except MissingFeatureError as missing:
            msg = f"{error}; besides, {missing}"
            raise MissingFeatureError(msg) from None
        raise

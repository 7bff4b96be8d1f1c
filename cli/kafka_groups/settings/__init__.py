"""Connection settings: their sources, and which source wins.

-b and -X take precedence over the profile, and the profile over the config file. Those that `--profile` and `--config`
name take the place of the environment's; else the environment's bootstrap servers precede its profile.
Every source is flattened to dotted property names, as Java's and librdkafka's clients spell them.
"""

from __future__ import annotations

from kafka_groups.settings.connection import ConnectionSettings, resolve_settings, settings_from
from kafka_groups.settings.kerberos import KerberosCredentials
from kafka_groups.settings.profiles import profiles_file
from kafka_groups.settings.sasl import PasswordCredentials, SaslCredentials, TokenCredentials
from kafka_groups.settings.tls import Tls
from kafka_groups.settings.values import Endpoint, parse_bootstrap, parse_duration

__all__ = [
    "ConnectionSettings",
    "Endpoint",
    "KerberosCredentials",
    "PasswordCredentials",
    "SaslCredentials",
    "Tls",
    "TokenCredentials",
    "parse_bootstrap",
    "parse_duration",
    "profiles_file",
    "resolve_settings",
    "settings_from",
]

"""The settings of a cluster connection, from the options of a command and the environment."""

from __future__ import annotations

import os

from kafka_groups.options.connection import Connection
from kafka_groups.options.warnings import print_warnings
from kafka_groups.settings import ConnectionSettings, resolve_settings
from kafka_groups.settings.librdkafka import ClientSettings, resolve_client
from kafka_groups.settings.sources import merge_sources


def admin_settings(connection: Connection) -> ConnectionSettings:
    """Return the settings of GroupAdmin, and print their warnings. Raises SettingsError and ConfigProviderError."""
    settings = resolve_settings(**connection.sources())
    print_warnings(settings.warnings)
    return settings


def librdkafka_settings(connection: Connection) -> ClientSettings:
    """Return the settings of a client of librdkafka, and print their warnings.

    Raises SettingsError and ConfigProviderError.
    """
    settings = resolve_client(**connection.sources())
    print_warnings(settings.warnings)
    return settings


def check_timeout(connection: Connection) -> None:
    """Raise SettingsError for an invalid timeout, even if no cluster is named."""
    merge_sources({}, connection.sources()).timeout_s()


def names_cluster(connection: Connection) -> bool:
    """Return whether an option or a variable of the environment names a cluster."""
    option_values = (connection.bootstrap_server, connection.config, connection.profile, connection.properties)
    variable_names = ("BOOTSTRAP_SERVER", "CONFIG", "PROFILE")
    return any(option_values) or any(os.environ.get(f"KAFKA_GROUPS_{name}") for name in variable_names)

"""The options that name a cluster, as decorators; they arrive as one `Connection`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kafka_groups.options import offer
from kafka_groups.options.parameters import NAME, combine_options

if TYPE_CHECKING:
    from kafka_groups.settings.sources import Sources

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Connection:
    """The connection options; None if an option is not given."""

    bootstrap_server: str | None
    config: str | None
    # A property may be a password.
    properties: tuple[str, ...] = field(repr=False)
    profile: str | None
    timeout: str | None

    def sources(self) -> Sources:
        """Return the sources of the connection's settings: these options, then the environment."""
        return {
            "bootstrap": self.bootstrap_server,
            "config": self.config,
            "properties": self.properties,
            "profile": self.profile,
            "timeout": self.timeout,
            "environment": os.environ,
        }


def connection_options(function: F) -> F:
    """Add the connection options; they arrive as one `connection`. The timeout is for all requests together."""
    return _with_connection(
        function,
        "Timeout for all requests of the command together",
        "a group or partition without a response is an error, and the others are printed",
    )


def connection_options_per_request(function: F) -> F:
    """Add the connection options to a command that runs without a time limit: the timeout is for each request."""
    return _with_connection(function, "Timeout of each request", "a request that takes longer fails")


def connection_options_per_poll(function: F) -> F:
    """Add the connection options to a command that polls: the timeout is for all requests of each poll."""
    return _with_connection(function, "Timeout for all requests of each poll", "what has no response is an error")


def _with_connection(function: F, timeout: str, expiry: str) -> F:
    for option in (
        click.option(
            "--timeout",
            metavar="DURATION",
            help=f"{timeout}, such as 30s or 500ms: {expiry}. [env: KAFKA_GROUPS_TIMEOUT; default: 30s]",
        ),
        click.option(
            "--profile",
            metavar="NAME",
            type=NAME,
            shell_complete=offer("profiles"),
            help="A table of profiles.toml in the user's configuration directory (Linux: ~/.config/kafka-groups). "
            "[env: KAFKA_GROUPS_PROFILE]",
        ),
        click.option(
            "-X",
            "properties",
            metavar="KEY=VALUE",
            multiple=True,
            help="One connection property. Repeatable. Lists of processes show it to other users: write secrets to a "
            "file for --config or --profile that only you can read. "
            "[env: KAFKA_GROUPS_SASL_PASSWORD, of sasl.password]",
        ),
        click.option(
            "--config",
            "--command-config",
            "config",
            metavar="FILE",
            shell_complete=offer("files"),
            help="A properties file with Java's or librdkafka's key names; certificates only as PEM. "
            "[env: KAFKA_GROUPS_CONFIG]",
        ),
        click.option(
            "-b",
            "--bootstrap-server",
            metavar="HOST:PORT,…",
            help="Brokers to connect to first; the others are found from them. Replaces only the address of --profile, "
            "--config and the environment, not their credentials. [env: KAFKA_GROUPS_BOOTSTRAP_SERVER]",
        ),
    ):
        function = option(function)
    return combine_options(
        function, "connection", Connection, ("bootstrap_server", "config", "properties", "profile", "timeout")
    )

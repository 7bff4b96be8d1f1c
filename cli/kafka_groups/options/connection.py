"""The options that name a cluster, as decorators; they arrive as one `Connection`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from kafka_groups.options import offer
from kafka_groups.options.parameters import NAME, combine_options

if TYPE_CHECKING:
    from kafka_groups.settings.sources import Sources

# The timeout of a command that reads or changes once: what it is for, and what happens when it is over.
_TOGETHER: Final = (
    "Timeout for all requests of the command together",
    "a group or partition without a response is an error, and the others are printed",
)

_SERVERS: Final = "bootstrap.servers"
_PROFILE_HELP: Final = (
    "A table of profiles.toml in the user's configuration directory (Linux: ~/.config/kafka-groups). "
    "[env: KAFKA_GROUPS_PROFILE]"
)

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
    # The profiles of a result of several clusters; `profile` is None then.
    profiles: tuple[str, ...] = ()

    def by_profile(self) -> list[Connection]:
        """Return a connection for each of several clusters."""
        return [replace(self, profile=name, profiles=()) for name in self.profiles]

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


def connection_words(connection: Connection, cluster: str | None) -> Sequence[str]:
    """Return the options with which a command of this tool connects to the same cluster, without any secret.

    `cluster` is the profile of one of several clusters. Properties of -X may be secrets, and are not repeated.
    """
    profile = cluster if connection.profiles else connection.profile
    options = (
        ("--profile", profile),
        ("--config", connection.config),
        ("-b", connection.bootstrap_server),
    )
    return [word for name, value in options if value is not None for word in (name, value)]


def connection_options(function: F) -> F:
    """Add the options of one cluster; they arrive as one `connection`. The timeout is for all requests together."""
    return _with_connection(function, *_TOGETHER)


def clusters_options(function: F) -> F:
    """Add the connection options to a command that reads one or several clusters; the timeout is that of each."""
    return _with_connection(function, *_TOGETHER, several=True)


def connection_options_per_request(function: F) -> F:
    """Add the connection options to a command that runs without a time limit: the timeout is for each request."""
    return _with_connection(function, "Timeout of each request", "a request that takes longer fails")


def connection_options_per_poll(function: F) -> F:
    """Add the connection options to a command that polls: the timeout is for all requests of each poll."""
    timeout = "Timeout for all requests of each poll"
    return _with_connection(function, timeout, "what has no response is an error", several=True)


def _with_connection(function: F, timeout: str, expiry: str, *, several: bool = False) -> F:
    profiles = _profiles_options() if several else (_profile_option(),)
    for option in (
        click.option(
            "--timeout",
            metavar="DURATION",
            help=f"{timeout}, such as 30s or 500ms: {expiry}. [env: KAFKA_GROUPS_TIMEOUT; default: 30s]",
        ),
        *profiles,
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
    names = ("profiles", "all_profiles") if several else ("profile",)
    return combine_options(
        function,
        "connection",
        _read_connection if several else Connection,
        ("bootstrap_server", "config", "properties", "timeout", *names),
    )


def _profile_option() -> Callable[[Any], Any]:
    """Return --profile of a command on one cluster; it arrives as `profile`."""
    return click.option(
        "--profile",
        metavar="NAME",
        type=NAME,
        multiple=True,
        callback=_one_profile,
        shell_complete=offer("profiles"),
        help=_PROFILE_HELP,
    )


def _profiles_options() -> tuple[Callable[[Any], Any], ...]:
    """Return --profile of a command on several clusters, and --all-profiles.

    They arrive as `profiles` and `all_profiles`.
    """
    return (
        click.option(
            "--all-profiles",
            is_flag=True,
            help="All tables of profiles.toml, as several names of --profile.",
        ),
        click.option(
            "--profile",
            "profiles",
            metavar="NAME,…",
            type=NAME,
            multiple=True,
            callback=lambda _context, _parameter, texts: _split(texts),
            shell_complete=offer("profile_list"),
            help=f"{_PROFILE_HELP[:-1]}, one name] Several names are several clusters at once. Repeatable.",
        ),
    )


def _one_profile(context: click.Context, _parameter: click.Parameter, texts: Sequence[str]) -> str | None:
    names = _split(texts)
    if len(names) > 1:
        listed = ", ".join(f"'{name}'" for name in names)
        msg = f"{context.info_name} takes exactly one cluster, and --profile names {listed}; run it once for each"
        raise click.UsageError(msg)
    return names[0] if names else None


def _split(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the names in `a,b`, each once. The only name may be empty, which settings refuse."""
    names = tuple(dict.fromkeys(name.strip() for text in texts for name in text.split(",")))
    if len(names) > 1 and "" in names:
        raise click.UsageError("--profile: a name of the list is empty, such as from a shell variable that is not set")
    return names


def _read_connection(
    *, profiles: tuple[str, ...], all_profiles: bool, timeout: str | None, **others: Any
) -> Connection:
    if not all_profiles and not profiles[1:]:
        return Connection(profile=profiles[0] if profiles else None, timeout=timeout, **others)
    clusters = _read_clusters(profiles, all_profiles=all_profiles, **others)
    return Connection(profile=None, profiles=clusters, timeout=timeout, **others)


def _read_clusters(
    profiles: Sequence[str],
    *,
    all_profiles: bool,
    bootstrap_server: str | None,
    config: str | None,
    properties: Sequence[str],
) -> tuple[str, ...]:
    """Return the profiles of a result of several clusters.

    Raises UsageError for an option that would send credentials of one cluster to another, and SettingsError for an
    unknown profile.
    """
    if all_profiles and profiles:
        raise click.UsageError("--all-profiles contradicts --profile: give one or the other")
    from kafka_groups.settings.pairs import parse_network_pairs
    from kafka_groups.settings.profiles import require_any_profile, require_profiles
    from kafka_groups.settings.properties import is_secret

    option = "--all-profiles" if all_profiles else "several profiles"
    for name, value in (("-b", bootstrap_server), ("--config", config)):
        if value is not None:
            raise _contradiction(name, option)
    for key in parse_network_pairs(properties):
        if key == _SERVERS or is_secret(key):
            flag = f"-X {key}"
            raise _contradiction(flag, option)
    if all_profiles:
        return tuple(require_any_profile())
    require_profiles(profiles)
    return tuple(profiles)


def _contradiction(name: str, option: str) -> click.UsageError:
    text = f"{name} contradicts {option}: credentials of one cluster could reach another; write it to the profiles"
    return click.UsageError(text)

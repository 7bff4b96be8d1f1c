"""Names of groups and topics in the cluster that a command line points to, found while the user waits at a key."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final

from kafka_groups.admin import GroupAdmin
from kafka_groups.errors import AdminError
from kafka_groups.kinds import Operation, supports
from kafka_groups.options.completion.name_cache import NameCache
from kafka_groups.settings import ConnectionSettings, resolve_settings
from kafka_groups.settings.profiles import profile_names

# Seconds since the start of the process: until when a broker must have responded, and until when all must be done.
_SILENCE_S: Final = 0.25
_ALL_S: Final = 1.4
_COMMAND_TIMEOUT: Final = "1s"
# On a slow machine the start alone may take that long.
_LEAST_S: Final = 0.1
# All bootstrap servers are tried at once, but not those of a very long list.
_MOST_SERVERS: Final = 3


def find_names(kind: str, options: Mapping[str, Any]) -> Sequence[str]:
    """Return the names of `groups`, `consumer_groups` or `topics`, from the cache or from the cluster.

    There are none if no broker responds. Names of several clusters are joined; each cluster has a cache of its own.
    Raises KafkaGroupsError for settings of one cluster that cannot be used, and if the request to it fails.
    """
    profiles = _profiles(options)
    if not profiles[1:]:
        return _find_in_cluster(kind, options, profiles[0] if profiles else None)
    found = SimpleQueue[Sequence[str]]()

    def find(profile: str) -> None:
        names: Sequence[str] = ()
        # The caller waits for names of each profile, whatever fails.
        with suppress(Exception):
            names = _find_in_cluster(kind, options, profile)
        found.put(names)

    for profile in profiles:
        Thread(target=find, args=(profile,), daemon=True).start()
    return sorted({name for _ in profiles for name in found.get()})


def _profiles(options: Mapping[str, Any]) -> Sequence[str]:
    if options.get("all_profiles"):
        return profile_names()
    return options.get("profiles") or [name for name in (options.get("profile"),) if name]


def _find_in_cluster(kind: str, options: Mapping[str, Any], profile: str | None) -> Sequence[str]:
    settings = resolve_settings(
        bootstrap=options.get("bootstrap_server"),
        config=options.get("config"),
        properties=options.get("properties") or (),
        profile=profile,
        # A command that prints a password may take a part of the time.
        timeout=_COMMAND_TIMEOUT,
        environment=os.environ,
    )
    cache = NameCache(kind, settings)
    names = cache.read()
    if names is None:
        names, is_complete = _request(kind, settings)
        if is_complete:
            cache.write(names)
    return names


def _request(kind: str, settings: ConnectionSettings) -> tuple[Sequence[str], bool]:
    """Return the names, and whether they are all: a broker that fails lists no groups."""
    # The start takes processor time only, and the process has no other clock of its start.
    started = time.process_time()
    end = time.monotonic() + max(_LEAST_S, _ALL_S - started)
    admin = _connect(settings, silence_s=max(_LEAST_S, _SILENCE_S - started), end=end)
    if admin is None:
        return (), False
    with admin:
        timeout = end - time.monotonic()
        if kind == "topics":
            topics = admin.list_topics(timeout=timeout)
            return sorted(topics.succeeded), not topics.failed
        groups = admin.list_groups(timeout=timeout)
    if kind == "groups":
        return sorted(groups.succeeded), not groups.failed
    names = [name for name, listing in groups.succeeded.items() if supports(listing, Operation.DESCRIBE)]
    return sorted(names), not groups.failed


def _connect(settings: ConnectionSettings, *, silence_s: float, end: float) -> GroupAdmin | None:
    """Return a client that is connected to the first bootstrap server that responds; None if none does."""
    connected = SimpleQueue[GroupAdmin | None]()
    admins = [GroupAdmin(replace(settings, bootstrap=(server,))) for server in settings.bootstrap[:_MOST_SERVERS]]

    def connect(admin: GroupAdmin) -> None:
        try:
            admin.brokers(timeout=end - time.monotonic())
            connected.put(admin)
        except AdminError:
            admin.close()
            connected.put(None)

    def first_connected(until: float) -> GroupAdmin | None:
        while outcomes:
            admin = connected.get(timeout=max(0.0, until - time.monotonic()))
            outcomes.pop()
            if admin is not None:
                return admin
        return None

    outcomes = list(admins)
    for admin in admins:
        Thread(target=connect, args=(admin,), daemon=True).start()
    with suppress(Empty):
        return first_connected(time.monotonic() + silence_s)
    # The first request of a connection is ApiVersions, and the second one needs its response.
    if any(admin.requests_sent.total() > 1 for admin in admins):
        with suppress(Empty):
            return first_connected(end)
    return None

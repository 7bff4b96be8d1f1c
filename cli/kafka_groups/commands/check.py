"""`kafka-groups check`: which step of a connection fails, and what the user may do."""

from __future__ import annotations

import time
from functools import partial
from typing import Final

import click

from kafka_groups.checks.check import Check, Status, Subject
from kafka_groups.checks.connections import check_connections
from kafka_groups.checks.rights import RIGHTS, check_rights, find_rights
from kafka_groups.errors import AdminError
from kafka_groups.groups.selection import Selectors
from kafka_groups.kinds import Operation
from kafka_groups.model import Failure
from kafka_groups.options.cluster_session import ClusterSession
from kafka_groups.options.connection import Connection, clusters_options
from kafka_groups.options.output import output_options, run_on_cluster
from kafka_groups.options.selectors import filter_options, require_selectors, selector_options
from kafka_groups.rendering.columns import Entry
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.views.checks import CHECKS, ITEMS, check_entry
from kafka_groups.rendering.writers import Writer, open_writer

# The connections leave as much time to the requests for rights.
_SHARE_OF_CONNECTIONS: Final = 0.5
_SETTINGS: Final = "settings"
_UNCHECKED: Final = "not checked, because no server was reached"


@click.command(short_help="Check why a connection fails, and rights.")
@selector_options
@filter_options
@output_options()
@clusters_options
def check(*, selectors: Selectors, output_format: str, colour: str, connection: Connection) -> None:
    """Check why a connection fails, and which rights are missing.

    Each bootstrap server is checked step by step: name, address, tls (protocol, certificates and their dates),
    protocol, mechanisms (of SASL), authentication, versions and cluster; then each broker, at the address that it
    advertises. The first step that fails ends the checks of its server, and its DETAIL has the next step. A certificate
    that ends within 30 days is a warning. stderr has the first failure only. Several profiles are checked at the same
    time, and stderr has the first failure of each.

    With ids, --match or --all-groups, the rights of this user are checked, too: on the cluster, on these groups, and on
    the topics with their commits. DETAIL has the commands that work, and the operation that the others need. Brokers
    return these operations (KIP-430), so nothing is tried.

    Needs Kafka 0.11 or newer, and 2.3 for rights. Rights: none for the connection; DESCRIBE on each group and on its
    topics.

    \b
    Examples:
      kafka-groups check -b localhost:9092
      kafka-groups check -b localhost:9092 --format json | jq '.checks[] | select(.status != "ok")'
    """
    if selectors != Selectors():
        require_selectors(selectors)
    run_on_cluster(
        connection,
        partial(_check, selectors),
        colour=colour,
        output_format=output_format,
        make_writer=partial(_make_writer, output_format),
        error_entry=_settings_entry,
    )


def _check(selectors: Selectors, session: ClusterSession) -> None:
    is_selected = selectors != Selectors()
    deadline = session.deadline.share(_SHARE_OF_CONNECTIONS) if is_selected else session.deadline
    evidence = session.admin.check_connections(timeout=deadline)
    checks = check_connections(evidence, time.time())
    if is_selected and evidence.is_reached():
        checks += _check_rights(session, selectors)
    elif is_selected:
        checks.append(Subject().check(RIGHTS, Status.SKIPPED, _UNCHECKED))
    _write(session, checks, is_reached=evidence.is_reached())


def _settings_entry(failure: Failure) -> Entry:
    """Return the row of a cluster that no connection was opened to, because its settings cannot be used."""
    return check_entry(Subject().check(_SETTINGS, Status.FAILED, failure.message))


def _check_rights(session: ClusterSession, selectors: Selectors) -> list[Check]:
    try:
        rights = find_rights(session.admin, selectors, deadline=session.deadline)
    except AdminError as error:
        # The rows of the connections show why.
        return [Subject().failed(RIGHTS, str(error), error)]
    failures, notes = rights.selection.without_deleted(rights.failed)
    session.add_notes([*rights.selection.notes(), *notes])
    suggested = session.suggest_groups(failures, selectors, Operation.DESCRIBE)
    failed = {failure.group: failure for failure in suggested if failure.group is not None}
    return check_rights(rights._replace(failed=failed))


def _write(session: ClusterSession, checks: list[Check], *, is_reached: bool) -> None:
    failures = [each.failure for each in checks if each.failure is not None]
    # The table has the others, too.
    session.printed = frozenset(failures[1:])
    session.write(map(check_entry, checks), total=len(checks), failures=failures, anything_succeeded=is_reached)


def _make_writer(output_format: str, screen: Screen) -> Writer:
    return open_writer(screen, output_format, command="check", view=CHECKS, columns=CHECKS.table(), items=ITEMS)

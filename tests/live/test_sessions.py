"""Sessions that expire (KIP-368) on a real broker: two seconds after each login (tests/live/secured_broker.py).

A client that polls or changes for longer logs in again on its connections, and nobody notices.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.admin.network.channel import Channel
from kafka_groups.model import CommittedOffset
from kafka_groups.settings import settings_from
from tests.fakes.command_line import run
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import commit
from tests.live.secure_broker import SecureBroker
from tests.live.secured_broker import SecuredBroker
from tests.live.ways_in import open_ways_in

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]
# `make proof-access` polls for two minutes.
_POLLING_S = 8 if os.environ.get("PROOF_REPETITIONS") is None else 120
_GROUPS = 1000
_TOKEN_LIFETIME_S = 6
_BEFORE_RENEWAL_S = (2.0, 2.5, 5.0)


@contextmanager
def counted_connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Channel]]:
    """Yield the connections that are opened inside the with block."""
    opened: list[Channel] = []
    start = Channel._start_next

    def record(channel: Channel) -> object:
        opened.append(channel)
        return start(channel)

    with monkeypatch.context() as patch:
        patch.setattr(Channel, "_start_next", record)
        yield opened


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_polls_over_many_sessions_need_one_connection(
    secured: SecuredBroker, mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_from(secured.client("operator", mechanism=mechanism))
    polls = 0
    with counted_connections(monkeypatch) as connections, GroupAdmin(settings) as admin:
        until = time.monotonic() + _POLLING_S
        while time.monotonic() < until:
            admin.list_groups().all()
            polls += 1
            time.sleep(0.3)
    assert polls > _POLLING_S
    assert len(connections) == 1


def test_a_session_that_ended_while_nothing_was_sent_is_renewed(
    secured: SecuredBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_from(secured.client("operator"))
    with counted_connections(monkeypatch) as connections, GroupAdmin(settings) as admin:
        for _ in range(3):
            admin.list_groups().all()
            time.sleep(2.5)
    assert len(connections) == 1


def test_a_watch_of_lag_has_no_failed_poll(secured: SecuredBroker) -> None:
    group = unique_name("session")
    commit(secured.bootstrap, group, make_topic(secured.bootstrap, records=8), 1)
    flags = secured.flags("operator")
    outcome = run("lag", group, "--watch", "500ms", "--samples", "10", "--format", "ndjson", *flags, bootstrap=None)
    rows = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert outcome.exit_code == 0, outcome.stderr
    assert [row["lag"] for row in rows] == [7] * len(rows)
    assert len(rows) >= 8


def test_wait_polls_over_many_sessions_with_one_connection(
    secured: SecuredBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = unique_name("session")
    commit(secured.bootstrap, group, make_topic(secured.bootstrap, records=8), 1)
    condition = ("--until", "lag<0", "--for", "6s")
    with counted_connections(monkeypatch) as connections:
        outcome = run("wait", group, *condition, *secured.flags("operator"), bootstrap=None)
    assert (outcome.exit_code, outcome.stderr.count("Error")) == (4, 1), outcome.stderr
    assert len(connections) == 1


def test_commits_of_many_groups_that_cross_the_end_of_sessions_are_all_known(
    secure: SecureBroker, tmp_path: Path
) -> None:
    """A session ends with its token, after six seconds, and the client renews it after three, on each connection."""
    topic = make_topic(secure.bootstrap, records=8)
    lead = unique_name("crossing")
    groups = [f"{lead}-{number}" for number in range(_GROUPS)]
    with open_ways_in(secure, tmp_path) as ways:
        ways.endpoint.lifetime_s = _TOKEN_LIFETIME_S
        with GroupAdmin(settings_from(ways.properties("OIDC"))) as admin:
            for offset, pause_s in enumerate((0.0, *_BEFORE_RENEWAL_S), start=1):
                time.sleep(pause_s)
                change = {(topic, 0): CommittedOffset(offset, None, "")}
                results = admin.alter_consumer_group_offsets(dict.fromkeys(groups, change))
                assert results.failed == {}
                assert {failure for each in results.succeeded.values() for failure in each.values()} == {None}
            read = admin.list_consumer_group_offsets(dict.fromkeys(groups)).all()
            assert {commit.offset for each in read.values() for _, commit in each.rows() if commit} == {offset}
        assert len(ways.endpoint.requests) > 1

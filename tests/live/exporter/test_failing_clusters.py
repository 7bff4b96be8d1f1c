"""Brokers that freeze or stop, and tokens that expire: a cluster is up 0 without values, and comes back."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.exporter.exporter_process import ExporterProcess, Scraped, start_exporter
from tests.fakes.cluster_profiles import ClusterProfiles
from tests.fakes.token_server import Answer
from tests.live.exporter.moving_group import commit_offset
from tests.live.groups.conditions import wait_until
from tests.live.groups.topics import make_topic, unique_name
from tests.live.ways_in import open_ways_in

if TYPE_CHECKING:
    from tests.live.exporter.conftest import OwnBroker
    from tests.live.secure_broker import SecureBroker

repeated = pytest.mark.usefixtures("repetition")
pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]
_LAG: Final = "kafka_groups_group_lag_messages"
_OWN: Final = "own"
_LATEST_S: Final = 8.0
_TOKEN_LIFETIME_S: Final = 6
# Sessions end with their tokens; `make proof-exporter` polls for a minute.
_POLLING_S: Final = 10 if os.environ.get("PROOF_REPETITIONS") is None else 60


@pytest.fixture
def group(own_broker: OwnBroker) -> str:
    """Return a group of the broker with a lag of 3."""
    name = unique_name("failing")
    commit_offset(own_broker.bootstrap, name, make_topic(own_broker.bootstrap, records=5), 2)
    return name


def profiles_of(directory: Path, broker: OwnBroker) -> Path:
    """Write a profile of the broker, and return the directory."""
    ClusterProfiles(directory).add(_OWN, broker.bootstrap, {"timeout": "3s"})
    return directory


def await_lag(exporter: ExporterProcess, group: str, expected: float) -> Scraped:
    """Return the first scrape with this lag."""
    latest: list[Scraped] = []

    def has_lag() -> bool:
        latest[:] = [exporter.scrape()]
        return latest[0].value(_LAG, group=group) == expected

    wait_until(has_lag, lambda: f"{group} has no lag of {expected}: {exporter.errors()}")
    return latest[0]


def assert_no_values(scraped: Scraped) -> None:
    """Require that the cluster is not up, and that nothing of its groups is left."""
    assert scraped.value("kafka_groups_up", cluster=_OWN) == 0
    assert {name for name in scraped.names() if name.startswith("kafka_groups_group_")} == set()


@repeated
@pytest.mark.parametrize("schedule", [("--max-age", "0s"), ("--interval", "1s")], ids="".join)
def test_a_frozen_broker_has_no_old_values_and_comes_back(
    own_broker: OwnBroker, group: str, tmp_path: Path, schedule: tuple[str, str]
) -> None:
    with start_exporter(profiles_of(tmp_path, own_broker), "--profile", _OWN, *schedule) as exporter:
        await_lag(exporter, group, 3)
        with own_broker.frozen():
            wait_until(
                lambda: exporter.scrape().value("kafka_groups_up", cluster=_OWN) == 0, lambda: "the cluster is still up"
            )
            start = time.monotonic()
            assert_no_values(exporter.scrape())
            assert time.monotonic() - start < _LATEST_S
            assert exporter.get("/healthz")[0] == 200
            assert exporter.get("/readyz")[0] == 503
        after = await_lag(exporter, group, 3)
        assert after.value("kafka_groups_up", cluster=_OWN) == 1
        assert sum(after.values("kafka_groups_errors_total", "name", cluster=_OWN).values()) > 0
        assert exporter.get("/readyz")[0] == 200


@repeated
def test_a_broker_that_is_gone_has_no_old_values_and_comes_back(
    own_broker: OwnBroker, group: str, tmp_path: Path
) -> None:
    command = (profiles_of(tmp_path, own_broker), "--profile", _OWN)
    with ExitStack() as stack:
        exporter = stack.enter_context(start_exporter(*command))
        await_lag(exporter, group, 3)
        with own_broker.stopped():
            scraped = exporter.scrape()
            assert_no_values(scraped)
            assert "CONNECTION_FAILED" in scraped.values("kafka_groups_errors_total", "name", cluster=_OWN)
            exporter.scrape()
            # An error that does not change is one line, however often it is scraped.
            printed = exporter.errors()
            assert "Error:" in printed
            exporter.scrape()
            assert exporter.errors() == printed
            late = stack.enter_context(start_exporter(*command))
            assert late.get("/readyz")[0] == 503
            assert_no_values(late.scrape())
        for each in (exporter, late):
            await_lag(each, group, 3)
            assert each.get("/readyz")[0] == 200


@repeated
def test_polls_go_on_while_tokens_expire(secure: SecureBroker, tmp_path: Path) -> None:
    name = unique_name("tokens")
    commit_offset(secure.bootstrap, name, make_topic(secure.bootstrap, records=5), 2)
    with open_ways_in(secure, tmp_path) as ways:
        ways.endpoint.lifetime_s = _TOKEN_LIFETIME_S
        options = (*ways.config("OIDC"), "--match", name)
        with start_exporter(tmp_path, *options) as exporter:
            scraped = exporter.scrape()
            until = time.monotonic() + _POLLING_S
            while time.monotonic() < until:
                scraped = exporter.scrape()
                assert scraped.value(_LAG, group=name) == 3, exporter.errors()
                time.sleep(0.5)
            assert scraped.values("kafka_groups_errors_total", "name") == {}
            assert len(ways.endpoint.requests) > 1


def test_a_token_endpoint_that_fails_takes_the_values_away(secure: SecureBroker, tmp_path: Path) -> None:
    name = unique_name("tokens")
    commit_offset(secure.bootstrap, name, make_topic(secure.bootstrap, records=5), 2)
    with open_ways_in(secure, tmp_path) as ways:
        ways.endpoint.lifetime_s = _TOKEN_LIFETIME_S
        issue = ways.endpoint.respond
        with start_exporter(tmp_path, *ways.config("OIDC"), "--timeout", "3s", "--match", name) as exporter:
            await_lag(exporter, name, 3)
            ways.endpoint.respond = lambda _request: Answer(503)
            wait_until(
                lambda: exporter.scrape().value("kafka_groups_up") == 0, lambda: "the cluster is up without a token"
            )
            failed = exporter.scrape()
            assert failed.value(_LAG, group=name) is None
            assert "TOKEN_FAILED" in failed.values("kafka_groups_errors_total", "name")
            ways.endpoint.respond = issue
            await_lag(exporter, name, 3)

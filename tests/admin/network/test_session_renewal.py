"""Sessions that expire (KIP-368): a client authenticates again on the same connection, between its requests."""

from __future__ import annotations

import time
from collections.abc import Collection

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.admin.network.connection import Connection
from kafka_groups.admin.network.request_encoder import Frame
from kafka_groups.errors import AuthenticationFailedError, TokenFailedError
from kafka_groups.model import CommittedOffset
from kafka_groups.settings import PasswordCredentials, TokenCredentials
from kafka_groups.settings.limits import Limit
from kafka_groups.settings.tokens.token import Token
from kafka_groups.settings.tokens.unsecured import UnsecuredToken
from tests.fakes.reactions import changed, drops
from tests.fakes.sasl_cluster import REFUSED, SaslCluster
from tests.fakes.scripted_cluster import Group

pytestmark = pytest.mark.timeout(20)

PLAIN = PasswordCredentials(mechanism="PLAIN", username="me", password="geheim")
GROUPS = {"a": Group(coordinator=1)}


class BrokenSource:
    """A source whose fetches with these numbers fail."""

    place = "the source"
    is_read_each_time = True

    def __init__(self, fails: Collection[int]) -> None:
        self.fetches = 0
        self.is_slow = False
        self._fails = fails

    def fetch(self, limit: Limit) -> Token:
        """Return a token, or fail."""
        while self.is_slow and not limit.is_over():
            time.sleep(0.01)
        self.fetches += 1
        if self.fetches - 1 in self._fails:
            raise TokenFailedError("no token")
        return Token(text=f"token{self.fetches}")


def names(cluster: SaslCluster) -> list[str]:
    """Return the requests without Metadata, with which each listing begins."""
    return [request.api for request in cluster.brokers[1].received if request.api != "Metadata"]


def test_a_session_is_renewed_on_its_connection_before_the_next_request() -> None:
    with (
        SaslCluster(brokers=1, groups=GROUPS, mechanism="PLAIN", lifetime_ms=100_000) as cluster,
        cluster.admin(credentials=PLAIN) as admin,
    ):
        admin.list_groups()
        before = len(names(cluster))
        cluster.clock.sleep(84)
        admin.list_groups()
        assert names(cluster)[before:] == ["ListGroups"]
        cluster.clock.sleep(2)
        admin.list_groups()
        assert names(cluster)[before + 1 :] == ["SaslHandshake", "SaslAuthenticate", "ListGroups"]
        assert len(cluster.requests_of("ApiVersions")) == 1


def test_a_session_without_an_end_is_not_renewed() -> None:
    with (
        SaslCluster(brokers=1, groups=GROUPS, mechanism="PLAIN") as cluster,
        cluster.admin(credentials=PLAIN) as admin,
    ):
        admin.list_groups()
        cluster.clock.sleep(2.0)
        admin.list_groups()
        assert len(cluster.requests_of("SaslHandshake")) == 1


def test_a_renewal_has_a_token_of_its_own_time() -> None:
    source = UnsecuredToken("me", lifetime_s=0.0)
    with (
        SaslCluster(brokers=1, groups=GROUPS, lifetime_ms=2000) as cluster,
        cluster.admin(credentials=TokenCredentials(source=source)) as admin,
    ):
        for _ in range(3):
            admin.list_groups()
            cluster.clock.sleep(2.0)
        assert len(cluster.messages) == 3
        assert len(set(cluster.messages)) == 3


def test_requests_that_wait_for_a_renewal_are_sent_once_and_after_it() -> None:
    groups = {f"g{number}": Group(coordinator=1) for number in range(300)}
    with (
        SaslCluster(brokers=1, groups=groups, mechanism="PLAIN", lifetime_ms=2000) as cluster,
        cluster.admin(credentials=PLAIN) as admin,
    ):
        admin.list_groups()
        cluster.clock.sleep(2.0)
        assert len(admin.describe_groups(groups).all()) == 300
        after = names(cluster)[names(cluster).index("ListGroups") + 1 :]
        assert after[:2] == ["SaslHandshake", "SaslAuthenticate"]
        assert after.count("SaslHandshake") == 1


def test_a_token_that_is_not_there_yet_delays_no_request_before_the_end_of_the_session() -> None:
    source = BrokenSource(fails=range(1, 3))
    with (
        SaslCluster(brokers=1, groups=GROUPS, lifetime_ms=10_000) as cluster,
        GroupAdmin(cluster.settings(credentials=TokenCredentials(source=source))) as admin,
    ):
        admin.list_groups()
        session = admin._pool._connections[cluster.brokers[1].endpoint, 0]._session
        session.begin(100.0, time.monotonic() - 86)
        for _ in range(3):
            assert "a" in admin.list_groups().all()
            session._renew_at = 0.0
            time.sleep(0.05)
        assert source.fetches >= 3
    assert len(cluster.requests_of("ApiVersions")) == 1


def test_nothing_is_sent_in_the_last_tenth_of_a_session_without_a_new_token() -> None:
    source = BrokenSource(fails=())
    with (
        SaslCluster(brokers=1, groups=GROUPS, lifetime_ms=100_000) as cluster,
        GroupAdmin(cluster.settings(credentials=TokenCredentials(source=source))) as admin,
    ):
        admin.list_groups()
        sent = len(cluster.brokers[1].received)
        admin._pool._connections[cluster.brokers[1].endpoint, 0]._session.begin(100.0, time.monotonic() - 95)
        source.is_slow = True
        failure = admin.list_groups(timeout=0.3).failed[1]
        assert (failure.name, "waits for a token from the source" in failure.message) == ("TIMEOUT", True)
        assert len(cluster.brokers[1].received) == sent


@pytest.mark.parametrize(("lifetime_ms", "is_one_by_one"), [(0, False), (900_000, False), (10_000, True)])
def test_only_a_short_session_has_one_request_in_flight(
    lifetime_ms: int, is_one_by_one: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_flight: list[int] = []
    transmit = Connection._transmit

    def record(connection: Connection, frame: Frame) -> None:
        transmit(connection, frame)
        in_flight.append(len(connection._in_flight))

    monkeypatch.setattr(Connection, "_transmit", record)
    groups = {f"g{number}": Group(coordinator=1, commits={("t", 0): 1}) for number in range(300)}
    with (
        SaslCluster(brokers=1, groups=groups, mechanism="PLAIN", lifetime_ms=lifetime_ms) as cluster,
        cluster.admin(credentials=PLAIN) as admin,
    ):
        change = {("t", 0): CommittedOffset(2, None, "")}
        admin.alter_consumer_group_offsets(dict.fromkeys(groups, change))
    assert (max(in_flight) == 1) == is_one_by_one


def test_a_refused_renewal_fails_the_request_that_waits_for_it() -> None:
    with (
        SaslCluster(brokers=1, groups=GROUPS, mechanism="PLAIN", lifetime_ms=2000) as cluster,
        cluster.admin(credentials=PLAIN) as admin,
    ):
        admin.list_groups()
        cluster.clock.sleep(2.0)
        cluster.script("SaslAuthenticate", changed(**REFUSED))
        with pytest.raises(AuthenticationFailedError, match="authentication failed for user 'me' with PLAIN"):
            admin.list_groups()
        assert "a" in admin.list_groups().all()


def test_a_connection_that_is_lost_during_a_renewal_is_opened_again() -> None:
    with (
        SaslCluster(brokers=1, groups=GROUPS, mechanism="PLAIN", lifetime_ms=2000) as cluster,
        cluster.admin(credentials=PLAIN) as admin,
    ):
        admin.list_groups()
        cluster.clock.sleep(2.0)
        cluster.script("SaslHandshake", drops)
        assert "a" in admin.list_groups().all()
        assert len(cluster.requests_of("ApiVersions")) == 2
        assert len(cluster.requests_of("ListGroups")) == 2

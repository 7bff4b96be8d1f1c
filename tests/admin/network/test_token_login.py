"""Connections that log in with tokens: requests wait for a token, the event loop does not."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.errors import AuthenticationFailedError, TokenFailedError
from kafka_groups.settings import TokenCredentials
from kafka_groups.settings.limits import Limit
from kafka_groups.settings.tokens.token import Token
from kafka_groups.settings.tokens.token_command import TokenCommand
from kafka_groups.settings.tokens.token_file import TokenFile
from kafka_groups.settings.tokens.unsecured import UnsecuredToken
from tests.fakes.sasl_cluster import SaslCluster
from tests.fakes.scripted_cluster import Group

pytestmark = pytest.mark.timeout(20)

GROUPS = {"a": Group(coordinator=1), "b": Group(coordinator=2), "c": Group(coordinator=3)}
USER = TokenCredentials(source=UnsecuredToken("me"))


class SlowSource:
    """A source that returns a token when a request of the test has come, and counts its fetches."""

    place = "the slow source"
    is_read_each_time = False

    def __init__(self, released: threading.Event) -> None:
        self.released = released
        self.fetches = 0

    def fetch(self, limit: Limit) -> Token:
        """Return a token when it is released."""
        self.fetches += 1
        while not self.released.wait(0.005):
            if limit.is_over():
                raise TokenFailedError("not released")
        return Token(text="slow", expires_at=time.time() + 900)


def test_all_brokers_get_the_token_of_one_fetch() -> None:
    released = threading.Event()
    released.set()
    source = SlowSource(released)
    with (
        SaslCluster(brokers=3, groups=GROUPS) as cluster,
        cluster.admin(credentials=TokenCredentials(source=source)) as admin,
    ):
        assert sorted(admin.list_groups().all()) == ["a", "b", "c"]
    assert cluster.messages == [b"n,,\x01auth=Bearer slow\x01\x01"] * 3
    assert source.fetches == 1


def test_a_late_token_delays_requests_and_not_the_handshake() -> None:
    released = threading.Event()
    source = SlowSource(released)
    threading.Timer(0.8, released.set).start()
    settings = {"credentials": TokenCredentials(source=source), "connect_timeout_s": 0.5}
    # The thread of the source needs true time.
    with SaslCluster(brokers=1, groups=GROUPS) as cluster, GroupAdmin(cluster.settings(**settings)) as admin:
        assert "a" in admin.list_groups().all()
    assert [request.api for request in cluster.requests_of("SaslHandshake")] == ["SaslHandshake"]


def test_a_source_without_a_token_fails_the_command_with_its_own_error(tmp_path: Path) -> None:
    credentials = TokenCredentials(source=TokenFile(str(tmp_path / "absent")))
    with (
        SaslCluster(brokers=1) as cluster,
        cluster.admin(credentials=credentials) as admin,
        pytest.raises(TokenFailedError) as caught,
    ):
        admin.list_groups()
    assert str(caught.value).startswith(f"cannot log in: the token file {tmp_path / 'absent'} cannot be read: No such")
    assert (caught.value.name, cluster.messages) == ("TOKEN_FAILED", [])


def test_a_refused_token_is_explained_and_the_next_login_fetches_another_one() -> None:
    released = threading.Event()
    released.set()
    source = SlowSource(released)
    refusals = iter([False, True])
    with (
        SaslCluster(brokers=1, groups=GROUPS, accepts=lambda _message: next(refusals)) as cluster,
        cluster.admin(credentials=TokenCredentials(source=source)) as admin,
    ):
        with pytest.raises(AuthenticationFailedError, match=r"refused the token of the slow source \(invalid_token\)"):
            admin.list_groups()
        assert "a" in admin.list_groups().all()
    assert [message == b"\x01" for message in cluster.messages] == [False, True, False]
    assert source.fetches == 2


def test_a_token_file_is_read_again_after_it_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    credentials = TokenCredentials(source=TokenFile(str(file)), extensions={"logicalCluster": "lkc-1"})
    with SaslCluster(brokers=1, groups=GROUPS) as cluster, cluster.admin(credentials=credentials) as admin:
        admin.list_groups()
        file.write_text("second\n")
        cluster.brokers[1].close_connections()
        admin.list_groups()
    assert cluster.messages == [
        b"n,,\x01auth=Bearer first\x01logicalCluster=lkc-1\x01\x01",
        b"n,,\x01auth=Bearer second\x01logicalCluster=lkc-1\x01\x01",
    ]


def test_a_command_that_takes_too_long_ends_with_the_client(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    command = TokenCommand(("sh", "-c", f"echo $$ > {pid}; sleep 60 & wait"), "test")
    settings = {"credentials": TokenCredentials(source=command), "timeout_s": 0.5}
    with (
        SaslCluster(brokers=1) as cluster,
        GroupAdmin(cluster.settings(**settings)) as admin,
        pytest.raises(TokenFailedError, match=r"the command 'sh' of test took too long"),
    ):
        admin.list_groups()
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()


def test_a_listener_without_oauthbearer_says_what_it_supports() -> None:
    with (
        SaslCluster(brokers=1, mechanism="PLAIN") as cluster,
        cluster.admin(credentials=USER) as admin,
        pytest.raises(AuthenticationFailedError, match=r"does not support the SASL mechanism OAUTHBEARER; .*PLAIN"),
    ):
        admin.list_groups()

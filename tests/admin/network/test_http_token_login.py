"""Logins with tokens of a scripted endpoint: the broker gets the token, and each failure has an error of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.errors import TokenFailedError
from kafka_groups.settings import settings_from
from tests.fakes.sasl_cluster import SaslCluster
from tests.fakes.scripted_cluster import Group
from tests.fakes.token_server import Answer, TokenServer, json_answer, silence

pytestmark = pytest.mark.timeout(30)
SECRET = "hidden-thing"
ENDPOINT = "sasl.oauthbearer.token.endpoint.url"


def admin_of(cluster: SaslCluster, url: str, timeout_s: float = 10.0, **others: str) -> GroupAdmin:
    """Return a client of the cluster that logs in with tokens of an endpoint."""
    properties = {
        "bootstrap.servers": str(cluster.brokers[1].endpoint),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.client.id": "my-client",
        "sasl.oauthbearer.client.secret": SECRET,
        "sasl.oauthbearer.extensions": "logicalCluster=lkc-1",
        ENDPOINT: url,
        **{name.replace("_", "."): value for name, value in others.items()},
    }
    return GroupAdmin(replace(settings_from(properties), timeout_s=timeout_s))


def login_error(cluster: SaslCluster, url: str, timeout_s: float = 10.0, **others: str) -> str:
    """Return the text of the error of a login, which comes within the timeout and has no secret."""
    started = time.monotonic()
    with admin_of(cluster, url, timeout_s, **others) as admin, pytest.raises(TokenFailedError) as caught:
        admin.list_groups()
    assert time.monotonic() - started < timeout_s + 1
    assert SECRET not in repr(caught.value)
    return str(caught.value)


def test_a_broker_gets_the_token_of_the_endpoint_and_the_extensions() -> None:
    with (
        TokenServer(client_secret=SECRET) as server,
        SaslCluster(brokers=1, groups={"a": Group(coordinator=1)}) as cluster,
    ):
        server.script(Answer(503), json_answer({"access_token": "opaque", "expires_in": 900}))
        with admin_of(cluster, server.url) as admin:
            assert "a" in admin.list_groups().all()
        assert cluster.messages == [b"n,,\x01auth=Bearer opaque\x01logicalCluster=lkc-1\x01\x01"]
        assert len(server.requests) == 2


@pytest.mark.slow
def test_each_failure_of_an_endpoint_has_an_error_of_its_own(
    tmp_path: Path, certificate: Callable[[str], Path]
) -> None:
    with (
        TokenServer(client_secret=SECRET) as server,
        TokenServer(certificate=certificate("IP:127.0.0.1")) as encrypted,
        SaslCluster(brokers=1) as cluster,
    ):
        server.script(
            Answer(302, headers={"Location": f"https://login.example/{SECRET}"}),
            Answer(200, b"x" * 2_000_000),
            Answer(200, b"<html>"),
            Answer(400, b'{"errorCode": "E1", "errorSummary": "no client"}'),
            json_answer({"error": "invalid_client", "error_description": f"not {SECRET}"}, 401),
        )
        texts = [login_error(cluster, server.url) for _ in range(5)]
        server.script(silence(5))
        texts += [
            login_error(cluster, server.url, 1.0),
            login_error(cluster, "http://127.0.0.1:1/token", 1.0),
            login_error(cluster, encrypted.url),
            login_error(cluster, encrypted.url, https_ca_location=str(tmp_path / "absent")),
            login_error(cluster, server.url.replace("http:", "https:")),
        ]
        assert cluster.messages == []
    parts = [
        "redirects to login.example (status 302)",
        "sent more than 1,048,576 bytes",
        "returned status 200 and no JSON",
        "returned status 400: E1: no client",
        "returned status 401: invalid_client: not (hidden); check",
        "within",
        "cannot be reached: connection refused",
        "not trusted: self-signed certificate; set https.ca.location",
        "https.ca.location=",
        "does not use TLS",
    ]
    assert all(part in text for part, text in zip(parts, texts, strict=True))
    assert all(text.startswith("cannot log in: the endpoint ") and "\n" not in text for text in texts)

"""`sandbox up --secure`, `status` and `down`, without brokers."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox import DEFAULT_VERSION, down, status, up
from kafka_groups.sandbox.directory import sandbox_directory
from kafka_groups.sandbox.kafka import Kafka
from kafka_groups.sandbox.security.secret_files import create_secrets, secret_files
from kafka_groups.sandbox.versions import parse_version
from tests.fakes.command_line import run
from tests.sandbox.sandboxes import present_sandbox, specification

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

OLD = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_version_that_reads_no_key_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=r"--secure needs Kafka 4\.0\.0 or newer, not 2\.8\.2"):
        up(replace(specification(tmp_path), secure=True))

    assert list(tmp_path.iterdir()) == []


def test_a_sandbox_that_is_up_without_users_is_refused(tmp_path: Path) -> None:
    present_sandbox(tmp_path, complete=True)

    with pytest.raises(SandboxError, match="is up without --secure; end it first, or give another --name"):
        up(replace(specification(tmp_path), secure=True, kafka_version=DEFAULT_VERSION))


@pytest.mark.parametrize("secure", [True, False])
def test_another_up_renews_the_token(tmp_path: Path, *, secure: bool) -> None:
    create_secrets(present_sandbox(tmp_path, complete=True, secure=True), now=OLD)
    messages: list[str] = []

    before = status(home=tmp_path)
    after = up(replace(specification(tmp_path), secure=secure, kafka_version=DEFAULT_VERSION), report=messages.append)

    assert before is not None
    assert before.token_expires_at == OLD + timedelta(hours=24)
    assert after.token_expires_at is not None
    assert timedelta(hours=23, minutes=58) < after.token_expires_at - datetime.now(UTC) <= timedelta(hours=24)
    assert messages == ["the sandbox 'sandbox' is already up: Kafka 2.8.2", "renewed the token of the user admin"]


def test_status_has_the_listeners_the_profiles_and_the_time_of_the_token(tmp_path: Path) -> None:
    create_secrets(present_sandbox(tmp_path, complete=True, secure=True, profile=True), now=OLD)

    text = run("sandbox", "status", "--dir", str(tmp_path), bootstrap=None).stdout.splitlines()
    document = json.loads(run("sandbox", "status", "--dir", str(tmp_path), "--format=json", bootstrap=None).stdout)

    names = ["sandbox", *(f"sandbox-{way}" for way in ("plain", "scram", "tls", "oauth", "reader"))]
    assert {
        "sasl_plaintext 127.0.0.1:20002",
        "ssl 127.0.0.1:20003",
        "sasl_ssl 127.0.0.1:20004",
        f"profiles {', '.join(names)}",
        "token expires at 2026-01-02T00:00:00Z",
    } < set(text)
    assert document["secure_bootstrap_servers"] == {
        "SASL_PLAINTEXT": "127.0.0.1:20002",
        "SSL": "127.0.0.1:20003",
        "SASL_SSL": "127.0.0.1:20004",
    }
    assert (document["profiles"], document["token_expires_at"]) == (names, "2026-01-02T00:00:00Z")


def test_status_of_a_sandbox_without_users_has_no_token(tmp_path: Path) -> None:
    present_sandbox(tmp_path, complete=True)

    text = run("sandbox", "status", "--dir", str(tmp_path), bootstrap=None).stdout
    document = json.loads(run("sandbox", "status", "--dir", str(tmp_path), "--format=json", bootstrap=None).stdout)

    assert "token" not in text
    assert (document["secure_bootstrap_servers"], document["profiles"]) == ({}, [])
    assert document["token_expires_at"] is None


def test_down_deletes_a_key_set_that_is_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    directory = present_sandbox(tmp_path / "with blank", complete=True, secure=True)
    create_secrets(directory, now=OLD)
    key_set = secret_files(directory).key_set
    existed = key_set.exists()

    assert down(home=tmp_path / "with blank") is True
    assert (existed, key_set.exists()) == (True, False)


@pytest.mark.slow
def test_a_failed_start_leaves_no_secret_and_no_profile(
    tmp_path: Path, profiles: Path, broken_java: Path, mocker: MockerFixture
) -> None:
    kafka = Kafka(version=parse_version("4.3.1"), java=broken_java, jars=())
    mocker.patch("kafka_groups.sandbox.lifecycle.find_kafka", return_value=kafka)
    mocker.patch("kafka_groups.sandbox.brokers.bootstrap_checkpoint", return_value=None)
    spec = replace(specification(tmp_path / "home", profile=True), secure=True, seed=False, kafka_version="4.3.1")

    with pytest.raises(SandboxError, match="broker-1 ended while it started"):
        up(spec)

    assert profiles.read_text() == ""
    assert not sandbox_directory("sandbox", home=tmp_path / "home").security.exists()

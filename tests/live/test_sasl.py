"""SASL on real brokers: valid credentials succeed; other settings fail at once with an error that explains them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.settings import PasswordCredentials, resolve_settings
from tests.fakes.command_line import run
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import commit
from tests.live.secured_broker import POLYGLOT_SECRET, SECRET, SecuredBroker

pytestmark = pytest.mark.live

EVERY_MECHANISM = pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
# The time that Kafka's own test of its tool allows for refused credentials.
_AT_ONCE_S = 5
_TOKEN_TIMEOUT_S = 15


@pytest.fixture(scope="module")
def group(secured: SecuredBroker) -> str:
    """Return a group with the committed offset 3."""
    name = unique_name("sasl")
    commit(secured.bootstrap, name, make_topic(secured.bootstrap, records=8), 1, 2, 3)
    return name


def describe_committed(*flags: str, group: str) -> int:
    outcome = run("describe", "--group", group, "--format", "json", *flags, bootstrap=None)
    assert (outcome.exit_code, outcome.stderr) == (0, f"Consumer group '{group}' has no active members.\n")
    (found,) = json.loads(outcome.stdout)["groups"]
    return int(found["offsets"][0]["committed_offset"])


@EVERY_MECHANISM
def test_valid_credentials_succeed_with_each_mechanism(secured: SecuredBroker, group: str, mechanism: str) -> None:
    flags = secured.flags("operator", mechanism=mechanism)
    assert group in run("list", *flags, bootstrap=None).stdout
    assert describe_committed(*flags, group=group) == 3


def test_valid_credentials_succeed_over_tls(secured: SecuredBroker, group: str, program: Callable[[str], str]) -> None:
    assert program("openssl")
    flags = [*secured.flags("operator", mechanism="SCRAM-SHA-512"), "-Xsecurity.protocol=SASL_SSL"]
    assert (
        describe_committed(
            *flags, "-b", str(secured.sasl_ssl_listener), f"-Xssl.ca.location={secured.certificate}", group=group
        )
        == 3
    )


def test_a_delegation_token_authenticates_as_its_owner(secured: SecuredBroker, group: str, tmp_path: Path) -> None:
    token_id, hmac = secured.create_token("operator", tmp_path)
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    flags = ["-b", secured.sasl_listener, "-Xsecurity.protocol=SASL_PLAINTEXT", "-Xsasl.mechanism=SCRAM-SHA-256"]
    jaas = f'{module} required username="{token_id}" password="{hmac}" tokenauth="true";'
    flags += ["--config", str(secured.write_config(f"sasl.jaas.config={jaas}"))]
    deadline = time.monotonic() + _TOKEN_TIMEOUT_S
    while run("list", *flags, bootstrap=None).exit_code and time.monotonic() < deadline:
        time.sleep(0.2)
    assert describe_committed(*flags, group=group) == 3


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_scram_password_may_have_characters_that_saslprep_changes(secured: SecuredBroker, mechanism: str) -> None:
    outcome = run("list", *secured.flags("polyglot", POLYGLOT_SECRET, mechanism), bootstrap=None)
    assert outcome.exit_code == 0


@pytest.mark.timed
@EVERY_MECHANISM
def test_wrong_credentials_are_refused_at_once(secured: SecuredBroker, mechanism: str) -> None:
    started = time.monotonic()
    outcome = run("list", *secured.flags("operator", "wrong", mechanism), "--format", "json", bootstrap=None)
    assert time.monotonic() - started < _AT_ONCE_S
    assert outcome.exit_code == 1
    assert outcome.stderr.startswith(
        f"Error: cannot connect to {secured.sasl_listener}: "
        f"authentication failed for user 'operator' with {mechanism}: Authentication failed"
    )
    assert (outcome.stderr.count("\n"), "wrong" in outcome.stderr) == (1, False)
    assert [error["name"] for error in json.loads(outcome.stdout)["errors"]] == ["AUTHENTICATION_FAILED"]


def test_the_error_for_an_unsupported_mechanism_names_the_supported_ones(
    secured: SecuredBroker, program: Callable[[str], str]
) -> None:
    assert program("openssl")
    flags = [*secured.flags("operator"), "-Xsecurity.protocol=SASL_SSL", f"-Xssl.ca.location={secured.certificate}"]
    outcome = run("list", *flags, "-b", str(secured.sasl_ssl_listener), bootstrap=None)
    assert (outcome.exit_code, outcome.stderr) == (
        1,
        (
            f"Error: cannot connect to {secured.sasl_ssl_listener}: "
            "the broker does not support the SASL mechanism PLAIN; "
            "set sasl.mechanism to one that it supports: SCRAM-SHA-512\n"
        ),
    )


def test_a_client_without_sasl_on_a_sasl_listener_is_an_error_that_suggests_sasl(secured: SecuredBroker) -> None:
    outcome = run("list", bootstrap=secured.sasl_listener)
    assert outcome.exit_code == 1
    assert outcome.stderr == (
        f"Error: cannot connect to {secured.sasl_listener}: closed the connection; the listener may require SASL "
        "(-X security.protocol=SASL_PLAINTEXT, and sasl.mechanism)\n"
    )


def test_a_client_without_tls_on_a_sasl_ssl_listener_is_an_error_that_suggests_sasl_ssl(
    secured: SecuredBroker, program: Callable[[str], str]
) -> None:
    assert program("openssl")
    outcome = run("list", *secured.flags("operator"), "-b", str(secured.sasl_ssl_listener), bootstrap=None)
    assert outcome.stderr == (
        f"Error: cannot connect to {secured.sasl_ssl_listener}: "
        "the listener uses TLS; set -X security.protocol=SASL_SSL\n"
    )


def test_refused_credentials_are_not_sent_to_the_other_servers(secured: SecuredBroker) -> None:
    outcome = run(
        "list",
        *secured.flags("operator", "wrong"),
        "-b",
        f"{secured.sasl_listener},{secured.sasl_listener}",
        bootstrap=None,
    )
    assert outcome.stderr.count("authentication failed") == 1


def test_a_sasl_client_on_a_listener_without_sasl_is_an_error(secured: SecuredBroker) -> None:
    outcome = run("list", *secured.flags("operator"), "-b", secured.bootstrap, bootstrap=None)
    assert (outcome.exit_code, outcome.stderr) == (
        1,
        (
            f"Error: cannot connect to {secured.bootstrap}: this listener does not use SASL: use PLAINTEXT or SSL, "
            "or connect to a SASL listener\n"
        ),
    )


def test_requests_succeed_after_the_credentials_expired(secured: SecuredBroker, group: str) -> None:
    """KIP-368: this broker closes a connection on a request more than two seconds after its authentication."""
    properties = [f"{name}={value}" for name, value in secured.client("operator").items()]
    with GroupAdmin(resolve_settings(properties=properties, environment={})) as admin:
        for _ in range(4):
            assert group in admin.list_groups().all()
            time.sleep(1.2)


def test_the_repr_of_settings_has_no_password(secured: SecuredBroker) -> None:
    properties = [f"{name}={value}" for name, value in secured.client("operator").items()]
    settings = resolve_settings(properties=properties, environment={})
    assert isinstance(settings.credentials, PasswordCredentials)
    assert (settings.credentials.password, SECRET in repr(settings)) == (SECRET, False)

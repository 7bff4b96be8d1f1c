"""Logins that real brokers want: who has one is answered, and who has not is told at once what is wrong."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.settings import resolve_settings
from tests.fakes.fake_admin import run
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import commit
from tests.live.secured_broker import SECRET, SecuredBroker

pytestmark = pytest.mark.live

EVERY_MECHANISM = pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
# What Kafka's own test of its tool allows a refused login.
_AT_ONCE_S = 5


@pytest.fixture(scope="module")
def group(secured: SecuredBroker) -> str:
    """A group that has committed 3."""
    name = unique_name("logged")
    commit(secured.bootstrap, name, make_topic(secured.bootstrap, records=8), 1, 2, 3)
    return name


def committed(*flags: str, group: str) -> int:
    told = run("describe", "--group", group, "--format", "json", *flags, bootstrap=None)
    assert (told.exit_code, told.stderr) == (0, f"Consumer group '{group}' has no active members.\n")
    (found,) = json.loads(told.stdout)["groups"]
    return int(found["offsets"][0]["committed_offset"])


@EVERY_MECHANISM
def test_who_logs_in_is_answered(secured: SecuredBroker, group: str, mechanism: str) -> None:
    flags = secured.flags("operator", mechanism=mechanism)
    assert group in run("list", *flags, bootstrap=None).stdout
    assert committed(*flags, group=group) == 3


def test_a_login_goes_over_tls(secured: SecuredBroker, group: str, program: Callable[[str], str]) -> None:
    assert program("openssl")
    flags = [*secured.flags("operator", mechanism="SCRAM-SHA-512"), "-Xsecurity.protocol=SASL_SSL"]
    assert (
        committed(*flags, "-b", str(secured.sasl_ssl_listener), f"-Xssl.ca.location={secured.certificate}", group=group)
        == 3
    )


@pytest.mark.timed
@EVERY_MECHANISM
def test_wrong_credentials_are_refused_at_once(secured: SecuredBroker, mechanism: str) -> None:
    begun = time.monotonic()
    told = run("list", *secured.flags("operator", "wrong", mechanism), "--format", "json", bootstrap=None)
    assert time.monotonic() - begun < _AT_ONCE_S
    assert told.exit_code == 1
    assert told.stderr.startswith(
        f"Error: cannot connect to {secured.sasl_listener}: "
        f"authentication failed for user 'operator' with {mechanism}: Authentication failed"
    )
    assert (told.stderr.count("\n"), "wrong" in told.stderr) == (1, False)
    assert [error["name"] for error in json.loads(told.stdout)["errors"]] == ["AUTHENTICATION_FAILED"]


def test_a_mechanism_that_the_broker_does_not_take_is_told_with_those_it_takes(
    secured: SecuredBroker, program: Callable[[str], str]
) -> None:
    assert program("openssl")
    flags = [*secured.flags("operator"), "-Xsecurity.protocol=SASL_SSL", f"-Xssl.ca.location={secured.certificate}"]
    told = run("list", *flags, "-b", str(secured.sasl_ssl_listener), bootstrap=None)
    assert (told.exit_code, told.stderr) == (
        1,
        (
            f"Error: cannot connect to {secured.sasl_ssl_listener}: "
            "the broker does not support the SASL mechanism PLAIN; "
            "set sasl.mechanism to one that it supports: SCRAM-SHA-512\n"
        ),
    )


def test_a_port_that_wants_a_login_says_nothing_and_we_say_what_it_may_want(secured: SecuredBroker) -> None:
    told = run("list", bootstrap=secured.sasl_listener)
    assert told.exit_code == 1
    assert told.stderr == (
        f"Error: cannot connect to {secured.sasl_listener}: closed the connection; the listener may require SASL "
        "(-X security.protocol=SASL_PLAINTEXT, and sasl.mechanism)\n"
    )


def test_a_port_that_wants_tls_for_its_logins_is_told(secured: SecuredBroker, program: Callable[[str], str]) -> None:
    assert program("openssl")
    told = run("list", *secured.flags("operator"), "-b", str(secured.sasl_ssl_listener), bootstrap=None)
    assert told.stderr == (
        f"Error: cannot connect to {secured.sasl_ssl_listener}: "
        "the listener uses TLS; set -X security.protocol=SASL_SSL\n"
    )


def test_a_refused_login_is_not_tried_on_the_other_servers(secured: SecuredBroker) -> None:
    told = run(
        "list",
        *secured.flags("operator", "wrong"),
        "-b",
        f"{secured.sasl_listener},{secured.sasl_listener}",
        bootstrap=None,
    )
    assert told.stderr.count("authentication failed") == 1


def test_a_port_that_wants_no_login_is_told(secured: SecuredBroker) -> None:
    told = run("list", *secured.flags("operator"), "-b", secured.bootstrap, bootstrap=None)
    assert (told.exit_code, told.stderr) == (
        1,
        (
            f"Error: cannot connect to {secured.bootstrap}: this listener does not use SASL: use PLAINTEXT or SSL, "
            "or connect to a SASL listener\n"
        ),
    )


def test_a_login_that_ended_costs_no_answer(secured: SecuredBroker, group: str) -> None:
    """KIP-368: this broker hangs up on who asks more than two seconds after its login."""
    properties = [f"{name}={value}" for name, value in secured.client("operator").items()]
    with GroupAdmin(resolve_settings(properties=properties, environment={})) as admin:
        for _ in range(4):
            assert group in admin.list_groups().all()
            time.sleep(1.2)


def test_a_password_is_nowhere_in_what_is_shown(secured: SecuredBroker) -> None:
    properties = [f"{name}={value}" for name, value in secured.client("operator").items()]
    settings = resolve_settings(properties=properties, environment={})
    assert settings.credentials is not None
    assert (settings.credentials.password, SECRET in repr(settings)) == (SECRET, False)

"""`kafka-groups check` on real brokers: each step that a listener refuses, and the rights of a user."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from tests.fakes.command_line import Outcome, run
from tests.live.groups.conditions import wait_until
from tests.live.groups.members import simple
from tests.live.groups.topics import make_topic
from tests.live.secured_broker import SecuredBroker

pytestmark = pytest.mark.live
READING = "list, describe, offsets, lag, wait, orphans"
ALTERING = "reset --execute, undo --execute, remove-members --execute"


@pytest.fixture(scope="module")
def topic(secured: SecuredBroker) -> str:
    """Return a topic that the describer may only describe."""
    name = make_topic(secured.bootstrap, records=8)
    secured.allow("describer", AclOperation.DESCRIBE, name)
    secured.allow("ANONYMOUS", AclOperation.ALL, name)
    return name


@pytest.fixture(scope="module")
def group(secured: SecuredBroker, topic: str) -> Iterator[str]:
    """Yield a group with a commit on the topic, which the describer may read and not delete."""
    with simple(secured.bootstrap, commits=[(topic, 0, 3)]) as name:
        secured.allow("describer", AclOperation.READ, name, kind=ResourceType.GROUP)
        secured.allow("ANONYMOUS", AclOperation.ALL, name, kind=ResourceType.GROUP)
        yield name


def check(*flags: str) -> tuple[Outcome, dict[str, tuple[str, str]]]:
    """Run the command, and return status and detail of each check; those of brokers and rights by their subjects."""
    outcome = run("check", *flags, "--format", "csv", bootstrap=None)
    rows = list(csv.DictReader(outcome.stdout.splitlines()))
    named = {
        row["CHECK"] if row["CHECK"] not in ("connection", "rights") else row["SUBJECT"].partition(" (")[0]: row
        for row in rows
    }
    return outcome, {name: (row["STATUS"], row["DETAIL"]) for name, row in named.items()}


def failed(checks: dict[str, tuple[str, str]]) -> dict[str, str]:
    return {name: detail for name, (status, detail) in checks.items() if status == "failed"}


def test_every_step_of_a_listener_with_tls_and_sasl(secured: SecuredBroker, program: Callable[[str], str]) -> None:
    assert program("openssl")
    flags = [*secured.flags("operator", mechanism="SCRAM-SHA-512"), "-Xsecurity.protocol=SASL_SSL"]
    listener = str(secured.sasl_ssl_listener)
    outcome, checks = check(*flags, "-b", listener, f"-Xssl.ca.location={secured.certificate}")
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert checks["mechanisms"] == ("ok", "the broker offers SCRAM-SHA-512; this client uses SCRAM-SHA-512")
    assert checks["authentication"][1] == (
        "the broker accepts user 'operator'; the session lasts 2 s, and is renewed before its end"
    )
    status, detail = checks["tls"]
    # The certificate of the broker is valid for two days.
    assert status == "warning"
    assert detail.startswith("the broker's certificate ends in 1 day; renew it; TLSv1.3, ")
    assert "issued by itself" in detail
    assert checks["versions"][1].startswith("Kafka 4.3; in use: group.version 1, ")
    assert checks["broker 1"][0] == "warning"


@pytest.mark.parametrize(
    ("password", "flags", "step", "text"),
    [
        ("wrong", (), "authentication", "check sasl.username and sasl.password"),
        (None, ("-Xsecurity.protocol=SASL_SSL",), "tls", "the listener may not use TLS"),
    ],
    ids=["password", "tls"],
)
def test_the_step_that_a_listener_refuses_is_the_one_that_fails(
    secured: SecuredBroker, password: str | None, flags: tuple[str, ...], step: str, text: str
) -> None:
    outcome, checks = check(*secured.flags("operator", password), *flags)
    assert outcome.exit_code == 1
    assert [*failed(checks)] == [step]
    assert text in failed(checks)[step]
    assert outcome.stderr.count("\n") == 1


def test_a_client_without_sasl_fails_at_the_authentication(secured: SecuredBroker) -> None:
    outcome, checks = check("-b", secured.sasl_listener)
    assert outcome.exit_code == 1
    assert [*failed(checks)] == ["authentication"]
    assert "the listener may require SASL" in outcome.stderr


def test_a_mechanism_that_a_listener_does_not_offer_fails_with_those_that_it_offers(
    secured: SecuredBroker, program: Callable[[str], str]
) -> None:
    assert program("openssl")
    flags = [*secured.flags("operator"), "-Xsecurity.protocol=SASL_SSL", f"-Xssl.ca.location={secured.certificate}"]
    outcome, checks = check(*flags, "-b", str(secured.sasl_ssl_listener))
    assert outcome.exit_code == 1
    assert [*failed(checks)] == ["mechanisms"]
    assert "set sasl.mechanism to one that it supports: SCRAM-SHA-512" in failed(checks)["mechanisms"]


def test_an_unknown_ca_fails_at_tls_with_the_certificate_of_the_broker(
    secured: SecuredBroker, program: Callable[[str], str]
) -> None:
    assert program("openssl")
    flags = [*secured.flags("operator", mechanism="SCRAM-SHA-512"), "-Xsecurity.protocol=SASL_SSL"]
    outcome, checks = check(*flags, "-b", str(secured.sasl_ssl_listener))
    assert outcome.exit_code == 1
    assert [*failed(checks)] == ["tls"]
    assert "; the broker sent: certificate CN=test for IP:" in failed(checks)["tls"]


def test_the_rights_of_a_user_with_few_rights(secured: SecuredBroker, group: str, topic: str) -> None:
    def has_rights() -> bool:
        return "no DELETE" in check(group, *secured.flags("describer"))[1].get(f"group {group}", ("", ""))[1]

    with secured.cluster_rights():
        wait_until(has_rights, lambda: f"the describer has all rights on {group}")
        outcome, checks = check(group, *secured.flags("describer"))
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert checks["cluster"] == (
        "warning",
        "no DESCRIBE: list shows the groups on which this user has DESCRIBE; other operations are unknown",
    )
    assert checks[f"group {group}"] == (
        "warning",
        f"DESCRIBE, READ: {READING}, {ALTERING}; no DELETE, which delete --execute and delete-offsets --execute need",
    )
    status, detail = checks[f"topic {topic}"]
    assert status == "warning"
    assert detail.startswith("DESCRIBE: describe, offsets, lag, wait, orphans; no READ, which lag --time, ")


def test_the_rights_of_a_user_who_may_do_everything(secured: SecuredBroker, group: str) -> None:
    outcome, checks = check(group, *secured.flags("operator"))
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert {status for status, _ in checks.values()} <= {"ok", "skipped"}
    assert checks[f"group {group}"] == ("ok", "DESCRIBE, READ, DELETE: all that the commands of this tool need")


def test_a_group_that_the_user_may_not_describe_is_the_only_failure(secured: SecuredBroker, topic: str) -> None:
    with simple(secured.bootstrap, commits=[(topic, 0, 3)]) as name:
        secured.allow("ANONYMOUS", AclOperation.ALL, name, kind=ResourceType.GROUP)
        wait_until(lambda: check(name, *secured.flags("describer"))[0].exit_code == 3, lambda: f"{name} is described")
        outcome, checks = check(name, *secured.flags("describer"))
    assert [*failed(checks)] == [f"group {name}"]
    assert outcome.stderr == (
        f"Error: group '{name}': not allowed: this needs DESCRIBE on the group (GROUP_AUTHORIZATION_FAILED)\n"
    )

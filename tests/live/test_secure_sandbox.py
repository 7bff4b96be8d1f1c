"""`sandbox up --secure`: its ways in work, its users have their rights, and `down` leaves nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.command_line import run
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import commit
from tests.live.secure_broker import SecureBroker
from tests.live.shell import Shell

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]
WAYS_IN = ("plain", "scram", "tls", "oauth", "reader")


@pytest.fixture(scope="module")
def group(secure: SecureBroker) -> str:
    """Return a group with the committed offset 3."""
    name = unique_name("secure")
    commit(secure.bootstrap, name, make_topic(secure.bootstrap, records=8), 1, 2, 3)
    return name


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("user", ["admin", "reader"])
def test_both_users_log_in_with_each_password_mechanism(
    secure: SecureBroker, group: str, user: str, mechanism: str, protocol: str
) -> None:
    outcome = run("describe", group, *secure.flags(user, mechanism, protocol), bootstrap=None)
    assert (outcome.exit_code, group in outcome.stdout) == (0, True), outcome.stderr


@pytest.mark.parametrize("user", ["admin", "reader"])
def test_both_users_log_in_with_their_certificates(secure: SecureBroker, group: str, user: str) -> None:
    outcome = run("describe", group, *secure.certificate_flags(user), bootstrap=None)
    assert (outcome.exit_code, group in outcome.stdout) == (0, True), outcome.stderr


def test_a_client_without_a_certificate_is_refused(secure: SecureBroker) -> None:
    flags = ["-b", secure.ssl, "-Xsecurity.protocol=SSL", f"-Xssl.ca.location={secure.authority}"]
    outcome = run("list", *flags, bootstrap=None)
    assert (outcome.exit_code, "certificate" in outcome.stderr) == (1, True)


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_the_token_file_of_the_sandbox_logs_in(secure: SecureBroker, group: str, protocol: str) -> None:
    outcome = run("describe", group, *secure.token_flags(protocol=protocol), bootstrap=None)
    assert (outcome.exit_code, group in outcome.stdout) == (0, True), outcome.stderr


@pytest.mark.parametrize("changes", [{"aud": "another"}, {"iss": "another"}, {"exp": 1}], ids=str)
def test_a_token_with_a_wrong_claim_is_refused(secure: SecureBroker, tmp_path: Path, changes: dict[str, Any]) -> None:
    file = tmp_path / "token"
    file.write_text(secure.sign(secure.claims(**changes)))
    assert run("list", *secure.token_flags(file), bootstrap=None).exit_code == 1


def test_the_reader_is_denied_a_reset(secure: SecureBroker, group: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(secure.sign(secure.claims("reader")))
    for flags in (secure.flags("reader"), secure.certificate_flags("reader"), secure.token_flags(file)):
        outcome = run("reset", group, "--all-topics", "--to-earliest", "--execute", "--yes", *flags, bootstrap=None)
        assert (outcome.exit_code, "GROUP_AUTHORIZATION_FAILED" in outcome.stderr) == (1, True), outcome.stderr


# A URL can name the first path as it is, and not the second one.
@pytest.mark.parametrize(("version", "part"), [("4.3.1", "Größe雪"), ("4.4.0", "a b 100%")])
def test_each_profile_of_a_secure_sandbox_works_at_once_and_is_removed(tmp_path: Path, version: str, part: str) -> None:
    shell = Shell(tmp_path / part)
    try:
        up = shell.run("up", "--secure", "--port", "0", "--no-seed", "--kafka-version", version)
        assert up.returncode == 0, up.stderr
        status = shell.status()
        bootstrap = status["bootstrap_servers"]
        commit(bootstrap, "billing", make_topic(bootstrap, records=8), 1, 2, 3)

        assert status["profiles"] == ["sandbox", *(f"sandbox-{way}" for way in WAYS_IN)]
        for profile in status["profiles"]:
            assert shell.run_with_profile(profile, "list").stdout == "billing\n"
            described = shell.run_with_profile(profile, "describe", "billing")
            assert (described.returncode, "billing" in described.stdout) == (0, True), described.stderr
        denied = shell.run_with_profile("sandbox-reader", "delete", "billing", "--execute", "--yes")
        assert (denied.returncode, "GROUP_AUTHORIZATION_FAILED" in denied.stderr) == (1, True), denied.stderr
        deleted = shell.run_with_profile("sandbox-oauth", "delete", "billing", "--execute", "--yes")
        assert deleted.returncode == 0, deleted.stderr
    finally:
        shell.run("down")
    assert list(shell.home.iterdir()) == []
    assert shell.profiles.read_text() == ""


def test_another_up_renews_the_token_of_a_secure_sandbox(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    try:
        shell.run("up", "--secure", "--port", "0", "--no-seed", "--brokers", "2")
        token = shell.home / "sandbox" / "security" / "token"
        token.write_text("expired")
        refused = shell.run_with_profile("sandbox-oauth", "list")
        again = shell.run("up", "--secure")
        accepted = shell.run_with_profile("sandbox-oauth", "list")
    finally:
        shell.run("down")
    assert (refused.returncode, again.returncode, accepted.returncode) == (1, 0, 0), accepted.stderr
    assert again.stderr.splitlines()[-1] == "renewed the token of the user admin"

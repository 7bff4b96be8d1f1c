"""Failing logins of each SASL mechanism: nothing that the tool writes or starts shows a secret.

A login is a row of LOGINS. A mechanism that another row needs gets its case there, and every test applies to it.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.settings import resolve_settings
from kafka_groups.settings.librdkafka import resolve_client
from tests.fakes.reactions import Reaction, ReceivedRequest, changed
from tests.fakes.sasl_cluster import REFUSED, SaslCluster

PASSWORD = "hunter2-of-the-test"
CLAIMS = base64.urlsafe_b64encode(json.dumps({"sub": "me", "jti": PASSWORD}).encode()).decode().rstrip("=")
TOKEN = f"eyJhbGciOiJub25lIn0.{CLAIMS}.hunter2-signature"
JAAS = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="{PASSWORD}";'
USER = {"sasl.username": "me", "sasl.password": PASSWORD}
BEARER = "sasl.oauthbearer"


def echoes(request: ReceivedRequest, response: dict[str, Any]) -> dict[str, Any]:
    """Refuse a login, with all that the client sent in the error: brokers and their plugins write what they like."""
    sent = request.body["auth_bytes"].decode(errors="replace")
    return {**response, **REFUSED, "auth_bytes": b"", "error_message": f"not valid: {sent}"}


def challenges(request: ReceivedRequest, response: dict[str, Any]) -> dict[str, Any]:
    """Refuse a token by the JSON of RFC 7628, whose status repeats the token."""
    status = request.body["auth_bytes"].decode().partition("Bearer ")[2].rstrip("\x01")
    return {**response, "auth_bytes": json.dumps({"status": status}).encode()}


def salts(request: ReceivedRequest, response: dict[str, Any]) -> dict[str, Any]:
    """Return the first message of a SCRAM server, for the nonce of the client."""
    nonce = request.body["auth_bytes"].decode().rpartition("r=")[2]
    return {**response, "auth_bytes": f"r={nonce}server,s=QSXCR+Q6sek8bf92,i=4096".encode()}


@dataclass(frozen=True, kw_only=True)
class Login:
    """A login that fails: the mechanism, its properties, and how the broker responds to its messages.

    `listener` is the mechanism of the broker, if it has another name.
    `{folder}` in a property is a directory with the file `token`, and `{python}` this Python. `secrets` are those of
    the properties, and `environment` are variables of the command.
    """

    mechanism: str
    properties: Mapping[str, str]
    reactions: tuple[Reaction, ...] = (changed(**REFUSED),)
    secrets: tuple[str, ...] = (PASSWORD,)
    environment: Mapping[str, str] = field(default_factory=dict)
    listener: str = ""


# Prints a token on stdout, and complains with the same token.
PRINTER = "import sys; token = open(sys.argv[1]).read(); print(token); print('got', token, file=sys.stderr)"
PRINT = '{python} -c "' + PRINTER + '" {folder}/token'
FAILURE = '{python} -c "' + PRINTER + '; sys.exit(1)" {folder}/token'
LOGINS = {
    "PLAIN": Login(mechanism="PLAIN", properties=USER),
    "PLAIN, echoed": Login(mechanism="PLAIN", properties=USER, reactions=(echoes,)),
    "PLAIN by JAAS": Login(mechanism="PLAIN", properties={"sasl.jaas.config": JAAS}),
    "PLAIN by a variable": Login(
        mechanism="PLAIN",
        properties={"sasl.username": "me"},
        environment={"KAFKA_GROUPS_SASL_PASSWORD": PASSWORD},
        reactions=(echoes,),
    ),
    "SCRAM-SHA-256": Login(mechanism="SCRAM-SHA-256", properties=USER),
    "SCRAM-SHA-256, second message": Login(
        mechanism="SCRAM-SHA-256", properties=USER, reactions=(salts, changed(**REFUSED))
    ),
    "SCRAM-SHA-512": Login(mechanism="SCRAM-SHA-512", properties=USER, reactions=(salts, echoes)),
    "OAUTHBEARER by a command": Login(
        mechanism="OAUTHBEARER",
        properties={f"{BEARER}.token.command": PRINT},
        reactions=(challenges, changed(**REFUSED)),
        secrets=(TOKEN, CLAIMS),
    ),
    "OAUTHBEARER by a command that fails": Login(
        mechanism="OAUTHBEARER", properties={f"{BEARER}.token.command": FAILURE}, secrets=(TOKEN, CLAIMS)
    ),
    "OAUTHBEARER by a file": Login(
        mechanism="OAUTHBEARER",
        properties={f"{BEARER}.token.endpoint.url": "file://{folder}/token"},
        reactions=(echoes,),
        secrets=(TOKEN, CLAIMS),
    ),
    "OAUTHBEARER, unsecured": Login(
        mechanism="OAUTHBEARER",
        properties={"enable.sasl.oauthbearer.unsecure.jwt": "true", f"{BEARER}.config": "principal=me scope=a"},
        reactions=(challenges, changed(**REFUSED)),
        secrets=("eyJhbGciOiJub25lIn0",),
    ),
    "AWS_MSK_IAM": Login(
        mechanism="AWS_MSK_IAM",
        listener="OAUTHBEARER",
        properties={"sasl.aws.region": "eu-west-1"},
        environment={
            "AWS_ACCESS_KEY_ID": "AKIAOFTHETEST",
            "AWS_SECRET_ACCESS_KEY": PASSWORD,
            "AWS_SESSION_TOKEN": f"session-{PASSWORD}",
            "AWS_EC2_METADATA_DISABLED": "true",
        },
        reactions=(challenges, changed(**REFUSED)),
        # The beginning of every signed URL in base64.
        secrets=(PASSWORD, base64.b64encode(b"https://kafka.eu-west-1").decode()[:-2]),
    ),
}
EVERY_LOGIN = pytest.mark.parametrize("login", LOGINS.values(), ids=LOGINS)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A failing login against a cluster: the properties file, and the secrets that no output may have."""

    cluster: SaslCluster
    config: Path
    secrets: tuple[str, ...]
    environment: Mapping[str, str]

    def sources(self) -> dict[str, Any]:
        """Return the sources of the settings, with the file as that of the environment."""
        return {"environment": {**self.environment, "KAFKA_GROUPS_CONFIG": str(self.config)}}

    def assert_hidden(self, text: str) -> None:
        """Fail if the text has a secret, as it is or in base64."""
        encoded = [base64.b64encode(secret.encode()).decode().rstrip("=") for secret in self.secrets]
        assert [secret for secret in (*self.secrets, *encoded) if secret in text] == []


@pytest.fixture
def attempt(login: Login, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Attempt]:
    """Return a login that a cluster refuses."""
    for name, value in login.environment.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "token").write_text(TOKEN + "\n")
    properties = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": login.mechanism, **login.properties}
    config = tmp_path / "client.properties"
    with SaslCluster(brokers=1, mechanism=login.listener or login.mechanism) as cluster:
        cluster.script("SaslAuthenticate", *login.reactions * 4)
        lines = [f"bootstrap.servers={cluster.brokers[1].endpoint}"]
        lines += [f"{key}={value}" for key, value in properties.items()]
        text = "\n".join(lines).replace("{folder}", str(tmp_path)).replace("{python}", sys.executable)
        config.write_text(text.replace("\\", "\\\\") + "\n")
        config.chmod(0o600)
        yield Attempt(cluster=cluster, config=config, secrets=login.secrets, environment=login.environment)


def run_command(attempt: Attempt, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the tool in a process of its own, without the variables of this one."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_GROUPS_")}
    environment = {**kept, **attempt.environment, "KAFKA_GROUPS_CONFIG": str(attempt.config)}
    command = [sys.executable, "-m", "kafka_groups", *arguments, "--timeout", "10s"]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)


@EVERY_LOGIN
@pytest.mark.parametrize("output", ["table", "json"])
def test_no_output_of_a_failing_login_shows_a_secret(attempt: Attempt, output: str) -> None:
    completed = run_command(attempt, "list", "--format", output, "--debug")
    assert completed.returncode == 1
    assert "Traceback" in completed.stderr
    assert completed.stderr.splitlines()[-1].startswith("Error: ")
    attempt.assert_hidden(completed.stdout + completed.stderr)


@EVERY_LOGIN
def test_no_exception_repr_or_log_of_a_failing_login_shows_a_secret(
    attempt: Attempt, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    settings = resolve_settings(**attempt.sources())
    client = resolve_client(**attempt.sources())
    with GroupAdmin(settings) as admin, pytest.raises(KafkaGroupsError) as caught:
        admin.list_groups()
    # At level DEBUG, botocore logs the requests that it signs, with the session token. The tool never sets that level.
    logged = [record.getMessage() for record in caplog.records if not record.name.startswith("botocore")]
    texts = [repr(settings), repr(settings.credentials), repr(client), repr(admin), *logged, *settings.warnings]
    attempt.assert_hidden("\n".join([*texts, *chain_of(caught.value)]))
    attempt.assert_hidden("\n".join(settings.sources.values()))


def chain_of(error: BaseException) -> Iterator[str]:
    """Yield the text and the repr of an error, of its causes, and the reprs of own objects in their frames."""
    seen: BaseException | None = error
    while seen is not None:
        yield str(seen)
        yield repr(seen)
        yield from own_locals(seen.__traceback__)
        seen = seen.__cause__ or seen.__context__


def own_locals(trace: TracebackType | None) -> Iterator[str]:
    """Yield the reprs of the tool's own objects in the frames of a traceback, which a debugger or Sentry shows."""
    while trace is not None:
        for value in trace.tb_frame.f_locals.values():
            if type(value).__module__.startswith("kafka_groups.settings"):
                yield repr(value)
        trace = trace.tb_next


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="there is no /proc")
@pytest.mark.parametrize("login", [LOGINS["OAUTHBEARER by a command"]], ids=["token command"])
def test_no_command_line_of_a_child_process_shows_a_secret(attempt: Attempt, tmp_path: Path) -> None:
    """The command writes its own command line, and those of its parent and its environment's variables of the tool."""
    seen = tmp_path / "seen"
    script = tmp_path / "show.sh"
    script.write_text(f"cat /proc/$$/cmdline /proc/$PPID/cmdline > {seen}; cat {tmp_path}/token\n")
    profiles = tmp_path / "config" / "kafka-groups" / "profiles.toml"
    profiles.parent.mkdir(parents=True)
    password = {"sasl.password.command": ["sh", str(script)], "sasl.username": "me", "sasl.mechanism": "PLAIN"}
    token = {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.command": ["sh", str(script)]}
    server = {"bootstrap.servers": str(attempt.cluster.brokers[1].endpoint), "security.protocol": "SASL_PLAINTEXT"}
    for table in (password, token):
        lines = [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in {**server, **table}.items()]
        profiles.write_text("[p]\n" + "\n".join(lines))
        profiles.chmod(0o600)
        found = Attempt(
            cluster=attempt.cluster,
            config=attempt.config,
            secrets=attempt.secrets,
            environment={"XDG_CONFIG_HOME": str(tmp_path / "config"), "KAFKA_GROUPS_SASL_PASSWORD": PASSWORD},
        )
        completed = run_command(found, "list", "--profile", "p", "--debug")
        assert completed.returncode == 1
        shown = seen.read_text()
        assert "show.sh" in shown
        assert "kafka_groups" in shown
        found.assert_hidden(shown + completed.stdout + completed.stderr)
        assert PASSWORD not in shown
        seen.unlink()

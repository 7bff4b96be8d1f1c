"""A broker with users and ACLs. An anonymous client may do everything that no ACL allows to other users only."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from kafka_groups import sandbox
from kafka_groups.sandbox.ports import HOST, free_ports
from tests.certificates import make_certificate
from tests.live.groups.topics import client_properties

SECRET = "hunter2-of-the-operator"
_TIMEOUT_S = 30
# Kafka's resource type is CLUSTER; librdkafka's name for the same number is BROKER.
_CLUSTER = (ResourceType.BROKER, "kafka-cluster", ResourcePatternType.LITERAL)
_NAME = "secured"
_SCRAM = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}
_SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
_ITERATIONS = 4096
_PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_PASSWORDS = {"operator": SECRET, "describer": "hunter2-of-the-describer"}

# SASLprep changes or forbids each of these characters, and Kafka does neither.
POLYGLOT_SECRET = "\ufb01sh e\u0301 \U0001f600 a\u00a0b"
_SCRAM_PASSWORDS = _PASSWORDS | {"polyglot": POLYGLOT_SECRET}


@dataclass(frozen=True, kw_only=True)
class SecuredBroker:
    """The addresses of a broker's listeners. The user `operator` may do everything.

    `bootstrap` is PLAINTEXT, for anonymous clients. `sasl_ssl_listener` uses TLS with `certificate`; both are None
    where openssl is not installed. `folder` is for config files with passwords.
    """

    bootstrap: str
    sasl_listener: str
    sasl_ssl_listener: str | None
    certificate: Path | None
    folder: Path

    def client(self, user: str, password: str | None = None, mechanism: str = "PLAIN") -> dict[str, str]:
        """Return librdkafka's properties for a user."""
        return {
            "bootstrap.servers": self.sasl_listener,
            "security.protocol": "sasl_plaintext",
            "sasl.mechanism": mechanism,
            "sasl.username": user,
            "sasl.password": password or _PASSWORDS[user],
        }

    def flags(self, user: str, password: str | None = None, mechanism: str = "PLAIN") -> list[str]:
        """Return the properties of `client` as options of the command line; the password is in a config file."""
        client = self.client(user, password, mechanism)
        secret = f"sasl.password={client.pop('sasl.password')}"
        address = client.pop("bootstrap.servers")
        properties = [f"-X{name}={value}" for name, value in client.items()]
        return ["-b", address, "--config", str(self.write_config(secret)), *properties]

    def write_config(self, *lines: str) -> Path:
        """Write a config file that only this user can read, and return its path."""
        config = self.folder / f"client-{uuid4().hex}.properties"
        config.touch(0o600)
        config.write_text("".join(f"{line}\n" for line in lines))
        return config

    def allow(self, user: str, operation: AclOperation, name: str, *, kind: ResourceType = ResourceType.TOPIC) -> None:
        """Allow a user one operation on a topic or a group, and deny all operations on it to users but the operator."""
        resource = (kind, name, ResourcePatternType.LITERAL)
        binding = AclBinding(*resource, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
        admin = self._admin()
        admin.create_acls([binding])[binding].result(_TIMEOUT_S)

    @contextmanager
    def cluster_rights(self, **operations: AclOperation) -> Iterator[None]:
        """Allow each user one operation on the cluster inside the with block, and no others except anonymous clients.

        The broker itself is an anonymous client of its controller.
        """
        rights = {"ANONYMOUS": AclOperation.ALL, **operations}
        bindings = [
            AclBinding(*_CLUSTER, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
            for user, operation in rights.items()
        ]
        admin = self._admin()
        for future in admin.create_acls(bindings).values():
            future.result(_TIMEOUT_S)
        try:
            yield
        finally:
            # None is any user and any host, which its type hints do not say.
            every = AclBindingFilter(*_CLUSTER, None, None, AclOperation.ANY, AclPermissionType.ANY)  # type: ignore[arg-type]
            admin.delete_acls([every])[every].result(_TIMEOUT_S)

    @contextmanager
    def settings(self, topic: str, settings: Mapping[str, str]) -> Iterator[None]:
        """Give a topic these settings inside the with block."""
        self._alter(topic, settings, AlterConfigOpType.SET)
        try:
            yield
        finally:
            self._alter(topic, dict.fromkeys(settings, ""), AlterConfigOpType.DELETE)

    def create_token(self, user: str, directory: Path) -> tuple[str, str]:
        """Return the ID and the HMAC of a new delegation token of a user. The broker accepts it a moment later."""
        config = directory / "token.properties"
        jaas = f'{_PLAIN_MODULE} username="{user}" password="{_PASSWORDS[user]}";'
        config.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={jaas}\n")
        command = sandbox.tool_command(
            *("org.apache.kafka.tools.DelegationTokenCommand", "--bootstrap-server", self.sasl_listener),
            *("--create", "--command-config", str(config), "--max-life-time-period", "-1"),
        )
        completed = subprocess.run(command, capture_output=True, check=True, text=True, timeout=_TIMEOUT_S)
        token_id, hmac = completed.stdout.split("MAXDATE")[1].split()[:2]
        return token_id, hmac

    def create_scram_users(self) -> None:
        """Create the users for SCRAM, which the cluster stores: those of PLAIN, and `polyglot`."""
        admin = self._admin()
        for mechanism in _SCRAM.values():
            info = ScramCredentialInfo(mechanism, _ITERATIONS)
            credentials: list[UserScramCredentialAlteration] = [
                UserScramCredentialUpsertion(user, info, password.encode())
                for user, password in _SCRAM_PASSWORDS.items()
            ]
            for future in admin.alter_user_scram_credentials(credentials).values():
                future.result(_TIMEOUT_S)

    def _alter(self, topic: str, settings: Mapping[str, str], operation: AlterConfigOpType) -> None:
        entries = [ConfigEntry(name, value, incremental_operation=operation) for name, value in settings.items()]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        admin = self._admin()
        admin.incremental_alter_configs([resource])[resource].result(_TIMEOUT_S)

    def _admin(self) -> AdminClient:
        return AdminClient({**client_properties(self.sasl_listener), **self.client("operator")})


@contextmanager
def run_secured_broker(home: Path) -> Iterator[SecuredBroker]:
    """Run one broker with these three listeners, or with the first two where openssl is not installed."""
    sasl, sasl_ssl = (f"{HOST}:{port}" for port in free_ports(2))
    openssl = shutil.which("openssl")
    certificate = make_certificate(openssl, home, f"IP:{HOST}") if openssl else None
    properties = _properties(sasl) | (_tls_properties(sasl, sasl_ssl, certificate) if certificate else {})
    spec = sandbox.SandboxSpec(
        name=_NAME, port=0, heap_mb=512, seed=False, profile=False, home=home, properties=properties
    )
    try:
        broker = SecuredBroker(
            bootstrap=sandbox.up(spec).bootstrap,
            sasl_listener=sasl,
            sasl_ssl_listener=sasl_ssl if certificate else None,
            certificate=certificate,
            folder=home,
        )
        broker.create_scram_users()
        yield broker
    finally:
        sandbox.down(_NAME, home=home)


def _properties(secured: str) -> dict[str, str]:
    users = " ".join(f'user_{user}="{password}"' for user, password in _PASSWORDS.items())
    return {
        "listeners": f"SECURED://{secured}",
        "advertised.listeners": f"SECURED://{secured}",
        "listener.security.protocol.map": "SECURED:SASL_PLAINTEXT",
        "listener.name.secured.sasl.enabled.mechanisms": ",".join(("PLAIN", *_SCRAM)),
        "listener.name.secured.plain.sasl.jaas.config": f"{_PLAIN_MODULE} {users};",
        **{f"listener.name.secured.{name.lower()}.sasl.jaas.config": _SCRAM_MODULE for name in _SCRAM},
        # Delegation tokens (KIP-48) need a secret.
        "delegation.token.secret.key": "secret-of-the-tokens",
        # Credentials are valid for two seconds (KIP-368).
        "connections.max.reauth.ms": "2000",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "super.users": "User:operator",
        # Old records are deleted within a second of a change of the settings, not within five minutes.
        "log.retention.check.interval.ms": "300",
        "log.initial.task.delay.ms": "300",
    }


def _tls_properties(secured: str, encrypted: str, certificate: Path) -> dict[str, str]:
    listeners = f"SECURED://{secured},ENCRYPTED://{encrypted}"
    return {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "SECURED:SASL_PLAINTEXT,ENCRYPTED:SASL_SSL",
        "listener.name.encrypted.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.encrypted.scram-sha-512.sasl.jaas.config": _SCRAM_MODULE,
        "listener.name.encrypted.ssl.keystore.type": "PEM",
        "listener.name.encrypted.ssl.keystore.location": str(certificate),
    }

"""A broker that knows users: without a name one may do anything but look at what is closed to others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
)

from kafka_groups import sandbox
from kafka_groups.sandbox.ports import HOST, free_ports
from tests.live.groups.topics import quiet

SECRET = "hunter2-of-the-operator"
_TIMEOUT_S = 30
_NAME = "guarded"
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_PASSWORDS = {"operator": SECRET, "describer": "hunter2-of-the-describer"}


@dataclass(frozen=True, kw_only=True)
class Guarded:
    """`bootstrap` takes everybody, as nobody by name; `secured` wants a user. The operator may do all."""

    bootstrap: str
    secured: str

    def client(self, user: str, password: str | None = None) -> dict[str, str]:
        """librdkafka's properties for a user."""
        return {
            "bootstrap.servers": self.secured,
            "security.protocol": "sasl_plaintext",
            "sasl.mechanism": "PLAIN",
            "sasl.username": user,
            "sasl.password": password or _PASSWORDS[user],
        }

    def flags(self, user: str, password: str | None = None) -> list[str]:
        """The same as options of the command line."""
        client = self.client(user, password)
        return ["-b", client.pop("bootstrap.servers"), *(f"-X{name}={value}" for name, value in client.items())]

    def allow(self, user: str, operation: AclOperation, name: str, *, kind: ResourceType = ResourceType.TOPIC) -> None:
        """From now on only the operator and those who are allowed may do anything with the topic (or group)."""
        what = (kind, name, ResourcePatternType.LITERAL)
        binding = AclBinding(*what, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
        admin = self._admin()
        admin.create_acls([binding])[binding].result(_TIMEOUT_S)

    @contextmanager
    def settings(self, topic: str, settings: Mapping[str, str]) -> Iterator[None]:
        """Let a topic have these settings for a while."""
        self._alter(topic, settings, AlterConfigOpType.SET)
        try:
            yield
        finally:
            self._alter(topic, dict.fromkeys(settings, ""), AlterConfigOpType.DELETE)

    def _alter(self, topic: str, settings: Mapping[str, str], how: AlterConfigOpType) -> None:
        entries = [ConfigEntry(name, value, incremental_operation=how) for name, value in settings.items()]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        admin = self._admin()
        admin.incremental_alter_configs([resource])[resource].result(_TIMEOUT_S)

    def _admin(self) -> AdminClient:
        return AdminClient({**quiet(self.secured), **self.client("operator")})


@contextmanager
def guarded_broker(home: Path) -> Iterator[Guarded]:
    """One broker with these two listeners."""
    (port,) = free_ports(1)
    wanted = sandbox.Wanted(
        name=_NAME, port=0, heap_mb=512, seed=False, profile=False, home=home, properties=_properties(port)
    )
    try:
        yield Guarded(bootstrap=sandbox.up(wanted).bootstrap, secured=f"{HOST}:{port}")
    finally:
        sandbox.down(_NAME, home=home)


def _properties(port: int) -> dict[str, str]:
    users = " ".join(f'user_{user}="{password}"' for user, password in _PASSWORDS.items())
    return {
        "listeners": f"SECURED://{HOST}:{port}",
        "advertised.listeners": f"SECURED://{HOST}:{port}",
        "listener.security.protocol.map": "SECURED:SASL_PLAINTEXT",
        "listener.name.secured.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.secured.plain.sasl.jaas.config": f"{_LOGIN} {users};",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "super.users": "User:operator",
        # Old records go within a second of the wish, not within five minutes.
        "log.retention.check.interval.ms": "300",
        "log.initial.task.delay.ms": "300",
    }

"""The users of SCRAM and the ACLs, which a running cluster stores."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox.security.listeners import SASL_PLAINTEXT
from kafka_groups.sandbox.security.users import READER, SCRAM_MECHANISMS, USERS

if TYPE_CHECKING:
    from confluent_kafka.admin import AclBinding, UserScramCredentialAlteration

_TIMEOUT_S: Final = 30
_ATTEMPT_S: Final = 1
_ITERATIONS: Final = 4096


def create_rights(bootstrap: str, secure_servers: Mapping[str, str]) -> None:
    """Create the users of SCRAM and the rights of the user reader, and wait until every broker has them.

    `secure_servers` are the servers of the listeners with users by their protocols. Raises SandboxError if a broker
    refuses, or if it does not have them in time.
    """
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    futures: list[Future[Any]] = [*admin.create_acls(_acls()).values()]
    for mechanism in SCRAM_MECHANISMS:
        # A request must not have a user twice.
        futures += admin.alter_user_scram_credentials(_scram_users(mechanism)).values()
    try:
        for future in futures:
            future.result(_TIMEOUT_S)
    except (KafkaException, TimeoutError) as error:
        msg = f"the users of the sandbox cannot be created: {error}; try again"
        raise SandboxError(msg) from error
    for server in secure_servers[SASL_PLAINTEXT].split(","):
        _await_user(server)


def _await_user(server: str) -> None:
    """Wait until a broker has the user that was created last; brokers apply the changes of the cluster in order."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    settings: dict[str, str | int | float | bool] = {
        "bootstrap.servers": server,
        "log_level": 0,
        "security.protocol": SASL_PLAINTEXT,
        "sasl.mechanism": SCRAM_MECHANISMS[-1],
        "sasl.username": READER.name,
        "sasl.password": READER.password,
    }
    deadline = time.monotonic() + _TIMEOUT_S
    while True:
        try:
            # A client of its own for each attempt, because librdkafka waits before it connects once more.
            AdminClient(settings).list_topics(timeout=_ATTEMPT_S)
        except KafkaException as error:
            if time.monotonic() > deadline:
                msg = f"the broker at {server} does not know the users of the sandbox after {_TIMEOUT_S} s: {error}"
                raise SandboxError(msg) from error
        else:
            return


def _scram_users(mechanism: str) -> list[UserScramCredentialAlteration]:
    from confluent_kafka.admin import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

    info = ScramCredentialInfo(ScramMechanism[mechanism.replace("-", "_")], _ITERATIONS)
    return [UserScramCredentialUpsertion(user.name, info, user.password.encode()) for user in USERS]


def _acls() -> list[AclBinding]:
    from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

    # Kafka's resource type is CLUSTER; librdkafka's name for the same number is BROKER.
    resources = ((ResourceType.BROKER, "kafka-cluster"), (ResourceType.TOPIC, "*"), (ResourceType.GROUP, "*"))
    return [
        AclBinding(
            kind,
            name,
            ResourcePatternType.LITERAL,
            f"User:{READER.name}",
            "*",
            AclOperation.DESCRIBE,
            AclPermissionType.ALLOW,
        )
        for kind, name in resources
    ]

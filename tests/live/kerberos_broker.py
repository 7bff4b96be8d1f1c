"""A broker with two listeners for Kerberos, whose host names and principals differ, and users with keytabs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil
import pytest

from kafka_groups import sandbox
from kafka_groups.sandbox.ports import HOST, free_ports
from tests.live.kdc import Kdc, run_kdc

_NAME: Final = "kerberos"
_MODULE: Final = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true"
_TIMEOUT_S: Final = 120
_FIRST_SYSTEM_PORT: Final = 32_000


@dataclass(frozen=True, kw_only=True)
class KerberosBroker:
    """The addresses of a broker, and the keytabs of the users alice, who may do everything, and bob, who may nothing.

    The listener `local` is kafka/localhost, and `numeric` is kafka/127.0.0.1. `bootstrap` is PLAINTEXT.
    """

    kdc: Kdc
    bootstrap: str
    local: str
    numeric: str
    alice: Path
    bob: Path
    directory: Path = field(repr=False)

    def run(
        self,
        *arguments: str,
        server: str | None = None,
        environment: Mapping[str, str] | None = None,
        before: Sequence[str] = (),
    ) -> subprocess.CompletedProcess[str]:
        """Run kafka-groups in a process of its own, after the program `before`, with an empty ticket cache."""
        login = ("-Xsecurity.protocol=SASL_PLAINTEXT", "-Xsasl.mechanism=GSSAPI")
        variables = {
            **{name: value for name, value in os.environ.items() if not name.startswith("KAFKA_GROUPS_")},
            **self.kdc.environment(self.directory / "no-tickets"),
            **(environment or {}),
        }
        command = [*before, sys.executable, "-m", "kafka_groups", *arguments, "-b", server or self.local, *login]
        return subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)

    def cache(self, name: str, *kinit: str) -> dict[str, str]:
        """Return the variables of a new ticket cache with a ticket of alice."""
        cache = self.directory / name
        self.kdc.kinit(self.alice, "alice", cache, *kinit)
        return self.kdc.environment(cache)


@contextmanager
def run_kerberos_broker(home: Path) -> Iterator[KerberosBroker]:
    """Run a KDC, and one broker with the three listeners."""
    (home / "kdc").mkdir()
    with run_kdc(home / "kdc") as kdc, pytest.MonkeyPatch.context() as patch:
        local, numeric = free_ports(2)
        alice, bob = (kdc.create_keytab(user) for user in ("alice", "bob"))
        properties = _properties(kdc, local, numeric)
        patch.setenv("JAVA_TOOL_OPTIONS", f"-Djava.security.krb5.conf={kdc.krb5_config}")
        spec = sandbox.SandboxSpec(
            name=_NAME, port=0, heap_mb=512, seed=False, profile=False, home=home, properties=properties
        )
        try:
            yield KerberosBroker(
                kdc=kdc,
                bootstrap=sandbox.up(spec).bootstrap,
                local=f"localhost:{local}",
                numeric=f"{HOST}:{numeric}",
                alice=alice,
                bob=bob,
                directory=home,
            )
        finally:
            sandbox.down(_NAME, home=home)


@contextmanager
def run_brokers(broker: KerberosBroker, count: int) -> Iterator[tuple[str, list[str]]]:
    """Run more brokers of another cluster, with the principal kafka/localhost and the KDC of the first one.

    Yield their addresses for clients without credentials, and those of their listeners for Kerberos.
    """
    properties = {
        # The settings are the same for all of them, so the system chooses the ports.
        "listeners": f"LOCAL://{HOST}:0",
        "advertised.listeners": "LOCAL://localhost:0",
        "listener.security.protocol.map": "LOCAL:SASL_PLAINTEXT",
        "sasl.kerberos.service.name": "kafka",
        **_listener("local", "kafka/localhost", broker.kdc.keytab_of("kafka/localhost")),
    }
    name = f"{_NAME}-{count}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", f"-Djava.security.krb5.conf={broker.kdc.krb5_config}")
        spec = sandbox.SandboxSpec(
            name=name,
            brokers=count,
            port=0,
            heap_mb=512,
            seed=False,
            profile=False,
            home=broker.directory,
            properties=properties,
        )
        try:
            bootstrap = sandbox.up(spec).bootstrap
            yield bootstrap, [f"localhost:{port}" for port in _system_ports(broker.directory / name)]
        finally:
            sandbox.down(name, home=broker.directory)


def _system_ports(directory: Path) -> list[int]:
    """Return the ports that the system has chosen for the brokers in a directory; others are below 32,000."""
    brokers = [
        each for each in psutil.process_iter(["cmdline"]) if f"{directory}/" in " ".join(each.info["cmdline"] or ())
    ]
    connections = [connection for each in brokers for connection in each.net_connections("tcp")]
    ports = {each.laddr.port for each in connections if each.status == psutil.CONN_LISTEN}
    return sorted(port for port in ports if port >= _FIRST_SYSTEM_PORT)


def _properties(kdc: Kdc, local: int, numeric: int) -> dict[str, str]:
    return {
        "listeners": f"LOCAL://{HOST}:{local},NUMERIC://{HOST}:{numeric}",
        "advertised.listeners": f"LOCAL://localhost:{local},NUMERIC://{HOST}:{numeric}",
        "listener.security.protocol.map": "LOCAL:SASL_PLAINTEXT,NUMERIC:SASL_PLAINTEXT",
        "sasl.kerberos.service.name": "kafka",
        **_listener("local", "kafka/localhost", kdc.create_keytab("kafka/localhost")),
        **_listener("numeric", f"kafka/{HOST}", kdc.create_keytab(f"kafka/{HOST}")),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:alice;User:ANONYMOUS",
    }


def _listener(name: str, principal: str, keytab: Path) -> dict[str, str]:
    return {
        f"listener.name.{name}.sasl.enabled.mechanisms": "GSSAPI",
        f"listener.name.{name}.gssapi.sasl.jaas.config": f'{_MODULE} keyTab="{keytab}" principal="{principal}";',
    }

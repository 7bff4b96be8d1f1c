"""Kerberos with a real KDC and a real broker: ticket cache, keytab, host names, and an error for each failure."""

from __future__ import annotations

import json
import os
import shutil
import socket
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from kafka_groups import sandbox
from kafka_groups.java import java_modules
from kafka_groups.sandbox.java import find_java
from kafka_groups.sandbox.versions import parse_version
from tests.live.groups.topics import make_topic, unique_name
from tests.live.kdc import find
from tests.live.kerberos_broker import KerberosBroker, run_brokers, run_kerberos_broker
from tests.live.pipeline.offsets_topic import commit

pytestmark = pytest.mark.live

_KAFKA = parse_version(sandbox.DEFAULT_VERSION)
_PROGRAMS = ("krb5kdc", "kadmin.local", "kinit", "faketime")
# Deadlines of commands keep true time.
_TRUE_DEADLINES = {"FAKETIME_DONT_FAKE_MONOTONIC": "1"}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KerberosBroker]:
    if os.environ.get("KERBEROS") != "1":
        pytest.skip("KERBEROS=1 is not set: the tests need Debian's KDC, and the library gssapi")
    missing = [name for name in _PROGRAMS if shutil.which(find(name)) is None]
    missing += [] if find_spec("gssapi") else ["the library gssapi"]
    missing += [] if "java.security.jgss" in java_modules(find_java(_KAFKA)) else ["the module java.security.jgss"]
    assert not missing, f"KERBEROS=1 is set, and these are missing: {', '.join(missing)}"
    with run_kerberos_broker(tmp_path_factory.mktemp("kerberos")) as started:
        yield started


@pytest.fixture(scope="module")
def group(broker: KerberosBroker) -> str:
    """Return a group with the committed offset 3 of 8."""
    name = unique_name("kerberos")
    commit(broker.bootstrap, name, make_topic(broker.bootstrap, records=8), 1, 2, 3)
    return name


@pytest.fixture(scope="module")
def cluster_of_three(broker: KerberosBroker) -> Iterator[tuple[str, list[str]]]:
    """Yield the servers of three brokers without and with Kerberos."""
    with run_brokers(broker, 3) as servers:
        yield servers


def keytab(path: Path, principal: str | None = None) -> list[str]:
    flags = [f"-Xsasl.kerberos.keytab={path}"]
    return flags if principal is None else [*flags, f"-Xsasl.kerberos.principal={principal}"]


def error_of(broker: KerberosBroker, *arguments: str, **options: object) -> str:
    outcome = broker.run("list", *arguments, **options)  # type: ignore[arg-type]
    assert (outcome.returncode, outcome.stdout) == (1, "")
    assert outcome.stderr.count("\n") == 1
    return outcome.stderr


def test_a_ticket_cache_is_enough_for_every_command(broker: KerberosBroker, group: str) -> None:
    environment = broker.cache("every-command")
    assert group in broker.run("list", environment=environment).stdout
    document = json.loads(broker.run("describe", "--group", group, "--format", "json", environment=environment).stdout)
    assert document["groups"][0]["offsets"][0]["committed_offset"] == 3
    rows = json.loads(broker.run("lag", "--group", group, "--format", "json", environment=environment).stdout)
    assert rows["groups"][0]["lag"] == 5
    reset = ("reset", "--group", group, "--all-topics", "--to-earliest", "--execute", "--yes", "--format", "json")
    outcome = broker.run(*reset, environment=environment)
    assert outcome.returncode == 0, outcome.stderr


def test_the_check_of_a_connection_has_the_reason_of_a_failed_login(broker: KerberosBroker) -> None:
    outcome = broker.run("check", environment=broker.cache("check"))
    assert outcome.returncode == 0, outcome.stdout
    failed = broker.run("check")
    assert failed.returncode != 0
    assert "there is no Kerberos ticket" in failed.stdout
    assert "run kinit" in failed.stdout + failed.stderr


def test_a_keytab_needs_no_ticket_cache(broker: KerberosBroker, group: str) -> None:
    assert group in broker.run("list", *keytab(broker.alice)).stdout
    assert group in broker.run("list", *keytab(broker.alice, "alice@KAFKA.TEST")).stdout
    jaas = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true"
    assert group in broker.run("list", f'-Xsasl.jaas.config={jaas} keyTab="{broker.alice}" principal=alice;').stdout
    assert not (broker.directory / "no-tickets").exists()


def test_the_broker_knows_the_user_by_the_principal(broker: KerberosBroker, group: str) -> None:
    outcome = broker.run("list", *keytab(broker.bob))
    assert (outcome.returncode, group in outcome.stdout) == (0, False)


def test_each_host_has_a_principal_of_its_own(broker: KerberosBroker, group: str) -> None:
    as_given = {"KRB5_CONFIG": str(broker.kdc.write_config("as-given.conf", canonicalize=False))}
    flags = keytab(broker.alice)
    for server in (broker.local, broker.numeric):
        assert group in broker.run("list", *flags, server=server, environment=as_given).stdout


@pytest.mark.parametrize("has_keytab", [True, False], ids=["keytab", "cache"])
def test_each_broker_of_a_cluster_gets_a_ticket(
    cluster_of_three: tuple[str, list[str]], broker: KerberosBroker, has_keytab: bool
) -> None:
    bootstrap, servers = cluster_of_three
    groups = [unique_name("kerberos") for _ in range(6)]
    topic = make_topic(bootstrap, records=8)
    for name in groups:
        commit(bootstrap, name, topic, 3)
    flags = keytab(broker.alice) if has_keytab else []
    environment = {} if has_keytab else broker.cache("cluster")
    arguments = ("describe", "--all-groups", "--format", "json", *flags)
    outcome = broker.run(*arguments, server=servers[0], environment=environment)
    document = json.loads(outcome.stdout)
    assert document["errors"] == []
    assert {row["group"] for row in document["groups"]} >= set(groups)
    assert len(servers) == 3


def test_a_canonical_name_takes_the_place_of_an_address(broker: KerberosBroker) -> None:
    # 127.0.0.1 is localhost, whose key this listener does not have.
    text = error_of(broker, *keytab(broker.alice), server=broker.numeric)
    assert f"cannot connect to {broker.numeric}: the broker refused the Kerberos ticket of alice@KAFKA.TEST" in text
    assert "the keytab of the broker" in text
    as_alias = broker.numeric.replace("127.0.0.1", "localhost")
    flags = ["-Xclient.dns.lookup=resolve_canonical_bootstrap_servers_only", *keytab(broker.alice)]
    assert "for kafka/localhost" in error_of(broker, *flags, server=as_alias)


def test_a_service_that_the_kdc_does_not_know_is_named(broker: KerberosBroker) -> None:
    flags = [*keytab(broker.alice), "-Xsasl.kerberos.service.name=kafka2"]
    text = error_of(broker, *flags)
    assert f"cannot connect to {broker.local}: the KDC does not know the service kafka2/localhost (Server " in text
    assert "; check sasl.kerberos.service.name, and the host name of the broker" in text


def test_an_unknown_host_of_the_kdc_leaves_the_other_servers(broker: KerberosBroker, group: str) -> None:
    config = broker.kdc.write_config("other-host.conf", canonicalize=False)
    flags = keytab(broker.alice)
    servers = f"127.0.0.2:{broker.numeric.partition(':')[2]},{broker.local}"
    assert group in broker.run("list", *flags, server=servers, environment={"KRB5_CONFIG": str(config)}).stdout


def test_each_failure_has_an_error_of_its_own_with_the_next_step(broker: KerberosBroker, tmp_path: Path) -> None:
    kdc = broker.kdc
    junk = tmp_path / "junk"
    junk.write_bytes(b"junk")
    closed = {"KRB5_CONFIG": str(kdc.write_config("closed.conf", kdc="127.0.0.1:9"))}
    cache = broker.cache("expired", "-l", "1s")
    time.sleep(2)
    texts = [
        error_of(broker),
        error_of(broker, "-Xsasl.kerberos.principal=bob", environment=broker.cache("of-alice")),
        error_of(broker, environment=cache),
        error_of(broker, *keytab(tmp_path / "absent")),
        error_of(broker, *keytab(junk)),
        error_of(broker, *keytab(broker.alice, "carol")),
        error_of(broker, *keytab(_old_keytab(broker, tmp_path))),
        error_of(broker, *keytab(_keytab_of_deleted_user(broker))),
        error_of(broker, *keytab(broker.alice), environment=closed),
    ]
    steps = [
        "there is no Kerberos ticket (No Kerberos credentials available (default cache: FILE:",
        "there is no Kerberos ticket (Can't find client principal bob@KAFKA.TEST in cache collection); run kinit bob",
        "the Kerberos ticket has expired; run kinit again",
        f"the keytab {tmp_path / 'absent'} cannot be read: No such file or directory; check sasl.kerberos.keytab",
        f"the keytab {junk} has no key; list its principals with klist -k {junk}",
        f"the keytab {broker.alice} has no key of the principal carol; list its principals",
        "is not the KDC's, which may have a newer one; export the keytab again",
        "the KDC does not know the user (Client 'dave@KAFKA.TEST' not found in Kerberos database); check",
        "Cannot contact any KDC for realm 'KAFKA.TEST'; check the network, and the address of the KDC in krb5.conf",
    ]
    for text, step in zip(texts, steps, strict=True):
        assert text.startswith("Error: cannot log in: "), text
        assert step in text
    assert len(set(texts)) == len(texts)


def test_a_kdc_that_is_silent_takes_no_longer_than_the_timeout(broker: KerberosBroker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        config = {"KRB5_CONFIG": str(broker.kdc.write_config("silent.conf", kdc=address))}
        began = time.monotonic()
        text = error_of(broker, "--timeout", "3s", *keytab(broker.alice), environment=config)
    assert time.monotonic() - began < 8
    assert text.startswith(
        "Error: cannot log in: the KDC took too long: it returned no Kerberos ticket within 2.7 s; check"
    )


@pytest.mark.parametrize("skew", ["+1h", "-1h"])
def test_a_clock_that_differs_is_named(broker: KerberosBroker, skew: str) -> None:
    environment = broker.cache(f"skew{skew}") | _TRUE_DEADLINES
    text = error_of(broker, environment=environment, before=("faketime", "-f", skew))
    assert "the clocks of this machine and of the KDC differ by more than five minutes; set the clock" in text


def test_a_wrong_clock_with_a_service_ticket_is_a_refusal(broker: KerberosBroker, group: str) -> None:
    environment = broker.cache("service-ticket") | _TRUE_DEADLINES
    assert group in broker.run("list", environment=environment).stdout
    text = error_of(broker, environment=environment, before=("faketime", "-f", "+1h"))
    assert "the broker refused the Kerberos ticket of alice@KAFKA.TEST for kafka/localhost: " in text
    assert "; check the clocks of both machines" in text


@pytest.mark.parametrize(
    "arguments", [("lag", "--time"), ("pipeline", "ingest", "--data-dir", "DIRECTORY")], ids=["lag", "ingest"]
)
def test_commands_that_read_records_name_the_missing_build(
    broker: KerberosBroker, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    words = [str(tmp_path) if word == "DIRECTORY" else word for word in arguments]
    # Nothing listens there.
    outcome = broker.run(*words, *keytab(broker.alice), server="127.0.0.1:9")
    assert outcome.returncode == 1
    assert "librdkafka, which reads them, is built without it, as in the wheels of confluent-kafka" in outcome.stderr


def _old_keytab(broker: KerberosBroker, directory: Path) -> Path:
    old = directory / "old.keytab"
    old.write_bytes(broker.kdc.create_keytab("erin").read_bytes())
    broker.kdc.run("kadmin.local", "-q", "cpw -randkey erin")
    return old


def _keytab_of_deleted_user(broker: KerberosBroker) -> Path:
    path = broker.kdc.create_keytab("dave")
    broker.kdc.run("kadmin.local", "-q", "delprinc -force dave")
    return path

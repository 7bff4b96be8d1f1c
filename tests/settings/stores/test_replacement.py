"""Settings with key stores, for both clients: the content of the stores, and errors with their next step."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from kafka_groups.errors import SettingsError
from kafka_groups.settings import Tls
from kafka_groups.settings.librdkafka import client_properties, resolve_client
from tests.settings.resolution import resolve, write_file
from tests.settings.stores.store_files import DIRECTORY, KEY_PASSWORD, PASSWORD

SSL = "security.protocol=SSL"
TRUST = f"ssl.truststore.password={PASSWORD}"
STORE = f"ssl.keystore.password={PASSWORD}"
KEY = f"ssl.key.password={KEY_PASSWORD}"


def store(name: str) -> str:
    return str(DIRECTORY / name)


def tls_of(*properties: str) -> Tls:
    """Return the settings of TLS. Check that librdkafka accepts the same texts, from both ways to its properties."""
    settings = resolve(bootstrap="127.0.0.1:9", properties=[SSL, *properties])
    client = resolve_client(bootstrap="127.0.0.1:9", properties=[SSL, *properties], environment={}).properties
    tls = settings.tls
    assert tls is not None
    texts = {"ssl.ca.pem": tls.ca_pem, "ssl.certificate.pem": tls.certificate_pem, "ssl.key.pem": tls.key_pem}
    for each in (client, client_properties(settings)):
        assert {key: each.get(key) for key in texts} == texts
        assert not [key for key in each if "store" in key or "password" in key]
        Consumer({**each, "group.id": "g", "log_level": 0}).close()
    return tls


def error_of(*properties: str) -> str:
    """Return the text of the error that the properties give; it is the same for both clients."""
    texts = set()
    for resolve_sources in (resolve, resolve_client):
        with pytest.raises(SettingsError) as caught:
            resolve_sources(bootstrap="b", properties=[SSL, *properties], environment={})
        assert PASSWORD not in repr(caught.value)
        texts.add(str(caught.value))
    (text,) = texts
    return text


@pytest.mark.parametrize("name", ["trust-17.jks", "trust-25.jks", "trust-17.p12", "trust-25.p12"])
def test_a_trust_store_is_the_text_of_its_certificates(name: str) -> None:
    tls = tls_of(f"ssl.truststore.location={store(name)}", TRUST)
    assert tls == tls_of(f"ssl.truststore.location={store('trust-17.jks')}")
    assert str(tls.ca_pem).count("BEGIN CERTIFICATE") == 1


@pytest.mark.parametrize("name", ["client-17.jks", "client-25.jks", "client-17.p12", "client-25.p12", "legacy.p12"])
def test_a_key_store_is_the_texts_of_its_chain_and_its_key(name: str) -> None:
    password = [KEY] if name.endswith("jks") else []
    tls = tls_of(f"ssl.keystore.location={store(name)}", STORE, *password)
    assert str(tls.certificate_pem).count("BEGIN CERTIFICATE") == 3
    assert str(tls.key_pem).startswith("-----BEGIN PRIVATE KEY-----\n")
    assert (tls.certificate_file, tls.key_file, tls.key_password) == (None, None, None)
    expected = tls_of(f"ssl.keystore.location={store('client-17.jks')}", STORE, KEY)
    assert tls.certificate_pem == expected.certificate_pem


@pytest.mark.parametrize("kind", ["JKS", "PKCS12", "PEM", "BCFKS"])
def test_neither_the_type_nor_the_name_of_a_file_matters(kind: str, tmp_path: Path) -> None:
    for name in ("trust-17.jks", "trust-25.p12"):
        copy = tmp_path / "truststore.jks"
        shutil.copy(store(name), copy)
        tls = tls_of(f"ssl.truststore.location={copy}", TRUST, f"ssl.truststore.type={kind}")
        assert str(tls.ca_pem).count("BEGIN CERTIFICATE") == 1
    pem = tmp_path / "ca.jks"
    pem.write_text("-----BEGIN CERTIFICATE-----")
    settings = resolve(bootstrap="b", properties=[SSL, f"ssl.ca.location={pem}", f"ssl.truststore.type={kind}"])
    assert settings.tls == Tls(ca_file=str(pem))


def test_the_first_of_several_keys_is_used_in_both_formats() -> None:
    jks = tls_of(f"ssl.keystore.location={store('several.jks')}", STORE, KEY)
    pkcs12 = tls_of(f"ssl.keystore.location={store('several.p12')}", STORE)
    assert str(pkcs12.certificate_pem).count("BEGIN") == 1
    assert jks.key_pem is not None


def test_the_certificate_of_a_key_is_trusted_too_as_in_java() -> None:
    jks = tls_of(f"ssl.truststore.location={store('several.jks')}", TRUST)
    assert str(jks.ca_pem).count("BEGIN") == 3
    pkcs12 = tls_of(f"ssl.truststore.location={store('several.p12')}", TRUST)
    assert str(pkcs12.ca_pem).count("BEGIN") == 4


def test_the_key_may_have_another_password_than_its_store() -> None:
    pair = f"ssl.keystore.location={store('client-17.jks')}"
    text = error_of(pair, STORE)
    assert text.endswith(
        f"{store('client-17.jks')} cannot be used: -X ssl.keystore.password does not decrypt the private key of its "
        "entry 'client'; set ssl.key.password to that of the key"
    )
    assert tls_of(pair, KEY).key_pem is not None


def test_a_key_of_pkcs12_with_its_own_password_names_the_command_that_changes_it() -> None:
    path = store("key-password.p12")
    assert error_of(f"ssl.keystore.location={path}", STORE, KEY).endswith(
        f"{path} cannot be used: -X ssl.keystore.password is not its password, or its key has another password "
        "(ssl.key.password), which this tool does not support in PKCS12; correct the password, or give the key that of "
        f"the store: keytool -keypasswd -storetype JKS -alias ALIAS -keystore {path}"
    )
    assert "or the file is damaged" in error_of(f"ssl.truststore.location={path}", "ssl.truststore.password=x", KEY)


@pytest.mark.parametrize(
    ("name", "properties", "reason"),
    [
        ("client-17.jks", ["ssl.keystore.password=wrong"], "-X ssl.keystore.password is not its password, or the file"),
        ("client-17.p12", ["ssl.keystore.password=wrong"], "-X ssl.keystore.password is not its password, or the file"),
        ("client-17.p12", [], "it needs a password; set ssl.keystore.password"),
        ("client-17.jks", [], "its key needs a password; set ssl.keystore.password"),
        (
            "client-17.jks",
            [STORE, "ssl.key.password=wrong"],
            "-X ssl.key.password does not decrypt the private key of its entry 'client'; correct it",
        ),
        ("trust-17.jks", [STORE], "it has no private key with a certificate; give the store for which 'keytool -list'"),
        ("trust-17.p12", [STORE], "it has no private key with a certificate; give the store for which 'keytool -list'"),
        ("client.jceks", [STORE], "it is a JCEKS store, which is not supported; convert it with: keytool -importkeys"),
    ],
)
def test_a_key_store_that_cannot_be_used_has_a_next_step(name: str, properties: list[str], reason: str) -> None:
    lead = f"-X ssl.keystore.location={store(name)} cannot be used: "
    assert error_of(f"ssl.keystore.location={store(name)}", *properties).startswith(lead + reason)


@pytest.mark.parametrize(
    ("name", "properties", "reason"),
    [
        ("trust-17.jks", ["ssl.truststore.password=wrong"], "-X ssl.truststore.password is not its password, or the f"),
        ("trust-17.p12", ["ssl.truststore.password=wrong"], "-X ssl.truststore.password is not its password, or the f"),
        ("trust-17.p12", [], "it needs a password; set ssl.truststore.password"),
        ("empty.jks", [TRUST], "it has no certificate; add the CA of the brokers with: keytool -importcert -file CA.p"),
        ("client.jceks", [], "it is a JCEKS store, which is not supported; convert it with: keytool -importkeystore"),
    ],
)
def test_a_trust_store_that_cannot_be_used_has_a_next_step(name: str, properties: list[str], reason: str) -> None:
    lead = f"-X ssl.truststore.location={store(name)} cannot be used: "
    assert error_of(f"ssl.truststore.location={store(name)}", *properties).startswith(lead + reason)


def test_a_file_of_an_unknown_format_and_a_damaged_one_have_a_next_step(tmp_path: Path) -> None:
    file = tmp_path / "store"
    lead = f"-X ssl.truststore.location={file} cannot be used: "
    file.write_bytes(b"\0\0\0\2BKS")
    assert error_of(f"ssl.truststore.location={file}").startswith(
        f"{lead}it is no PEM, JKS or PKCS12 file; if Java reads it, add its -srcstoretype and convert it with: keytool"
    )
    for name in ("trust-17.jks", "trust-17.p12"):
        file.write_bytes((DIRECTORY / name).read_bytes()[:-30])
        assert error_of(f"ssl.truststore.location={file}", TRUST) == (
            f"{lead}it is damaged, or not complete; copy it again from its source"
        )
    file.write_bytes(b"\x30\x82\x04\x41\x30\x82\x04\x00\xa0")
    assert error_of(f"ssl.truststore.location={file}").startswith(f"{lead}it is a DER file; convert it with: openssl")


def test_a_file_that_cannot_be_read_is_left_to_its_reader(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (tmp_path / "absent", tmp_path, pipe):
        assert resolve(bootstrap="b", properties=[SSL, f"ssl.ca.location={path}"]).tls == Tls(ca_file=str(path))


@pytest.mark.parametrize("pair", ["ssl.key.location=/me.key", "ssl.keystore.key=x"])
def test_a_key_beside_a_key_store_is_rejected(pair: str) -> None:
    assert error_of(f"ssl.keystore.location={store('client-17.p12')}", STORE, pair) == (
        f"-X {pair.partition('=')[0]} and the key store -X ssl.keystore.location exclude each other; remove one of them"
    )


def test_a_text_beside_a_trust_store_is_rejected() -> None:
    text = "ssl.ca.pem=-----BEGIN CERTIFICATE----- QUJD -----END CERTIFICATE-----"
    assert error_of(text, f"ssl.truststore.location={store('trust-17.p12')}", TRUST) == (
        "-X ssl.ca.pem and -X ssl.truststore.location exclude each other; remove one of them"
    )


@pytest.mark.parametrize("key", ["ssl.truststore", "ssl.keystore"])
def test_a_password_in_another_encoding_is_rejected(key: str) -> None:
    name = "trust-17.p12" if key == "ssl.truststore" else "client-17.jks"
    text = error_of(f"{key}.location={store(name)}", f"{key}.password=a\ud800b")
    assert text == f"-X {key}.password is not valid UTF-8; write it in UTF-8"


def test_a_password_that_is_a_variable_has_a_hint() -> None:
    text = error_of(f"ssl.truststore.location={store('trust-17.jks')}", "ssl.truststore.password=${env:ABSENT}")
    assert text.endswith("no config provider replaced its variable ${…}; check config.providers")


def test_a_store_is_read_only_if_the_protocol_has_tls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr("kafka_groups.settings.stores.replacement._read_regular")
    config = write_file(tmp_path, f"ssl.truststore.location={store('trust-17.p12')}\n{TRUST}\n")
    assert resolve(bootstrap="b", config=config).tls is None
    assert "ssl.ca.pem" not in resolve_client(bootstrap="b", config=config, environment={}).properties


def test_pem_files_and_jks_stores_do_not_import_cryptography(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.serialization.pkcs12", None)
    assert tls_of(f"ssl.keystore.location={store('client-17.jks')}", STORE, KEY).key_pem is not None


@pytest.mark.parametrize("key", ["ssl.ca.location", "ssl.ca.pem"])
def test_a_trust_store_of_a_higher_source_drops_the_password_of_a_lower_one(key: str, tmp_path: Path) -> None:
    config = write_file(tmp_path, f"{SSL}\nssl.truststore.location=/absent.jks\n{TRUST}\n")
    value = (
        store("trust-17.p12") if key == "ssl.ca.location" else "-----BEGIN CERTIFICATE-----Q-----END CERTIFICATE-----"
    )
    sources = {"bootstrap": "b", "config": config, "properties": [f"{key}={value}"], "environment": {}}
    if key == "ssl.ca.pem":
        assert str(resolve(**sources).tls.ca_pem).count("BEGIN") == 1  # type: ignore[union-attr]
        return
    with pytest.raises(SettingsError, match="it needs a password"):
        resolve(**sources)

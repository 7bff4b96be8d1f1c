"""PEM text in settings, from properties as both of Kafka's clients spell them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from kafka_groups.errors import SettingsError
from kafka_groups.settings import Tls
from kafka_groups.settings.librdkafka import resolve_client
from kafka_groups.settings.pem import PemBlock, pem_blocks
from tests.certificates import make_certificate
from tests.settings.resolution import error_text, resolve, write_file


def block(kind: str, digits: str = "QUJD") -> str:
    """Return a PEM block as OpenSSL writes it."""
    return f"-----BEGIN {kind}-----\n{digits}\n-----END {kind}-----\n"


CERTIFICATE, KEY = block("CERTIFICATE"), block("PRIVATE KEY")
SSL = "security.protocol=SSL"
JAVAS = ("ssl.truststore.certificates", "ssl.keystore.certificate.chain", "ssl.keystore.key")
LIBRDKAFKAS = ("ssl.ca.pem", "ssl.certificate.pem", "ssl.key.pem")


def client_error(*properties: str) -> str:
    """Return the text of the error that -X properties give; it is the same for both clients."""
    text = error_text(bootstrap="b", properties=[SSL, *properties])
    with pytest.raises(SettingsError) as caught:
        resolve_client(bootstrap="b", properties=[SSL, *properties], environment={})
    assert str(caught.value) == text
    return text


@pytest.mark.parametrize("keys", [JAVAS, LIBRDKAFKAS], ids=["Java's", "librdkafka's"])
def test_certificates_and_keys_may_be_pem_text(keys: tuple[str, str, str]) -> None:
    texts = zip(keys, (CERTIFICATE, CERTIFICATE * 2, KEY), strict=True)
    properties = [SSL, "ssl.truststore.type=PEM", "ssl.keystore.type=PEM", "ssl.key.password=p"]
    properties += [f"{key}={text}" for key, text in texts]
    tls = resolve(bootstrap="b", properties=properties).tls
    assert tls == Tls(ca_pem=CERTIFICATE, certificate_pem=CERTIFICATE * 2, key_pem=KEY, key_password="p")
    client = resolve_client(bootstrap="b", properties=properties, environment={}).properties
    assert [client[name] for name in (*LIBRDKAFKAS, "ssl.key.password")] == [CERTIFICATE, CERTIFICATE * 2, KEY, "p"]
    assert not set(JAVAS) & set(client)


@pytest.mark.parametrize(
    "written",
    [
        "-----BEGIN CERTIFICATE-----\\nQUJD\\n-----END CERTIFICATE-----",
        "-----BEGIN CERTIFICATE----- QU JD -----END CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\\\n  QUJD\\\n  -----END CERTIFICATE-----",
        "Bag Attributes -----BEGIN CERTIFICATE----- QUJD -----END CERTIFICATE-----  ",
    ],
)
def test_a_properties_file_may_have_pem_text_on_one_line(written: str, tmp_path: Path) -> None:
    config = write_file(tmp_path, f"{SSL}\nssl.truststore.certificates={written}\n")
    assert resolve(bootstrap="b", config=config).tls == Tls(ca_pem=CERTIFICATE)


def test_headers_of_an_encrypted_key_keep_their_lines() -> None:
    text = block("EC PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,91\n\nQUJD")
    assert pem_blocks(text) == [PemBlock("EC PRIVATE KEY", text)]
    assert [each.is_encrypted() for each in pem_blocks(text + KEY + block("ENCRYPTED PRIVATE KEY"))] == [
        True,
        False,
        True,
    ]


def test_long_lines_of_pem_text_are_wrapped() -> None:
    (wrapped,) = pem_blocks(block("CERTIFICATE", "A" * 100))
    assert wrapped.text.splitlines()[1:-1] == ["A" * 64, "A" * 36]


def test_the_repr_of_a_pem_block_does_not_show_its_text() -> None:
    assert repr(pem_blocks(KEY)) == "[PemBlock(label='PRIVATE KEY')]"


def test_the_text_of_a_certificate_may_have_its_key() -> None:
    properties = [SSL, f"ssl.certificate.pem={KEY}{CERTIFICATE}"]
    assert resolve(bootstrap="b", properties=properties).tls == Tls(certificate_pem=KEY + CERTIFICATE)
    client = resolve_client(bootstrap="b", properties=properties, environment={}).properties
    assert client["ssl.key.pem"] == KEY + CERTIFICATE


def test_a_certificate_may_be_a_file_and_its_key_text() -> None:
    properties = [SSL, "ssl.certificate.location=/me.pem", f"ssl.key.pem={KEY}"]
    assert resolve(bootstrap="b", properties=properties).tls == Tls(certificate_file="/me.pem", key_pem=KEY)
    client = resolve_client(bootstrap="b", properties=properties, environment={}).properties
    assert (client["ssl.certificate.location"], client["ssl.key.pem"]) == ("/me.pem", KEY)
    assert "ssl.key.location" not in client


@pytest.mark.parametrize(
    ("pair", "kind"),
    [("ssl.ca.pem=/ca.pem", "certificate"), (f"ssl.ca.pem={KEY}", "certificate"), ("ssl.key.pem=x", "private key")],
)
def test_text_that_is_not_pem_is_rejected_without_repeating_it(pair: str, kind: str) -> None:
    assert client_error(pair) == (
        f"-X {pair.partition('=')[0]} has no {kind}; "
        f"write the text of a PEM file, which has a line -----BEGIN {kind.upper()}-----"
    )


def test_text_and_file_of_one_source_exclude_each_other() -> None:
    assert client_error(f"ssl.ca.pem={CERTIFICATE}", "ssl.truststore.location=/ca.pem") == (
        "-X ssl.ca.pem and -X ssl.truststore.location exclude each other; remove one of them"
    )


def test_text_of_a_certificate_without_a_key_and_of_a_key_without_a_certificate_are_rejected() -> None:
    assert client_error(f"ssl.certificate.pem={CERTIFICATE}") == (
        "-X ssl.certificate.pem needs the private key of the certificate; set ssl.keystore.key"
    )
    assert client_error(f"ssl.keystore.key={KEY}") == (
        "-X ssl.keystore.key needs the certificate that belongs to the key; set ssl.certificate.location"
    )


@pytest.mark.parametrize("store_type", ["JKS", "PEM"])
def test_a_certificate_of_a_higher_source_replaces_text_file_and_type_of_a_lower_one(
    store_type: str, tmp_path: Path
) -> None:
    lower = f"{SSL}\nssl.truststore.location=/t.jks\nssl.truststore.type={store_type}\n"
    config = write_file(tmp_path, lower)
    properties = [f"ssl.ca.pem={CERTIFICATE}"]
    assert resolve(bootstrap="b", config=config, properties=properties).tls == Tls(ca_pem=CERTIFICATE)
    assert resolve(bootstrap="b", config=config, properties=["ssl.ca.location=/ca.pem"]).tls == Tls(ca_file="/ca.pem")
    config = write_file(tmp_path, f"{SSL}\nssl.ca.pem={CERTIFICATE.replace(chr(10), ' ')}\n")
    assert resolve(bootstrap="b", config=config, properties=["ssl.ca.location=/ca.pem"]).tls == Tls(ca_file="/ca.pem")


def test_librdkafka_accepts_pem_text_on_one_line(tmp_path: Path, program: Callable[[str], str]) -> None:
    text = make_certificate(program("openssl"), tmp_path, "IP:127.0.0.1").read_text().replace("\n", " ")
    config = write_file(tmp_path, f"{SSL}\n" + "".join(f"{key}={text}\n" for key in JAVAS))
    properties = resolve_client(bootstrap="127.0.0.1:9", config=config, environment={}).properties
    Consumer({**properties, "group.id": "g", "log_level": 0}).close()

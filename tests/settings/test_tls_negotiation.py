"""TLS versions and cipher suites, by the names of Java and of OpenSSL."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from kafka_groups.admin.network.tls import make_context
from kafka_groups.errors import SettingsError
from kafka_groups.settings import Tls
from kafka_groups.settings.librdkafka import client_properties, resolve_client
from kafka_groups.settings.tls_negotiation import _OPENSSL_NAMES
from kafka_groups.settings.values import TLS_VERSIONS
from tests.settings.resolution import error_text, resolve, write_file

SSL = "security.protocol=SSL"
JAVA_1_2 = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
OPENSSL_1_2 = "ECDHE-RSA-AES128-GCM-SHA256"
JAVA_1_3 = "TLS_AES_256_GCM_SHA384"


def tls_of(*pairs: str) -> Tls:
    settings = resolve(bootstrap="b", properties=[SSL, *pairs])
    assert settings.tls is not None
    make_context(settings.tls)
    assert client_properties(settings).get("ssl.cipher.suites") == settings.tls.ciphers
    return settings.tls


def test_names_of_cipher_suites_are_those_of_openssl(program: Callable[[str], str]) -> None:
    command = [program("openssl"), "ciphers", "-stdname", "ALL:@SECLEVEL=0"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    names = {line.split()[0]: line.split()[2] for line in lines}
    assert {name: names.get(name) for name in _OPENSSL_NAMES} == _OPENSSL_NAMES


@pytest.mark.parametrize(
    ("value", "versions", "ciphers"),
    [
        (JAVA_1_2, ("TLSv1.2",), OPENSSL_1_2),
        (JAVA_1_3, ("TLSv1.3",), None),
        (f"{JAVA_1_3}, {JAVA_1_2}", TLS_VERSIONS, OPENSSL_1_2),
        (f"{JAVA_1_2},TLS_EMPTY_RENEGOTIATION_INFO_SCSV", ("TLSv1.2",), OPENSSL_1_2),
        ("SSL_RSA_WITH_AES_128_CBC_SHA", ("TLSv1.2",), "AES128-SHA"),
        (f"{JAVA_1_2},TLS_DHE_RSA_WITH_AES_256_CBC_SHA256", ("TLSv1.2",), f"{OPENSSL_1_2}:DHE-RSA-AES256-SHA256"),
        (f"{JAVA_1_3}:{OPENSSL_1_2}", TLS_VERSIONS, OPENSSL_1_2),
        (OPENSSL_1_2, TLS_VERSIONS, OPENSSL_1_2),
        ("HIGH:!SHA", TLS_VERSIONS, "HIGH:!SHA"),
        ("", TLS_VERSIONS, None),
        (",", TLS_VERSIONS, None),
        (" : , ", TLS_VERSIONS, None),
    ],
)
def test_cipher_suites_may_have_names_of_java_or_of_openssl(
    value: str, versions: tuple[str, ...], ciphers: str | None
) -> None:
    tls = tls_of(f"ssl.cipher.suites={value}")
    assert (tls.versions, tls.ciphers) == (versions, ciphers)
    client = resolve_client(bootstrap="b:1", properties=[SSL, f"ssl.cipher.suites={value}"], environment={}).properties
    assert client.get("ssl.cipher.suites") == ciphers
    Consumer({**client, "group.id": "g", "log_level": 0}).close()


@pytest.mark.parametrize(
    ("pairs", "versions"),
    [
        (["ssl.enabled.protocols=TLSv1.3"], ("TLSv1.3",)),
        (["ssl.enabled.protocols=TLSv1.2"], ("TLSv1.2",)),
        (["ssl.enabled.protocols=TLSv1.3, TLSv1.2"], TLS_VERSIONS),
        (["ssl.enabled.protocols=tlsv1.2,TLSv1.1,TLSv1"], ("TLSv1.2",)),
        (["ssl.protocol=TLS"], TLS_VERSIONS),
        (["ssl.protocol=TLSv1.3"], TLS_VERSIONS),
        (["ssl.protocol=TLSv1.2"], ("TLSv1.2",)),
        (["ssl.protocol=TLSv1.2", "ssl.enabled.protocols=TLSv1.2,TLSv1.3"], ("TLSv1.2",)),
        (["ssl.enabled.protocols="], TLS_VERSIONS),
    ],
)
def test_versions_are_those_that_java_would_use(pairs: list[str], versions: tuple[str, ...]) -> None:
    tls = tls_of(*pairs)
    assert tls.versions == versions
    context = make_context(tls)
    assert context.maximum_version in {ssl.TLSVersion.MAXIMUM_SUPPORTED, ssl.TLSVersion[versions[-1].replace(".", "_")]}
    assert context.minimum_version == ssl.TLSVersion[versions[0].replace(".", "_")]


@pytest.mark.parametrize(
    ("pairs", "text"),
    [
        (
            ["ssl.enabled.protocols=TLSv1.1"],
            "-X ssl.enabled.protocols allow no version of TLS that OpenSSL 3 accepts; enable TLSv1.2 or TLSv1.3",
        ),
        (
            ["ssl.enabled.protocols=TLSv1.3", "ssl.protocol=TLSv1.2"],
            (
                "-X ssl.enabled.protocols and -X ssl.protocol allow no version of TLS that OpenSSL 3 accepts; "
                "enable TLSv1.2 or TLSv1.3"
            ),
        ),
        (
            ["ssl.enabled.protocols=TLSv1.2,TLS1.3"],
            (
                "-X ssl.enabled.protocols: the TLS version TLS1.3 is unknown; write TLSv1.2 or TLSv1.3"
                "; did you mean 'TLSv1.3'?"
            ),
        ),
        (
            ["ssl.cipher.suites=TLS_ECHDE_RSA_WITH_AES_128_GCM_SHA256"],
            (
                "-X ssl.cipher.suites: the cipher suite TLS_ECHDE_RSA_WITH_AES_128_GCM_SHA256 is unknown, or this tool "
                f"cannot offer it; remove it; did you mean '{JAVA_1_2}'?"
            ),
        ),
        (
            [f"ssl.cipher.suites={JAVA_1_3},TLS_AES_128_CCM_SHA256"],
            (
                "-X ssl.cipher.suites: the cipher suite TLS_AES_128_CCM_SHA256 is unknown, or this tool "
                "cannot offer it; remove it"
            ),
        ),
        (
            ["ssl.cipher.suites=TLS_EMPTY_RENEGOTIATION_INFO_SCSV"],
            "-X ssl.cipher.suites has no cipher suite for TLSv1.2 and TLSv1.3; add one, or remove the property",
        ),
        (
            [f"ssl.cipher.suites={JAVA_1_2}", "ssl.enabled.protocols=TLSv1.3"],
            "-X ssl.cipher.suites has no cipher suite for TLSv1.3; add one, or remove the property",
        ),
    ],
)
def test_names_that_are_unknown_or_leave_nothing_are_usage_errors(pairs: list[str], text: str) -> None:
    assert error_text(bootstrap="b", properties=[SSL, *pairs]).startswith(text)


def test_a_name_that_openssl_does_not_have_is_an_error_with_the_nearest_one() -> None:
    for ciphers in ("ECHDE-RSA-AES128-GCM-SHA256", f"{OPENSSL_1_2}:ECHDE-RSA-AES128-GCM-SHA256"):
        with pytest.raises(SettingsError) as caught:
            make_context(Tls(ciphers=ciphers))
        assert str(caught.value) == (
            "cannot use the cipher suites (ssl.cipher.suites): this Python's OpenSSL does not offer "
            "ECHDE-RSA-AES128-GCM-SHA256; remove what the output of 'openssl ciphers -s' does not have"
            f"; did you mean '{OPENSSL_1_2}'?"
        )


@pytest.mark.parametrize(
    ("value", "suite"),
    [
        ("aNULL:@SECLEVEL=0", "ADH-AES256-GCM-SHA384"),
        ("@SECLEVEL=0:HIGH", "ADH-AES256-GCM-SHA384"),
        ("eNULL:!aNULL:@SECLEVEL=0", "ECDHE-ECDSA-NULL-SHA"),
    ],
)
def test_ciphers_without_authentication_or_encryption_are_refused(value: str, suite: str) -> None:
    pairs = [SSL, f"ssl.cipher.suites={value}"]
    text = (
        f"-X ssl.cipher.suites has cipher suites without authentication or without encryption ({suite}); "
        "append :!aNULL:!eNULL, or remove @SECLEVEL=0"
    )
    assert error_text(bootstrap="b", properties=pairs) == text
    with pytest.raises(SettingsError) as caught:
        resolve_client(bootstrap="b", properties=pairs, environment={})
    assert str(caught.value) == text


def test_a_low_security_level_is_accepted_for_ciphers_that_authenticate() -> None:
    value = f"{OPENSSL_1_2}:HIGH:!aNULL:!eNULL:@SECLEVEL=0"
    assert tls_of(f"ssl.cipher.suites={value}").ciphers == value


def test_an_expression_of_openssl_that_selects_nothing_is_an_error() -> None:
    with pytest.raises(SettingsError, match="does not offer NOTHING; remove"):
        make_context(Tls(ciphers="NOTHING"))


def test_a_flag_for_versions_is_refused_where_librdkafka_has_no_property_for_them(tmp_path: Path) -> None:
    pairs = [SSL, "ssl.enabled.protocols=TLSv1.3"]
    with pytest.raises(SettingsError) as caught:
        resolve_client(bootstrap="b", properties=pairs, environment={})
    assert str(caught.value) == (
        "-X ssl.enabled.protocols: librdkafka, which reads topics for the pipeline, negotiates TLSv1.2 and TLSv1.3, "
        "and has no property for that; remove it"
    )
    config = write_file(tmp_path, "\n".join(pairs))
    client = resolve_client(bootstrap="b", config=config, properties=["ssl.protocol=TLS"], environment={}).properties
    assert not {"ssl.enabled.protocols", "ssl.protocol"} & client.keys()

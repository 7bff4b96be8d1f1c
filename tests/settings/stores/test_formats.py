"""Formats of files with keys or certificates, by their first bytes, and the next step for those that are no PEM."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_groups.settings.stores.formats import conversion_to_pkcs12, describe_other_format, find_format
from tests.certificates import make_certificate
from tests.settings.stores.store_files import DIRECTORY


@pytest.mark.parametrize("file", sorted(DIRECTORY.iterdir()), ids=lambda file: file.name)
def test_every_store_of_keytool_has_the_format_of_its_suffix(file: Path) -> None:
    assert find_format(file.read_bytes()) == {"jks": "JKS", "jceks": "JCEKS", "p12": "PKCS12"}[file.suffix[1:]]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"\x30\x80\x02\x01\x03", "PKCS12"),
        (b"\x30\x82\x04\x41\x30\x82\x04\x00\xa0", "DER certificate"),
        (b"\x30\x82\x04\x41\x30\x82\x04\x00\x02", "DER certificate"),
        (b"\x30\x82\x04\x41\x30\x82\x04\x00\x30", "other"),
        (b"-----BEGIN CERTIFICATE-----", "other"),
        (b"\x30\x03\x04\x01\0", "other"),
        (b"0", "other"),
        (b"", "other"),
    ],
)
def test_the_first_bytes_decide_the_format(data: bytes, found: str) -> None:
    assert find_format(data) == found
    assert (describe_other_format(data, "s") is None) == (found == "other")


def test_a_jceks_store_has_the_command_that_converts_it_quoted_for_the_shell() -> None:
    path = "it's; a store"
    text = str(describe_other_format(b"\xce\xce\xce\xce\0\0\0\2", path))
    lead = "it is a JCEKS store, which is not supported; convert it with: "
    assert text == lead + conversion_to_pkcs12(path)
    assert {path, f"{path}.p12"} <= set(shlex.split(conversion_to_pkcs12(path)))


@pytest.mark.parametrize(
    "form",
    [
        ("pkey", "-outform", "DER"),
        ("pkcs8", "-topk8", "-nocrypt", "-outform", "DER"),
        ("pkcs8", "-topk8", "-passout", "pass:secret", "-outform", "DER"),
        ("x509", "-outform", "DER"),
    ],
    ids=["older", "PKCS8", "encrypted", "certificate"],
)
def test_a_der_file_has_the_command_that_converts_it(
    form: tuple[str, ...], tmp_path: Path, program: Callable[[str], str]
) -> None:
    source, file = make_certificate(program("openssl"), tmp_path, "DNS:me"), tmp_path / "it's a file"
    subprocess.run([program("openssl"), *form, "-in", str(source), "-out", str(file)], check=True, capture_output=True)
    kind, word = ("x509", "CERTIFICATE") if form[0] == "x509" else ("pkey", "PRIVATE KEY")
    lead = "it is a DER file; convert it with: "
    text = str(describe_other_format(file.read_bytes(), str(file)))
    assert text.startswith(f"{lead}openssl {kind} -inform DER ")
    command = [*shlex.split(text.removeprefix(lead)), "-passin", "pass:secret"]
    subprocess.run(command, check=True, capture_output=True)
    assert word in Path(f"{file}.pem").read_text()

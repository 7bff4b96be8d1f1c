"""PKCS12 stores by the package cryptography: keys, chains, trusted certificates, passwords."""

from __future__ import annotations

import sys
import warnings

import pytest

from kafka_groups.errors import SettingsError
from kafka_groups.settings.stores.pkcs12 import Pkcs12Store, read_pkcs12
from kafka_groups.settings.stores.store import StoreError
from tests.settings.stores.store_files import DIRECTORY, PASSWORD
from tests.settings.stores.test_jks import load


def read(name: str, password: str | None = PASSWORD) -> Pkcs12Store | None:
    return read_pkcs12((DIRECTORY / name).read_bytes(), password)


@pytest.mark.parametrize("name", ["client-17.p12", "client-25.p12", "legacy.p12", "expired.p12"])
def test_a_key_store_has_the_key_and_its_chain(name: str) -> None:
    store = read(name)
    assert store is not None
    assert store.key is not None
    assert len(store.key.chain) == 3
    assert b"root" in store.key.chain[-1]
    load(store.key)
    assert "key=b" not in repr(store)


@pytest.mark.parametrize("name", ["trust-17.p12", "trust-25.p12"])
def test_a_trust_store_has_certificates_and_no_key(name: str) -> None:
    store = read(name)
    assert store is not None
    assert (store.key, len(store.certificates)) == (None, 1)


def test_the_first_of_several_keys_has_its_own_chain_alone() -> None:
    store = read("several.p12")
    assert store is not None
    assert store.key is not None
    assert len(store.key.chain) == 1
    load(store.key)
    # The chain of the other key, and the trusted certificate.
    assert len(set(store.certificates)) == 4


@pytest.mark.parametrize("password", [None, "", "wrong", "wröng"])
def test_a_wrong_password_reads_nothing(password: str | None) -> None:
    assert read("client-25.p12", password) is None
    assert read("trust-17.p12", password) is None


@pytest.mark.parametrize("password", [None, "changeit"])
def test_a_store_without_encryption_needs_no_password(password: str | None) -> None:
    store = read("no-password.p12", password)
    assert store is not None
    assert len(store.certificates) == 1


@pytest.mark.parametrize("length", [10, 500, -1])
def test_a_store_that_was_cut_is_damaged(length: int) -> None:
    data = (DIRECTORY / "client-17.p12").read_bytes()
    with pytest.raises(StoreError, match="it is damaged, or not complete; copy it again from its source"):
        read_pkcs12(data[:length], PASSWORD)


def test_no_warning_of_cryptography_reaches_the_user() -> None:
    data = (DIRECTORY / "client-17.p12").read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Data behind the end is no DER, and a warning.
        assert read_pkcs12(data + b"x", PASSWORD) is not None


def test_without_cryptography_the_error_has_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.serialization.pkcs12", None)
    with pytest.raises(SettingsError) as caught:
        read("trust-17.p12")
    assert str(caught.value) == (
        "PKCS12 stores need the package cryptography; install it with: pip install 'kafka-groups[keys]'"
    )

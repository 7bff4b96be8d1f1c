"""The reader of JKS, with stores of keytool, and with damaged ones."""

from __future__ import annotations

import ssl
import tempfile

import pytest

from kafka_groups.settings.stores.jks import JksStore, decrypt_key, has_password, read_jks
from kafka_groups.settings.stores.store import KeyPair, StoreError
from tests.settings.stores.store_files import DIRECTORY, KEY_PASSWORD, PASSWORD

BOTH = pytest.mark.parametrize("version", ["17", "25"])


def content(name: str) -> bytes:
    return (DIRECTORY / name).read_bytes()


def load(pair: KeyPair) -> None:
    """Let OpenSSL check that the key belongs to the certificate."""
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(pair.certificate_pem() + pair.key_pem())
        file.flush()
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(file.name)


@BOTH
def test_a_key_store_has_the_key_and_its_chain(version: str) -> None:
    data = content(f"client-{version}.jks")
    store = read_jks(data)
    (entry,) = store.keys
    assert (entry.alias, len(entry.chain), store.trusted) == ("client", 3, ())
    key = decrypt_key(entry, KEY_PASSWORD)
    assert key is not None
    load(KeyPair(key=key, chain=entry.chain))
    assert KEY_PASSWORD not in repr(store)
    assert "protected" not in repr(store)


@BOTH
def test_a_trust_store_has_certificates_and_no_key(version: str) -> None:
    store = read_jks(content(f"trust-{version}.jks"))
    assert (store.keys, len(store.trusted)) == ((), 1)
    assert "CN=root" not in ssl.DER_cert_to_PEM_cert(store.trusted[0])
    assert b"root" in store.trusted[0]


def test_several_entries_keep_the_order_of_the_file() -> None:
    store = read_jks(content("several.jks"))
    assert {key.alias: len(key.chain) for key in store.keys} == {"other": 1, "client": 3}
    assert len(store.trusted) == 1


def test_a_store_without_entries_is_empty() -> None:
    assert read_jks(content("empty.jks")) == JksStore(keys=(), trusted=())


def test_the_digest_of_the_store_shows_a_wrong_password_and_a_changed_byte() -> None:
    data = content("client-17.jks")
    assert has_password(data, PASSWORD)
    assert not has_password(data, KEY_PASSWORD)
    assert not has_password(data, "")
    assert not has_password(data[:100] + b"\0" + data[101:], PASSWORD)


def test_a_wrong_password_does_not_decrypt_a_key() -> None:
    (entry,) = read_jks(content("client-17.jks")).keys
    assert decrypt_key(entry, PASSWORD) is None
    assert decrypt_key(entry, "") is None


@pytest.mark.parametrize("name", ["client-17.jks", "trust-25.jks", "several.jks"])
def test_a_store_that_was_cut_anywhere_is_damaged(name: str) -> None:
    data = content(name)
    for length in range(len(data)):
        with pytest.raises(StoreError, match="it is damaged, or not complete"):
            read_jks(data[:length])
    with pytest.raises(StoreError, match="it is damaged, or not complete"):
        read_jks(data + b"more")


@pytest.mark.parametrize(
    ("start", "replacement"),
    [(4, b"\0\0\0\3"), (8, b"\xff\xff\xff\xff"), (12, b"\0\0\0\3"), (12, b"\xff\xff\xff\xff")],
    ids=["version", "number of entries", "tag", "negative tag"],
)
def test_a_number_that_no_store_has_is_damage(start: int, replacement: bytes) -> None:
    data = content("trust-17.jks")
    with pytest.raises(StoreError, match="it is damaged, or not complete"):
        read_jks(data[:start] + replacement + data[start + 4 :])


def test_the_first_version_has_certificates_without_a_type() -> None:
    data = content("trust-17.jks")
    position = data.index(b"\0\5X.509")
    first = data[:4] + b"\0\0\0\1" + data[8:position] + data[position + 7 :]
    assert read_jks(first) == read_jks(data)


def test_a_key_with_another_protection_or_a_damaged_one_has_a_reason() -> None:
    (entry,) = read_jks(content("client-17.jks")).keys
    identifier = bytes.fromhex("060a2b060104012a02110101")
    other = entry.protected.replace(identifier, identifier[:-1] + b"\2")
    fields = {"alias": "client", "chain": entry.chain}
    for protected, reason in ((other, "has a protection that is not Java's own"), (b"\x30\x03\x30\x01", "is damaged")):
        with pytest.raises(StoreError, match=reason):
            decrypt_key(type(entry)(protected=protected, **fields), KEY_PASSWORD)  # type: ignore[arg-type]

"""The settings of key stores, replaced by the PEM texts that the stores hold.

What reads the settings afterwards knows PEM alone. The content of a file decides what it is; its name and the
properties of types do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Final, NoReturn

from kafka_groups.errors import SettingsError
from kafka_groups.settings.pairs import Setting
from kafka_groups.settings.stores.formats import conversion_to_pkcs12, describe_other_format, find_format
from kafka_groups.settings.stores.jks import JksStore, decrypt_key, has_password, read_jks
from kafka_groups.settings.stores.pkcs12 import Pkcs12Store, read_pkcs12
from kafka_groups.settings.stores.store import KeyPair, StoreError, certificates_pem
from kafka_groups.settings.tls import CA_FILE, CA_PEM, CERTIFICATE_FILE, CERTIFICATE_PEM, KEY_FILE, KEY_PEM
from kafka_groups.settings.values import hint_of_variable, is_utf8
from kafka_groups.text_encoding import find_wide_encoding

_KEY_PASSWORD: Final = "ssl.key.password"  # noqa: S105  # the name of a property
_WRONG: Final = "is not its password, or the file is damaged; correct the password"
_NO_KEY: Final = "it has no private key with a certificate; give the store for which 'keytool -list' shows a key entry"


def replace_stores(settings: Mapping[str, Setting]) -> Mapping[str, Setting]:
    """Return the settings, with PEM texts in place of the locations of JKS and PKCS12 stores.

    A file that cannot be read stays, as PEM does: its reader reports it. Raises SettingsError for a store that cannot
    be used, and for a file of a format that no reader knows.
    """
    replaced = dict(settings)
    if trust_store := _find_store(settings, CA_FILE, CA_PEM, "ssl.truststore.password"):
        del replaced[CA_FILE]
        replaced[CA_PEM] = Setting(certificates_pem(trust_store.trusted()), trust_store.file.source)
    if key_store := _find_store(settings, CERTIFICATE_FILE, CERTIFICATE_PEM, "ssl.keystore.password"):
        _check_alone(settings, key_store.file)
        pair = key_store.key_pair()
        del replaced[CERTIFICATE_FILE]
        # It is that of the key in the store, and the text has the decrypted key.
        replaced.pop(_KEY_PASSWORD, None)
        replaced[CERTIFICATE_PEM] = Setting(pair.certificate_pem(), key_store.file.source)
        replaced[KEY_PEM] = Setting(pair.key_pem(), key_store.file.source)
    return replaced


@dataclass(frozen=True, kw_only=True, slots=True)
class _StoreFile:
    """The content of a JKS or PKCS12 file, and the settings of its location and of its password."""

    file: Setting
    data: bytes = field(repr=False)
    password: Setting | None = field(repr=False)
    password_key: str = field(repr=False)
    key_password: Setting | None = field(default=None, repr=False)

    def trusted(self) -> tuple[bytes, ...]:
        """Return the certificates that a trust store trusts (DER)."""
        store = self._read()
        if isinstance(store, Pkcs12Store):
            trusted = store.certificates
        else:
            # Java also trusts the first certificate of each key (TrustStoreUtil).
            trusted = (*store.trusted, *(key.chain[0] for key in store.keys if key.chain))
        if not trusted:
            command = f"keytool -importcert -file CA.pem -keystore {quote(self.file.value)}"
            self.refuse(f"it has no certificate; add the CA of the brokers with: {command}")
        return trusted

    def key_pair(self) -> KeyPair:
        """Return the first private key of a key store, with its chain."""
        store = self._read()
        pair = store.key if isinstance(store, Pkcs12Store) else self._jks_pair(store)
        if pair is None:
            self.refuse(_NO_KEY)
        return pair

    def refuse(self, reason: str) -> NoReturn:
        """Raise the SettingsError that names the location of the store."""
        _refuse(self.file, reason)

    def _read(self) -> JksStore | Pkcs12Store:
        password = self.password.value if self.password else None
        try:
            if find_format(self.data) == "JKS":
                jks = read_jks(self.data)
                # As by Java, a store without a password is not checked.
                return jks if password is None or has_password(self.data, password) else self._refuse_password()
            return read_pkcs12(self.data, password) or self._refuse_password()
        except StoreError as error:
            self.refuse(str(error))

    def _refuse_password(self) -> NoReturn:
        if self.password is None:
            self.refuse(f"it needs a password; set {self.password_key}")
        hint = hint_of_variable(self.password.value)
        if self.key_password is None or self.key_password.value == self.password.value or not self._is_pkcs12():
            self.refuse(f"{self.password.source} {_WRONG}{hint}")
        command = f"keytool -keypasswd -storetype JKS -alias ALIAS -keystore {quote(self.file.value)}"
        self.refuse(
            f"{self.password.source} is not its password, or its key has another password ({_KEY_PASSWORD}), which "
            f"this tool does not support in PKCS12; correct the password, or give the key that of the store: {command}"
            f"{hint}"
        )

    def _is_pkcs12(self) -> bool:
        return find_format(self.data) == "PKCS12"

    def _jks_pair(self, store: JksStore) -> KeyPair | None:
        entry = next((key for key in store.keys if key.chain), None)
        if entry is None:
            return None
        password = self.key_password or self.password
        if password is None:
            self.refuse(f"its key needs a password; set {self.password_key}")
        try:
            key = decrypt_key(entry, password.value)
        except StoreError as error:
            self.refuse(str(error))
        if key is None:
            step = "correct it" if self.key_password else f"set {_KEY_PASSWORD} to that of the key"
            self.refuse(f"{password.source} does not decrypt the private key of its entry '{entry.alias}'; {step}")
        return KeyPair(key=key, chain=entry.chain)


def _find_store(settings: Mapping[str, Setting], key: str, text_key: str, password_key: str) -> _StoreFile | None:
    """Return the store at a location; None for PEM, for a file that cannot be read, and beside a text."""
    file = settings.get(key)
    # Both a file and a text are an error, which the reader of texts raises.
    if file is None or not file.value or _setting_of(settings, text_key) is not None:
        return None
    data = _read_regular(file.value)
    found = find_format(data)
    if found not in {"JKS", "PKCS12"}:
        if problem := describe_other_format(data, file.value) or _describe_binary(data, file.value):
            _refuse(file, problem)
        return None
    password = settings.get(password_key)
    # A trust store has no keys.
    key_password = settings.get(_KEY_PASSWORD) if key == CERTIFICATE_FILE else None
    for each in (password, settings.get(_KEY_PASSWORD)):
        if each is not None and not is_utf8(each.value):
            msg = f"{each.source} is not valid UTF-8; write it in UTF-8"
            raise SettingsError(msg)
    return _StoreFile(file=file, data=data, password=password, password_key=password_key, key_password=key_password)


def _check_alone(settings: Mapping[str, Setting], store: Setting) -> None:
    """Raise SettingsError for a private key beside a store, which has its own."""
    key = _setting_of(settings, KEY_PEM) or _setting_of(settings, KEY_FILE)
    if key is not None:
        msg = f"{key.source} and the key store {store.source} exclude each other; remove one of them"
        raise SettingsError(msg)


def _setting_of(settings: Mapping[str, Setting], key: str) -> Setting | None:
    setting = settings.get(key)
    return setting if setting is not None and setting.value else None


def _read_regular(path: str) -> bytes:
    """Return the content of a file; nothing if it cannot be read, or not twice, such as a pipe."""
    try:
        file = Path(path)
        return file.read_bytes() if file.is_file() else b""
    except (OSError, ValueError):
        return b""


def _describe_binary(data: bytes, path: str) -> str | None:
    """Return the next step for a file of an unknown format that cannot be PEM; None for text."""
    if b"\0" not in data or find_wide_encoding(data):
        return None
    command = conversion_to_pkcs12(path)
    return f"it is no PEM, JKS or PKCS12 file; if Java reads it, add its -srcstoretype and convert it with: {command}"


def _refuse(file: Setting, reason: str) -> NoReturn:
    msg = f"{file.source}={file.value} cannot be used: {reason}"
    raise SettingsError(msg)

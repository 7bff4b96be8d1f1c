"""Key stores that keytool of JDK 17 and of JDK 25 made. Their keys are for tests only.

`python -m tests.settings.stores.store_files KEYTOOL_17 KEYTOOL_25` made the files once, with the commands below. The CA
`root` signs `intermediate`, and that one signs `client`, `expired` and `broker` (127.0.0.1); `other` is self-signed.

| file | content |
|---|---|
| `client-17.jks`, `client-25.jks` | key and chain of three certificates; the key has its own password |
| `client-17.p12`, `client-25.p12`, `legacy.p12` | the same, in PKCS12; `legacy` has the ciphers of JDK 8 |
| `key-password.p12` | that of `client-25.p12`, whose key got its own password afterwards |
| `expired.p12`, `broker.p12` | key and chain of an expired client, and of a broker |
| `trust-17.jks`, `trust-25.jks`, `trust-17.p12`, `trust-25.p12` | the certificate of `root` |
| `no-password.p12` | the same, without encryption and integrity check, as cacerts of JDK 18 and newer |
| `several.jks`, `several.p12` | first the key of `other`, then that of `client`, and the certificate of `root` |
| `empty.jks`, `client.jceks` | no entry; the key of `client` in a JCEKS store |
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

DIRECTORY: Final = Path(__file__).parent / "files"
PASSWORD: Final = "storepass"
# That of a key in JKS and JCEKS stores; in PKCS12 it is that of the store.
KEY_PASSWORD: Final = "keypass"
_FOREVER: Final = ("-validity", "36500")
_EXPIRED: Final = ("-startdate", "2020/01/01 00:00:00", "-validity", "1")
_NO_PASSWORD: Final = ("-J-Dkeystore.pkcs12.certProtectionAlgorithm=NONE", "-J-Dkeystore.pkcs12.macAlgorithm=NONE")


def main(keytool_17: str, keytool_25: str) -> None:
    """Make all files again; each run creates new keys."""
    DIRECTORY.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        authority = _Authority(keytool_17, Path(folder))
        for version, keytool in (("17", keytool_17), ("25", keytool_25)):
            for suffix in ("jks", "p12"):
                authority.export(keytool, f"client-{version}.{suffix}", "client")
                authority.trust(keytool, f"trust-{version}.{suffix}")
        authority.export(keytool_17, "legacy.p12", "client", "-J-Dkeystore.pkcs12.legacy")
        authority.export(keytool_25, "expired.p12", "expired")
        authority.export(keytool_25, "broker.p12", "broker")
        authority.export(keytool_25, "key-password.p12", "client")
        _change_key_password(keytool_25, DIRECTORY / "key-password.p12")
        authority.export(keytool_17, "client.jceks", "client")
        authority.trust(keytool_25, "no-password.p12", *_NO_PASSWORD)
        for suffix in ("jks", "p12"):
            authority.export(keytool_25, f"several.{suffix}", "other")
            authority.export(keytool_25, f"several.{suffix}", "client")
            authority.trust(keytool_25, f"several.{suffix}")
        authority.trust(keytool_25, "empty.jks")
        _run(keytool_25, "-delete", "-alias", "root", "-keystore", str(DIRECTORY / "empty.jks"), "-storepass", PASSWORD)


def _change_key_password(keytool: str, store: Path) -> None:
    # For the type PKCS12, keytool refuses this; for JKS it also reads PKCS12.
    passwords = ("-storepass", PASSWORD, "-keypass", PASSWORD, "-new", KEY_PASSWORD)
    _run(keytool, "-keypasswd", "-storetype", "JKS", "-keystore", str(store), "-alias", "client", *passwords)


class _Authority:
    """The keys and certificates, in a PKCS12 store that is not kept."""

    def __init__(self, keytool: str, folder: Path) -> None:
        self._keytool = keytool
        self._folder = folder
        self._access = ("-keystore", str(folder / "all.p12"), "-storepass", PASSWORD)
        self._create("root", "-ext", "bc:c", *_FOREVER)
        self._create("intermediate", "-ext", "bc:c", *_FOREVER)
        for name, options in (("client", _FOREVER), ("expired", _EXPIRED), ("broker", _FOREVER), ("other", _FOREVER)):
            self._create(name, *options)
        self._sign("intermediate", "root", "-ext", "bc:c", *_FOREVER)
        self._sign("client", "intermediate", *_FOREVER)
        self._sign("expired", "intermediate", *_EXPIRED)
        self._sign("broker", "intermediate", "-ext", "san=ip:127.0.0.1", *_FOREVER)

    def export(self, keytool: str, file: str, alias: str, *options: str) -> None:
        """Copy a key and its chain to a store of the type that the suffix says."""
        source = ("-srckeystore", str(self._folder / "all.p12"), "-srcstorepass", PASSWORD, "-srcalias", alias)
        key_password = PASSWORD if file.endswith("p12") else KEY_PASSWORD
        _run(keytool, "-importkeystore", *source, "-destkeypass", key_password, *_destination(file), *options)

    def trust(self, keytool: str, file: str, *options: str) -> None:
        """Add the certificate of `root` to a store."""
        target = ("-keystore", str(DIRECTORY / file), "-storepass", PASSWORD, "-storetype", _type_of(file))
        certificate = str(self._folder / "root.pem")
        _run(keytool, "-importcert", "-noprompt", "-alias", "root", "-file", certificate, *target, *options)

    def _create(self, alias: str, *options: str) -> None:
        key = ("-keyalg", "EC", "-groupname", "secp256r1", "-dname", f"CN={alias}")
        _run(self._keytool, "-genkeypair", "-alias", alias, *key, *self._access, *options)
        _run(self._keytool, "-exportcert", "-rfc", "-alias", alias, "-file", self._pem(alias), *self._access)

    def _sign(self, alias: str, issuer: str, *options: str) -> None:
        request = str(self._folder / "request")
        _run(self._keytool, "-certreq", "-alias", alias, "-file", request, *self._access)
        signed = ("-infile", request, "-outfile", self._pem(alias), "-rfc")
        _run(self._keytool, "-gencert", "-alias", issuer, *signed, *self._access, *options)
        _run(self._keytool, "-importcert", "-noprompt", "-alias", alias, "-file", self._pem(alias), *self._access)

    def _pem(self, alias: str) -> str:
        return str(self._folder / f"{alias}.pem")


def _type_of(file: str) -> str:
    return {"jks": "JKS", "p12": "PKCS12", "jceks": "JCEKS"}[file.rpartition(".")[2]]


def _destination(file: str) -> tuple[str, ...]:
    return ("-destkeystore", str(DIRECTORY / file), "-deststorepass", PASSWORD, "-deststoretype", _type_of(file))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

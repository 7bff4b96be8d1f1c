"""Java's key stores on a real broker that requires a client certificate: JKS and PKCS12, for both clients."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
from cryptography.x509 import load_pem_x509_certificates

from tests.fakes.command_line import run
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import commit
from tests.live.secure_broker import SecureBroker

pytestmark = [pytest.mark.live, pytest.mark.timeout(120)]
PASSWORD = "store-secret"
_TIMEOUT_S = 60


def run_keytool(*arguments: str) -> None:
    """Run keytool, which stands beside java also where PATH does not have it."""
    java = shutil.which("java")
    assert java is not None
    keytool = Path(java).resolve().with_name("keytool")
    subprocess.run([keytool, *arguments], check=True, capture_output=True, timeout=_TIMEOUT_S)


@pytest.fixture(scope="module")
def stores(secure: SecureBroker, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[Path, Path]]:
    """Return the key store and the trust store of the user `admin` by type."""
    directory = tmp_path_factory.mktemp("stores")
    pem = secure.certificate("admin").read_bytes()
    certificate, *chain = load_pem_x509_certificates(pem)
    key = load_pem_private_key(pem, None)
    pkcs12, trusted = directory / "admin.p12", directory / "trust.p12"
    data = serialize_key_and_certificates(b"admin", key, certificate, chain, BestAvailableEncryption(PASSWORD.encode()))  # type: ignore[arg-type]
    pkcs12.write_bytes(data)
    found = {"PKCS12": (pkcs12, trusted), "JKS": (directory / "admin.jks", directory / "trust.jks")}
    passwords = ["-srcstorepass", PASSWORD, "-deststorepass", PASSWORD]
    run_keytool(
        *["-importkeystore", "-srckeystore", str(pkcs12), "-destkeystore", str(found["JKS"][0])],
        *["-deststoretype", "JKS", *passwords],
    )
    for kind, (_, trust_store) in found.items():
        run_keytool(
            *["-importcert", "-noprompt", "-alias", "ca", "-file", str(secure.authority)],
            *["-keystore", str(trust_store), "-storetype", kind, "-storepass", PASSWORD],
        )
    return found


@pytest.mark.parametrize("kind", ["PKCS12", "JKS"])
def test_stores_of_keytool_log_in_for_requests_and_for_records(
    secure: SecureBroker, stores: Mapping[str, tuple[Path, Path]], kind: str, tmp_path: Path
) -> None:
    group = unique_name("store")
    commit(secure.bootstrap, group, make_topic(secure.bootstrap, records=8), 1, 2, 3)
    key_store, trust_store = stores[kind]
    config = tmp_path / "client.properties"
    config.touch(mode=0o600)
    config.write_text(
        f"bootstrap.servers={secure.ssl}\nsecurity.protocol=SSL\n"
        f"ssl.keystore.location={key_store}\nssl.keystore.password={PASSWORD}\n"
        f"ssl.truststore.location={trust_store}\nssl.truststore.password={PASSWORD}\n"
    )
    outcome = run("lag", group, "--time", "--format", "json", "--config", str(config), bootstrap=None)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    (row,) = json.loads(outcome.stdout)["groups"]
    assert (row["lag"], row["time_lag_quality"]) == (5, "exact")

"""Self-signed certificates, created by openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path


def make_certificate(openssl: str, directory: Path, name: str) -> Path:
    """Create a certificate for a name (`IP:…`, `DNS:…`), valid for two days, and return its file, which has the key."""
    path, key = directory / f"{name[:8]}.pem", directory / "key.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=test", "-addext", f"subjectAltName={name}"]
    subprocess.run([*command, "-keyout", str(key), "-out", str(path)], check=True, capture_output=True)
    path.write_text(path.read_text() + key.read_text())
    return path

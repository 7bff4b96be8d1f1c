"""Certificates by openssl."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.certificates import make_certificate


@pytest.fixture
def certificate(tmp_path: Path, program: Callable[[str], str]) -> Callable[[str], Path]:
    """Return a function that makes a self-signed certificate for a name, with its key in the same file."""
    return lambda name: make_certificate(program("openssl"), tmp_path, name)


@pytest.fixture
def openssl(tmp_path: Path, program: Callable[[str], str]) -> Callable[..., Path]:
    """Return a function that runs openssl with these arguments and returns the file that it writes."""

    def run(name: str, *arguments: str) -> Path:
        path = tmp_path / name
        subprocess.run([program("openssl"), *arguments, "-out", str(path)], check=True, capture_output=True)
        return path

    return run

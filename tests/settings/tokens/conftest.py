"""Fixtures of the tests of tokens: certificates, and no proxy of this machine's environment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.certificates import make_certificate


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory, program: Callable[[str], str]) -> Callable[[str], Path]:
    """Return a function that makes a certificate for a name."""
    return lambda name: make_certificate(program("openssl"), tmp_path_factory.mktemp("certificates"), name)

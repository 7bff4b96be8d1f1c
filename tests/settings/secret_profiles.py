"""Profiles whose secret is elsewhere, and what both clients read of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_groups.errors import ConfigProviderError
from kafka_groups.settings import PasswordCredentials, resolve_settings
from kafka_groups.settings.librdkafka import resolve_client

SECRET = "hidden-thing"
PLAIN = """
bootstrap.servers = "b:1"
security.protocol = "SASL_SSL"
sasl.mechanism = "PLAIN"
sasl.username = "me"
"""


def write_profile(folder: Path, text: str, plain: str = PLAIN) -> Path:
    """Write a profiles file that only this user can write, with the profile `p`, and return its path."""
    path = folder / "profiles.toml"
    path.write_text(f"[p]\n{plain}{text}\n")
    path.chmod(0o600)
    return path


def password_of(folder: Path, text: str, **sources: Any) -> str:
    """Return the password of a profile; both clients have the same one, unless librdkafka would drop its blanks."""
    given = {"environment": {}, "profile": "p", "profiles": write_profile(folder, text), **sources}
    credentials = resolve_settings(**given).credentials
    assert isinstance(credentials, PasswordCredentials)
    if not credentials.password.startswith(" "):
        assert resolve_client(**given).properties["sasl.password"] == credentials.password
    return credentials.password


def problem_of(folder: Path, text: str, plain: str = PLAIN, **sources: Any) -> str:
    """Return the text of the error of both clients; its exit code is 1, as for a cluster that cannot be reached."""
    given = {"environment": {}, "profile": "p", "profiles": write_profile(folder, text, plain), **sources}
    texts = []
    for resolve in (resolve_settings, resolve_client):
        with pytest.raises(ConfigProviderError) as caught:
            resolve(**given)
        assert (caught.value.exit_code, caught.value.name) == (1, "CONFIG_PROVIDER_FAILED")
        assert SECRET not in repr(caught.value)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
    assert "\n" not in texts[0]
    return texts[0]

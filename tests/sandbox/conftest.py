"""Fixtures of the sandbox's tests: a Java that fails, and a user without profiles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.sandbox.kafka import Kafka
from kafka_groups.sandbox.versions import parse_version

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


@pytest.fixture
def broken_java(tmp_path: Path, mocker: MockerFixture) -> Path:
    """Replace Java with a program that prints an error and exits."""
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho starting\necho 'Error: cannot reserve the heap'\necho bye\nexit 1\n")
    java.chmod(0o755)
    kafka = Kafka(version=parse_version("2.8.2"), java=java, jars=())
    mocker.patch("kafka_groups.sandbox.lifecycle.find_kafka", return_value=kafka)
    return java


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of the profiles file of a user without profiles."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "kafka-groups" / "profiles.toml"

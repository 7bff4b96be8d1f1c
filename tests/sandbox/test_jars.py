"""Jars are downloaded once, and then taken from the list of jars."""

from __future__ import annotations

import importlib.util
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox import SandboxSpec, up
from kafka_groups.sandbox.artifacts import broker_artifacts
from kafka_groups.sandbox.jars import find_jars
from kafka_groups.sandbox.versions import parse_version

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

KAFKA = broker_artifacts(parse_version("4.3.1"))


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("kafka_groups.sandbox.jars.cache_directory", lambda kafka: tmp_path / "cache" / str(kafka))
    jar = tmp_path / "kafka.jar"
    jar.write_bytes(b"jar")
    return jar


def test_jars_are_downloaded_once_with_a_note(jar: Path, mocker: MockerFixture) -> None:
    download = mocker.patch("kafka_groups.sandbox.downloads.download", return_value=[jar])
    notes: list[str] = []

    first = find_jars(KAFKA, report=notes.append)
    second = find_jars(KAFKA, report=notes.append)

    assert first == second == [jar]
    assert download.call_count == 1
    assert notes == ["downloading Kafka 4.3.1 (about 45 MB, only once)"]


def test_a_truncated_jar_is_downloaded_again(jar: Path, mocker: MockerFixture) -> None:
    download = mocker.patch("kafka_groups.sandbox.downloads.download", return_value=[jar])
    find_jars(KAFKA, report=lambda _: None)
    jar.write_bytes(b"j")

    find_jars(KAFKA, report=lambda _: None)

    assert download.call_count == 2


def test_a_list_with_a_jar_that_cannot_be_in_a_class_path_is_not_used(jar: Path, mocker: MockerFixture) -> None:
    unusable = jar.with_name("a:b.jar")
    unusable.write_bytes(b"jar")
    mocker.patch("kafka_groups.sandbox.downloads.download", side_effect=[[unusable], [jar]])
    find_jars(KAFKA, report=lambda _: None)

    assert find_jars(KAFKA, report=lambda _: None) == [jar]


@pytest.mark.parametrize("package", ["filelock", "jgo", "psutil"])
def test_without_the_extra_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else find_spec(name))

    with pytest.raises(SandboxError) as caught:
        up(SandboxSpec(home=tmp_path))

    assert str(caught.value) == (
        f"the sandbox needs packages that are not installed ({package}); run: pip install 'kafka-groups[sandbox]'"
    )
    assert list(tmp_path.iterdir()) == []


def test_concurrent_downloads_of_versions_run_one_after_the_other(jar: Path, mocker: MockerFixture) -> None:
    running: list[object] = []
    most = 0

    def download_slowly(kafka: object) -> list[Path]:
        nonlocal most
        running.append(kafka)
        most = max(most, len(running))
        time.sleep(0.1)
        running.remove(kafka)
        return [jar]

    mocker.patch("kafka_groups.sandbox.downloads.download", side_effect=download_slowly)
    programs = [broker_artifacts(parse_version(version)) for version in ("4.3.1", "2.8.2", "2.5.1")]
    with ThreadPoolExecutor(len(programs)) as pool:
        found = list(pool.map(lambda program: find_jars(program, report=lambda _: None), programs))

    assert (found, most) == ([[jar]] * 3, 1)

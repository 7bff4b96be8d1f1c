"""Jars: fetched once, then taken from the lock."""

from __future__ import annotations

import importlib.util
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox import Wanted, up
from kafka_groups.sandbox.jars import find_jars
from kafka_groups.sandbox.versions import parse_version

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

KAFKA = parse_version("4.3.1")


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("kafka_groups.sandbox.jars.cache_directory", lambda kafka: tmp_path / "cache" / str(kafka))
    jar = tmp_path / "kafka.jar"
    jar.write_bytes(b"jar")
    return jar


def test_jars_are_downloaded_once_and_said_so(jar: Path, mocker: MockerFixture) -> None:
    download = mocker.patch("kafka_groups.sandbox.downloads.download", return_value=[jar])
    said: list[str] = []

    first = find_jars(KAFKA, tell=said.append)
    second = find_jars(KAFKA, tell=said.append)

    assert first == second == [jar]
    assert download.call_count == 1
    assert said == ["downloading Kafka 4.3.1 (about 45 MB, only once)"]


def test_a_jar_that_is_gone_or_cut_is_fetched_again(jar: Path, mocker: MockerFixture) -> None:
    download = mocker.patch("kafka_groups.sandbox.downloads.download", return_value=[jar])
    find_jars(KAFKA, tell=lambda _: None)
    jar.write_bytes(b"j")

    find_jars(KAFKA, tell=lambda _: None)

    assert download.call_count == 2


def test_without_the_extra_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "jgo" else find_spec(name))

    with pytest.raises(SandboxError) as caught:
        up(Wanted(home=tmp_path))

    assert str(caught.value) == (
        "the sandbox needs packages that are not installed (jgo); run: pip install 'kafka-groups[sandbox]'"
    )
    assert list(tmp_path.iterdir()) == []


def test_versions_that_are_wanted_at_the_same_time_are_downloaded_one_after_the_other(
    jar: Path, mocker: MockerFixture
) -> None:
    under_way: list[object] = []
    most = 0

    def slowly(kafka: object) -> list[Path]:
        nonlocal most
        under_way.append(kafka)
        most = max(most, len(under_way))
        time.sleep(0.1)
        under_way.remove(kafka)
        return [jar]

    mocker.patch("kafka_groups.sandbox.downloads.download", side_effect=slowly)
    versions = [parse_version(version) for version in ("4.3.1", "2.8.2", "2.5.1")]
    with ThreadPoolExecutor(len(versions)) as pool:
        found = list(pool.map(lambda version: find_jars(version, tell=lambda _: None), versions))

    assert (found, most) == ([[jar]] * 3, 1)

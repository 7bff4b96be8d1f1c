"""The Java that Spark gets, and the error without one that it runs on."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from kafka_groups.errors import SparkMissingError
from kafka_groups.pipeline.spark.requirements import fetch_java, find_java, home_of

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

FULL = "java.base jdk.incubator.vector"


def java(home: Path, version: str, modules: str = FULL) -> Path:
    """Return a program, below this home, that responds like a Java of this version with these modules."""
    lines = "".join(f"echo {module}@{version}; " for module in modules.split())
    path = home / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(
        f'#!/bin/sh\nif [ "$1" = --list-modules ]; then {lines or ":;"} exit 0; fi\n'
        f"echo 'openjdk version \"{version}\"' >&2\n"
    )
    path.chmod(0o755)
    return path


def refusal(environment: dict[str, str]) -> str:
    """Return the error that names the rejected Javas."""
    with pytest.raises(SparkMissingError) as caught:
        find_java(environment)
    return str(caught.value)


def test_java_home_comes_before_path(tmp_path: Path) -> None:
    named = java(tmp_path / "named", "17.0.1")
    on_path = java(tmp_path / "on-path", "21.0.1")
    assert find_java({"JAVA_HOME": str(tmp_path / "named"), "PATH": str(on_path.parent)}) == named
    assert find_java({"PATH": str(on_path.parent)}) == on_path


@pytest.mark.parametrize(
    ("version", "modules", "given"),
    [
        ("11.0.2", FULL, "is Java 11"),
        ("1.8.0_392", "", "is Java 8"),
        ("17.0.9", "java.base", "is Java 17 without the module jdk.incubator.vector"),
    ],
)
def test_an_unusable_java_is_skipped_and_named(tmp_path: Path, version: str, modules: str, given: str) -> None:
    java(tmp_path / "home", version, modules)
    good = java(tmp_path / "good", "17.0.1")
    home = str(tmp_path / "home")
    assert find_java({"JAVA_HOME": home, "PATH": str(good.parent)}) == good
    assert refusal({"JAVA_HOME": home, "PATH": ""}) == (
        f"Spark needs a JDK 17 or newer (JAVA_HOME ({home}) {given}); set JAVA_HOME to one, install one "
        "(apt install openjdk-17-jdk-headless, brew install openjdk@17), or add --fetch-java"
    )


def test_without_java_one_line_has_the_places_and_the_next_step() -> None:
    message = refusal({"PATH": ""})
    assert "(none is in JAVA_HOME or on PATH); set JAVA_HOME to one" in message
    assert "\n" not in message


def test_a_java_home_without_a_java_is_named_in_the_error(tmp_path: Path) -> None:
    assert f"JAVA_HOME ({tmp_path}) does not start" in refusal({"JAVA_HOME": str(tmp_path), "PATH": ""})


def test_a_jdk_is_fetched_only_if_no_java_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "cjdk", SimpleNamespace(java_home=lambda **_: tmp_path / "fetched"))
    there = java(tmp_path / "home", "17.0.1")
    assert find_java({"PATH": ""}, fetch=True) == tmp_path / "fetched" / "bin" / "java"
    assert find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": ""}, fetch=True) == there


def test_fetching_requests_a_jdk_17_from_cjdk(
    mocker: MockerFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cjdk = SimpleNamespace(java_home=mocker.Mock(return_value=tmp_path))
    monkeypatch.setitem(sys.modules, "cjdk", cjdk)
    assert fetch_java() == tmp_path / "bin" / "java"
    assert cjdk.java_home.call_args.kwargs["version"] == "17"


def test_an_error_of_cjdk_is_reported_in_one_line(mocker: MockerFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    cjdk = SimpleNamespace(java_home=mocker.Mock(side_effect=OSError("no route\nto anywhere")))
    monkeypatch.setitem(sys.modules, "cjdk", cjdk)
    with pytest.raises(SparkMissingError) as caught:
        fetch_java()
    assert str(caught.value) == "cannot download a JDK: no route; install one and set JAVA_HOME"


def test_an_error_without_cjdk_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cjdk", None)
    with pytest.raises(SparkMissingError, match="pip install cjdk"):
        fetch_java()


def test_the_home_of_a_linked_java_is_that_of_its_target(tmp_path: Path) -> None:
    real = java(tmp_path / "real", "17.0.1")
    link = tmp_path / "bin" / "java-link"
    link.parent.mkdir()
    link.symlink_to(real)
    assert home_of(link) == tmp_path / "real"


def test_a_shim_has_no_home(tmp_path: Path) -> None:
    shim = tmp_path / "shims" / "java"
    shim.parent.mkdir()
    shim.write_text("#!/bin/sh\n")
    assert home_of(shim) is None

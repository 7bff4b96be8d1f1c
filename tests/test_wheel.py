"""The wheel: completion scripts and man pages are where shells and man look for them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.generated_files import ROOT, generated_files

pytestmark = pytest.mark.slow
PLACES = {
    "share/bash-completion/completions/kafka-groups": "completions/kafka-groups.bash",
    "share/zsh/site-functions/_kafka-groups": "completions/_kafka-groups",
    "share/fish/vendor_completions.d/kafka-groups.fish": "completions/kafka-groups.fish",
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a new environment in which the wheel is installed, without its dependencies."""
    directory = tmp_path_factory.mktemp("wheel")
    pip = ["-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(directory), str(ROOT)]
    subprocess.run([sys.executable, *pip, *build], check=True)
    (wheel,) = directory.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", directory / "env"], check=True)
    subprocess.run([directory / "env/bin/python", *pip, "install", "--no-deps", "--no-index", wheel], check=True)
    return directory / "env"


def test_the_wheel_installs_every_generated_file(environment: Path) -> None:
    pages = {f"share/man/man1/{Path(path).name}": path for path in generated_files() if path.startswith("man/")}
    for installed, path in {**PLACES, **pages}.items():
        assert (environment / installed).read_text() == (ROOT / path).read_text()


def test_man_finds_the_pages_of_a_program_on_the_path(environment: Path, program: Callable[[str], str]) -> None:
    variables = {name: value for name, value in os.environ.items() if name != "MANPATH"}
    variables["PATH"] = f"{environment / 'bin'}:{variables['PATH']}"
    command = [program("man"), "-w", "kafka-groups-pipeline-ingest"]
    run = subprocess.run(command, env=variables, capture_output=True, check=True, encoding="utf-8")
    assert Path(run.stdout.strip()) == environment / "share/man/man1/kafka-groups-pipeline-ingest.1"


def test_the_wheel_has_no_tools_and_no_tests(environment: Path) -> None:
    (packages,) = environment.glob("lib/python*/site-packages")
    assert not any((packages / name).exists() for name in ("tools", "tests"))

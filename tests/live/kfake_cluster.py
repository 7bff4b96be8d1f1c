"""A cluster of franz-go's kfake, an implementation of Kafka's protocol in Go that shares no code with Kafka.

It is what `kcl fake` runs. The program is built from tests/live/kfake, whose go.sum has the hashes of its modules.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_SOURCES = Path(__file__).parent / "kfake"
# The first build downloads four modules and compiles the standard library.
_BUILD_TIMEOUT_S = 240
_END_S = 10


@contextmanager
def run_kfake(directory: Path) -> Iterator[str]:
    """Yield the bootstrap servers of a cluster of two brokers; skip the test if there is no Go that can build it."""
    program = _build(directory / "kfake")
    # It ends when its stdin is closed, so also if this process is killed.
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            bootstrap = process.stdout.readline().strip()
            assert bootstrap, f"kfake ended with exit code {process.wait(_END_S)}"
            yield bootstrap
        finally:
            process.stdin.close()
            process.wait(_END_S)


def _build(program: Path) -> Path:
    go = shutil.which("go")
    if go is None:
        pytest.skip("go is not installed")
    downloaded = _run(go, "mod", "download")
    if downloaded.returncode != 0:
        pytest.skip(f"the Go modules cannot be downloaded, or need a newer Go: {downloaded.stderr.strip()}")
    # The compiler takes a quarter less time if it optimises nothing.
    built = _run(go, "build", "-gcflags=all=-N -l", "-ldflags=-s -w", "-o", str(program), ".")
    assert built.returncode == 0, f"kfake could not be built: {built.stderr}"
    return program


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=_SOURCES, capture_output=True, check=False, text=True, timeout=_BUILD_TIMEOUT_S)

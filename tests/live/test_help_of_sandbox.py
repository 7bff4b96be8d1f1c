"""The examples in the help of `sandbox` and its commands, run in a shell, in the order in which they are of use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.help_examples import examples_in, examples_of, run_in_shell

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

# `down` is last; those of the group itself start a sandbox, and use it.
_ORDER: Final = (("sandbox",), ("sandbox", "up"), ("sandbox", "status"), ("sandbox", "down"))
_TESTED_ELSEWHERE: Final = {
    "kafka-groups sandbox demo": "tests/live/test_sandbox.py",
    "kafka-groups sandbox demo --data-dir history": "tests/live/pipeline/test_demo.py",
}


def test_the_examples_of_the_sandbox_succeed_one_after_the_other(tmp_path: Path, program: Callable[[str], str]) -> None:
    program("bash")
    program("jq")
    directories = {f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in ("CONFIG", "STATE")}
    lines = list(dict.fromkeys(line for words in _ORDER for line in examples_of(*words)))
    assert {*lines, *_TESTED_ELSEWHERE} == set(examples_in("sandbox"))

    try:
        for line in lines:
            outcome = run_in_shell(_on_free_ports(line), tmp_path, **directories)
            # `down` prints its result as a note.
            output = outcome.stderr if "sandbox down" in line else outcome.stdout
            assert (line, outcome.exit_code, bool(output.strip())) == (line, 0, True), outcome
    finally:
        for line in examples_of("sandbox", "down"):
            run_in_shell(line, tmp_path, **directories)


def _on_free_ports(line: str) -> str:
    return f"{line} --port 0" if "sandbox up" in line and "--port" not in line else line

"""Runs of the command line in processes of their own, under several encodings of the environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

import pytest

ROOT: Final = Path(__file__).parents[2]
# Python's own ways to UTF-8 in this locale are off.
C_LOCALE: Final = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
ENCODINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "utf-8": {},
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "cp1252": {"PYTHONIOENCODING": "cp1252"},
    "latin-1": {"PYTHONIOENCODING": "latin-1:replace"},
    "utf-16": {"PYTHONIOENCODING": "utf-16"},
    "C": C_LOCALE,
}
# The others write what one of these three does, and each run is a process.
_QUICK: Final = ("utf-8", "cp1252", "C")
every_encoding = pytest.mark.parametrize(
    "encoding", [pytest.param(name, marks=() if name in _QUICK else pytest.mark.slow) for name in ENCODINGS]
)
# For tests of many commands, because each run is a process.
two_encodings = pytest.mark.parametrize("encoding", ["ascii", "cp1252"])


class EncodedOutcome(NamedTuple):
    """The exit code and the bytes that a run printed."""

    exit_code: int
    stdout: bytes
    stderr: bytes


def environment_of(encoding: str, variables: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Return an environment with an encoding, without settings of this tool."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_GROUPS_")}
    return {**own, **ENCODINGS[encoding], **variables}


def run_encoded(
    encoding: str,
    *arguments: str | bytes,
    stdin: bytes = b"",
    variables: Mapping[str, str] = MappingProxyType({}),
) -> EncodedOutcome:
    """Run the command line as a user does; arguments may be any bytes."""
    command = [sys.executable, "-m", "kafka_groups", *arguments]
    environment = environment_of(encoding, variables)
    outcome = subprocess.run(command, cwd=ROOT, env=environment, input=stdin, capture_output=True, check=False)
    return EncodedOutcome(outcome.returncode, outcome.stdout, outcome.stderr)

"""Runs of the command line in processes of their own, under several encodings of the environment."""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
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


@cache
def start_server(encoding: str) -> socket.socket:
    """Start a process that forks for each run with an encoding, and return the socket for requests to it."""
    requests, theirs = socket.socketpair()
    command = [sys.executable, "-m", "tests.commands.command_server", str(theirs.fileno())]
    with theirs:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment_of(encoding),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def stop() -> None:
        requests.close()
        process.communicate()

    atexit.register(stop)
    return requests


def _current_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Return variables for a run, with those that tests may set after the start of its server."""
    return {"XDG_STATE_HOME": os.environ["XDG_STATE_HOME"], **variables}


def run_encoded(
    encoding: str,
    *arguments: str | bytes,
    stdin: bytes = b"",
    variables: Mapping[str, str] = MappingProxyType({}),
) -> EncodedOutcome:
    """Run the command line in a process whose streams have that encoding; arguments may be any bytes."""
    hexadecimal = [argument.encode().hex() if isinstance(argument, str) else argument.hex() for argument in arguments]
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        source.write(stdin)
        source.seek(0)
        server = start_server(encoding)
        files = [file.fileno() for file in (source, stdout, stderr)]
        socket.send_fds(server, [json.dumps([hexadecimal, _current_variables(variables)]).encode()], files)
        exit_code = int(server.recv(16))
        stdout.seek(0)
        stderr.seek(0)
        return EncodedOutcome(exit_code, stdout.read(), stderr.read())

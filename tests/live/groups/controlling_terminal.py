"""A command on a terminal of its own, which a test reads and on which it presses Ctrl-C."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from tests.live.groups.clients import command_environment

_TIMEOUT_S: Final = 60
_CTRL_C: Final = b"\x03"
_SIZE: Final = struct.pack("HHHH", 30, 200, 0, 0)
# Ctrl-C interrupts only the processes whose controlling terminal this is; Python's subprocess does not set it.
_START: Final = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
_PARTS: Final = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|([^\x1b])", re.DOTALL)


class Terminal:
    """A terminal of 30 lines and 200 columns, on which a command runs until the context ends."""

    def __init__(self, bootstrap: str, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, _SIZE)
        environment = command_environment(None) | {"TERM": "xterm"}
        for name in ("COLUMNS", "LINES", "NO_COLOR"):
            environment.pop(name, None)
        command, *rest = arguments
        program = [sys.executable, "-m", "kafka_groups", command, "-b", bootstrap, *rest]
        self._process = subprocess.Popen(
            [sys.executable, "-ISc", _START, *program],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment,
            start_new_session=True,
        )
        os.close(theirs)
        self._seen = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait(_TIMEOUT_S)
        os.close(self._ours)

    @property
    def is_running(self) -> bool:
        """Return whether the command still runs."""
        return self._process.poll() is None

    @property
    def seen(self) -> str:
        """Return everything that was written to the terminal and read from it so far."""
        return self._seen.decode(errors="replace")

    @property
    def lines(self) -> list[str]:
        """Return the lines that the terminal shows, without trailing spaces and empty lines."""
        return [text for line in _draw(self.seen) if (text := line.rstrip())]

    def read_until(self, text: str, *, times: int = 1) -> None:
        """Read until the text was written that many times."""
        deadline = time.monotonic() + _TIMEOUT_S
        while self.seen.count(text) < times:
            assert time.monotonic() < deadline, f"{text!r} was not written: {self.seen!r}"
            assert self._read(1.0), f"the command ended without {text!r}: {self.seen!r}"

    def read_for(self, seconds: float) -> None:
        """Read what is written in the next seconds."""
        end = time.monotonic() + seconds
        while (remaining := end - time.monotonic()) > 0 and self._read(remaining):
            pass

    def press_ctrl_c(self) -> None:
        """Press Ctrl-C: the terminal sends SIGINT to the command."""
        os.write(self._ours, _CTRL_C)

    def end(self) -> int:
        """Read until the command has ended, and return its exit code."""
        deadline = time.monotonic() + _TIMEOUT_S
        while self._read(1.0):
            assert time.monotonic() < deadline, f"the command did not end: {self.seen!r}"
        return self._process.wait(_TIMEOUT_S)

    def _read(self, timeout_s: float) -> bool:
        """Read what is written in this time; return whether the command may write more."""
        if not select.select([self._ours], [], [], timeout_s)[0]:
            return True
        # A terminal that no process has open is an error on Linux, and at its end on macOS.
        with suppress(OSError):
            part = os.read(self._ours, 65_536)
            self._seen += part
            return bool(part)
        return False


def _draw(output: str) -> list[str]:
    """Return the lines of a terminal after this output: the cursor moves up, and lines are erased and overwritten."""
    lines, row, column = [""], 0, 0
    for count, control, character in _PARTS.findall(output):
        if control == "A":
            row = max(0, row - int(count or 1))
        elif control == "K":
            lines[row] = "" if count == "2" else lines[row][:column]
        elif character == "\r":
            column = 0
        elif character == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif character:
            before = lines[row].ljust(column)
            lines[row] = before[:column] + character + before[column + 1 :]
            column += 1
    return lines

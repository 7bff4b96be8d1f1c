"""A real shell on a pseudo-terminal, in which a line is typed, TAB and Enter are pressed."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Any, Final, Self

import pexpect
import pytest

from kafka_groups.options import COMPLETION_VARIABLE
from tools.generated_files import ROOT, SCRIPTS

_PATIENCE_S: Final = 10.0
_ATTEMPTS: Final = 5
# Without the user's files.
_COMMANDS: Final = {
    "bash": ("--norc", "--noprofile", "-i"),
    "zsh": ("-f", "-i"),
    "fish": ("--no-config", "-i"),
}
_CTRL_U: Final = "\x15"
# The program in the place of kafka-groups: it completes as that does, and writes the words of any other call to a file.
_PROGRAM: Final = """\
#!{python}
import json, os, sys
if {variable!r} in os.environ:
    from kafka_groups.__main__ import main
    main()
with open({draft!r}, "w") as file:
    json.dump(sys.argv[1:], file)
os.rename({draft!r}, {words!r})
"""


class Terminal:
    """One shell that has loaded the script of the repository. `home` is its directory, with the program in `bin`."""

    def __init__(self, shell: str, path: str, home: Path, variables: Mapping[str, str]) -> None:
        self.home = home
        self._words = home / "words.json"
        program = home / "bin" / "kafka-groups"
        program.parent.mkdir(exist_ok=True)
        draft, words = str(home / "draft"), str(self._words)
        texts = {"variable": COMPLETION_VARIABLE, "python": sys.executable, "draft": draft, "words": words}
        program.write_text(_PROGRAM.format(**texts))
        program.chmod(0o755)
        environment = {
            "HOME": str(home),
            "PATH": f"{program.parent}:/usr/local/bin:/usr/bin:/bin",
            "TERM": "xterm",
            "LC_ALL": "C.UTF-8",
            **variables,
        }
        self._process: Any = pexpect.spawn(
            path, [*_COMMANDS[shell]], env=environment, cwd=home, encoding="utf-8", dimensions=(40, 200)
        )
        self._process.send(f"{_load_command(shell)}\r")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.close(force=True)

    def complete(self, line: str, is_wanted: Callable[[Sequence[str]], bool], *, then: str = "") -> None:
        """Press TAB behind a line until the program gets the wanted words.

        On a busy machine a value may come too late, and is not offered then. Fails the test with the words of the last
        attempt.
        """
        words: Sequence[str] = ()
        for _ in range(_ATTEMPTS):
            words = self.words_after_tab(line, then=then)
            if is_wanted(words):
                return
        pytest.fail(f"{line!r} became {words}")

    def words_after_tab(self, line: str, *, then: str = "") -> Sequence[str]:
        """Return the words that the program gets after a line, TAB, more text and Enter.

        Raises AssertionError if the program is not started.
        """
        self._words.unlink(missing_ok=True)
        # A line that failed before may still be there.
        self._process.send(f"{_CTRL_U}{line}\t{then}\r")
        end, shown = time.monotonic() + _PATIENCE_S, ""
        while not self._words.exists():
            assert time.monotonic() < end, f"the program was not started; the terminal shows {shown!r}"
            with suppress(pexpect.TIMEOUT):
                shown += self._process.read_nonblocking(10_000, timeout=0.05)
        words: list[str] = json.loads(self._words.read_text())
        return words


def _load_command(shell: str) -> str:
    script = quote(str(ROOT / SCRIPTS[shell]))
    if shell != "zsh":
        return f"source {script}"
    # As zsh finds a script that the wheel installed.
    return f"fpath=({quote(str(ROOT / 'completions'))} $fpath); autoload -Uz compinit; compinit -D -u"

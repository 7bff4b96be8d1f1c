"""Commands of the user's settings that print a secret: a token, or a password."""

from __future__ import annotations

import atexit
import os
import re
import selectors
import shlex
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Final

from kafka_groups.errors import SettingsError
from kafka_groups.settings.masks import MASK, hide_secrets

if TYPE_CHECKING:
    from kafka_groups.settings.limits import Limit

_MOST_BYTES: Final = 1 << 20
_TICK_S: Final = 0.05
_READ_SIZE: Final = 1 << 16
# What a program may print of a secret: long words of the alphabet of tokens and keys, the value after "password=" or
# "the password is", the user and the password of a URL, and the argument of an option such as `curl -u`.
_LONG_WORD: Final = re.compile(r"[-\w~+/.=%]{20,}")
_NAME: Final = (
    r"(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|key|bearer|basic|credential|authorization)s?\b[\\\"']*"
)
_BETWEEN: Final = r"(?:\s*[:=]\s*|\s+(?:(?:is|was|are)\b\s*[:=]?\s*)?)(?:(?:basic|bearer|digest|negotiate)\s+)?"
_VALUE: Final = r"""(?:"[^"]*"?|'[^']*'?|\S+)"""
_NAMED_SECRET: Final = re.compile(rf"(?i)({_NAME}{_BETWEEN}){_VALUE}")
_OPTION: Final = re.compile(rf"(?<![\w-])(--?(?:proxy-)?user(?:name)?\b[=\s]*|-[uUp][=\s]*){_VALUE}")
_USER_OF_URL: Final = re.compile(r"(://)\S*(?=@)|(?<![^\s\"'(=])()[^\s:/@\"'(=]+:[^\s@/]+(?=@)")
_LONGEST_SHOWN: Final = 200
# A variable of a config provider or of a profile, such as ${env:NAME}; ${NAME:-text} and ${NAME:1} are a shell's.
_VARIABLE: Final = re.compile(r"\$\{[^{}:]+:(?![-=+?\s\d])[^}]*\}")


class CommandFailedError(Exception):
    """A command that printed nothing usable. Its text says why, as the end of a sentence, without secrets."""


class _RunningCommands:
    """The commands that run now, in any thread.

    Python ends daemon threads without their clean-up: the threads of several clusters, for example, after a signal.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._is_exiting = False

    def start(self, words: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a command. Raises CommandFailedError if that fails, or if this process exits."""
        with self._lock:
            if self._is_exiting:
                raise CommandFailedError("cannot be started: this process exits")
            process = _start(words)
            self._processes.add(process)
        return process

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the process group of a command."""
        with self._lock:
            self._processes.discard(process)
        _kill_group(process)

    def kill_all(self) -> None:
        """Kill the process groups of all commands; no further command can be started."""
        with self._lock:
            self._is_exiting = True
            for process in self._processes:
                _kill_group(process)


_running: Final = _RunningCommands()
atexit.register(_running.kill_all)


def split_command(text: str, source: str) -> tuple[str, ...]:
    """Return the words of a command, as a POSIX shell splits them; no shell runs it.

    Raises SettingsError, which names `source`, for an empty command, for a quotation mark without its partner, and for
    a variable such as `${env:NAME}`: its value could be several words, or another command.
    """
    if _VARIABLE.search(text):
        msg = f"{source}: a command is taken as written; its variable ${{…}} is not replaced; let the command read it"
        raise SettingsError(msg)
    try:
        words = tuple(shlex.split(text))
    except ValueError:
        # The text may have a password among its arguments, so it is not repeated.
        msg = f"{source}: a quotation mark of the command has no partner; write the command as a list of words"
        raise SettingsError(msg) from None
    if not words:
        msg = f"{source} is empty; write the command as a list of words"
        raise SettingsError(msg)
    return words


def run_command(words: Sequence[str], limit: Limit) -> bytes:
    """Return what a command prints to stdout. It has no stdin, no terminal, and a session of its own.

    The whole group is killed at the limit, when the command ends, and when this process exits. Raises
    CommandFailedError for a command that cannot be started, that fails, that takes too long, or that prints more than
    1 MiB.
    """
    process = _running.start(words)
    try:
        printed, complaint = _read_until_exit(process, limit)
    finally:
        _running.kill(process)
    if process.returncode:
        msg = f"failed with {_describe_status(process.returncode)}{_quote(complaint, printed)}"
        raise CommandFailedError(msg)
    return printed


def mask_output(text: str, secret: str = "") -> str:
    """Return the last line of what a program printed, without what may be a secret, and without lines of `secret`."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    line = hide_secrets(lines[-1], (part.strip() for part in secret.splitlines()))
    for pattern in (_USER_OF_URL, _OPTION, _NAMED_SECRET):
        line = pattern.sub(lambda match: f"{match[1] or ''}{MASK}", line)
    line = _LONG_WORD.sub(MASK, line)
    return "".join(each if each.isprintable() else "?" for each in line)[:_LONGEST_SHOWN]


def _start(words: Sequence[str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            # Without a terminal, a program that wants to read one fails at once. Its session is a process group, too.
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it has a NUL character"
        msg = f"cannot be started: {reason}"
        raise CommandFailedError(msg) from None


def _read_until_exit(process: subprocess.Popen[bytes], limit: Limit) -> tuple[bytes, bytes]:
    """Return what the process printed to stdout and stderr, at the latest when it exits.

    A child of it may keep the pipes open for longer, and nobody waits for that one.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    printed, complaint = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector, process.stdout, process.stderr:
        selector.register(process.stdout, selectors.EVENT_READ, printed)
        selector.register(process.stderr, selectors.EVENT_READ, complaint)
        while selector.get_map():
            has_exited = process.poll() is not None
            ready = selector.select(0.0 if has_exited else min(_TICK_S, limit.remaining_s()))
            for key, _ in ready:
                _read_ready(selector, key)
            # Only the last line is shown, and the rest may be long.
            del complaint[:-_READ_SIZE]
            if len(printed) > _MOST_BYTES:
                msg = f"printed more than {_MOST_BYTES:,} bytes"
                raise CommandFailedError(msg)
            if has_exited and not ready:
                break
            if limit.is_over():
                raise CommandFailedError("took too long, and was ended")
    _wait(process, limit)
    return bytes(printed), bytes(complaint)


def _read_ready(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    data = os.read(key.fd, _READ_SIZE)
    if not data:
        selector.unregister(key.fileobj)
    key.data.extend(data)


def _wait(process: subprocess.Popen[bytes], limit: Limit) -> None:
    # A process that closed its pipes may still run.
    while process.poll() is None:
        if limit.is_over():
            raise CommandFailedError("took too long, and was ended")
        try:
            process.wait(min(_TICK_S, limit.remaining_s()))
        except subprocess.TimeoutExpired:
            continue


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    # The group may have ended.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _describe_status(status: int) -> str:
    return f"exit status {status}" if status > 0 else f"signal {-status}"


def _quote(complaint: bytes, printed: bytes) -> str:
    secret = printed.decode(errors="replace").strip()
    shown = mask_output(complaint.decode(errors="replace"), secret)
    return f": {shown}" if shown else ""

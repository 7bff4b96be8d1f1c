"""The output streams of a run: whether they are terminals, how wide, and whether they take colours."""

from __future__ import annotations

import codecs
import errno
import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from io import TextIOWrapper, UnsupportedOperation
from typing import Final, NamedTuple, TextIO

# Control characters (Cc), line and paragraph separators, changes of the direction of text, and surrogates, which
# no stream can encode.
_CONTROLS: Final = r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"

_AS_BYTES: Final = "kafka_groups.as_bytes"
_CLOSED: Final = "stdout is closed, or open only for reading; redirect it to a file, or to /dev/null"


class Screen(NamedTuple):
    """The two output streams of a run; the width is that of stdout's window, 0 if it has none.

    `names_clusters` is true for a result of several clusters: each row of a table and each message names its own.
    """

    out: TextIO
    err: TextIO
    out_is_terminal: bool
    err_is_terminal: bool
    colour: bool
    width: int
    names_clusters: bool = False

    @property
    def is_unicode(self) -> bool:
        """Whether stdout can encode every character."""
        return (self.out.encoding or "utf-8").lower().startswith("utf")

    def write_utf8(self, text: str) -> None:
        """Write the text of a file to stdout: UTF-8 also on a terminal with another encoding."""
        make_utf8(self.out)
        self.out.write(text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def prepare_streams() -> None:
    """Replace closed streams, make stdout UTF-8 unless it is a terminal, and let every stream take every name.

    Names in a pipe or a file are data: in another encoding, some would change or be lost. A terminal, stderr and a
    reply have escapes in place of characters that they cannot have.
    """
    _open_missing_streams()
    streams = [sys.stdin, sys.stdout, sys.stderr]
    if not sys.stdout.isatty():
        make_utf8(sys.stdout)
        streams.remove(sys.stdout)
    for stream in streams:
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def make_utf8(stream: TextIO) -> None:
    """Encode what is written to a stream in UTF-8, whatever the locale; bytes that are not UTF-8 stay such bytes."""
    if isinstance(stream, TextIOWrapper):
        codecs.register_error(_AS_BYTES, _encode_surrogates)
        stream.reconfigure(encoding="utf-8", errors=_AS_BYTES, newline="\n")


def _encode_surrogates(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return the bytes that surrogates stand for, or an escape for surrogates that stand for none."""
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.lookup_error("backslashreplace")(error)


def inspect_streams(colour: str = "auto", environment: Mapping[str, str] = os.environ) -> Screen:
    """Return the streams of this process; `colour` is auto, always or never (auto respects NO_COLOR).

    Raises OSError if stdout cannot be written, because no command should run whose result would be lost.
    """
    require_stdout()
    out_is_terminal = sys.stdout.isatty()
    wanted = out_is_terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
    return Screen(
        out=sys.stdout,
        err=sys.stderr,
        out_is_terminal=out_is_terminal,
        err_is_terminal=sys.stderr.isatty(),
        colour=colour == "always" or (colour == "auto" and wanted),
        width=_window_width() if out_is_terminal else 0,
    )


def _window_width() -> int:
    import shutil  # it imports the archive formats, too, so output to a pipe does without it

    return shutil.get_terminal_size().columns


def escape_controls(text: str, spell: Callable[[str], str] = _escaped) -> str:
    """Return the text with visible control characters, so that the name of a group cannot control a terminal.

    Other characters without a glyph stay: joiners combine several characters to one letter or emoji.
    """
    # Most texts are printable, and this check is fast.
    return text if text.isprintable() else _controls().sub(lambda found: spell(found[0]), text)


@cache
def _controls() -> re.Pattern[str]:
    # Most commands never need it, and compiling it takes half a millisecond.
    return re.compile(_CONTROLS)


def print_line(stream: TextIO, text: str) -> None:
    """Print one line; after an error the stream is silenced."""
    try:
        print(text, file=stream, flush=True)
    except OSError:
        silence(stream)


def print_note(screen: Screen, text: str) -> None:
    """Print a note on stderr. If stderr cannot be written, the command goes on without it."""
    print_line(screen.err, escape_controls(text))


def silence(stream: TextIO) -> None:
    """Redirect the stream to the null device, so that flushing it at exit is not another error."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def require_stdout() -> None:
    """Raise OSError if stdout was closed (`>&-`), or if it is open only for reading."""
    try:
        descriptor = sys.stdout.fileno()
    except UnsupportedOperation:  # a stream in memory
        return
    if sys.platform == "win32":
        return
    import fcntl  # here, because Windows has none

    if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(errno.EBADF, _CLOSED)


def explain_error(error: OSError) -> str:
    """Return the text of an error of the operating system; without a file, EBADF is the error of a closed stdout."""
    if error.errno == errno.EBADF and not error.filename:
        return _CLOSED
    return f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"


def _open_missing_streams() -> None:
    """Open the null device for each closed stream (`>&-`), so that no socket gets its number.

    For stdout it is open only for reading: a result that is not written is an error. Messages on stderr are dropped.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDONLY if name == "stdout" else os.O_RDWR)
            os.dup2(null, number)
            if null != number:
                os.close(null)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8"))

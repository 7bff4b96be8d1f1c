"""Commands that print a secret: their words, their process group, their limit, and what their errors show."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import pytest

from kafka_groups.errors import SettingsError
from kafka_groups.settings.commands import CommandFailedError, mask_output, run_command, split_command
from kafka_groups.settings.limits import Limit

pytestmark = pytest.mark.timeout(30)
SECRET = "hidden-thing"
OPEN_TERMINAL = "open('/dev/tty').read()"


def python(program: str) -> tuple[str, ...]:
    """Return the words of a command that runs a Python program."""
    return (sys.executable, "-c", program)


def failure(words: tuple[str, ...], seconds: float = 20.0) -> str:
    """Return the text of the error of a command that fails."""
    with pytest.raises(CommandFailedError) as caught:
        run_command(words, Limit.after(seconds))
    return str(caught.value)


def has_ended(process: int) -> bool:
    """Return whether a process ends within two seconds; one that nobody has waited for has ended, too."""
    until = time.monotonic() + 2
    while time.monotonic() < until:
        try:
            os.kill(process, 0)
            state = Path(f"/proc/{process}/stat")
            if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False


def test_stdout_is_returned_and_stdin_is_empty() -> None:
    assert run_command(python("import sys; print(repr(sys.stdin.read()))"), Limit.after(20)) == b"''\n"


def test_no_shell_reads_the_words() -> None:
    words = (*python("import sys; print(sys.argv[1:])"), "$HOME;", "a b", "`id`", "*")
    assert run_command(words, Limit.after(20)).decode().strip() == str(["$HOME;", "a b", "`id`", "*"])


@pytest.mark.parametrize(
    ("text", "words"),
    [("a b", ("a", "b")), ("a 'b c' \"d e\" f\\ g", ("a", "b c", "d e", "f g")), ("  a  ", ("a",))],
)
def test_a_text_is_split_as_by_a_posix_shell(text: str, words: tuple[str, ...]) -> None:
    assert split_command(text, "-X key") == words


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            f"a 'b {SECRET}",
            "-X key: a quotation mark of the command has no partner; write the command as a list of words",
        ),
        (" ", "-X key is empty; write the command as a list of words"),
    ],
)
def test_a_text_that_cannot_be_split_is_refused(text: str, problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        split_command(text, "-X key")
    assert str(caught.value) == problem


def test_an_exit_status_is_reported_with_the_last_line_of_stderr() -> None:
    program = "import sys; print('token'); print('first\\nlast', file=sys.stderr); sys.exit(3)"
    assert failure(python(program)) == "failed with exit status 3: last"
    assert failure(python("import os; os.kill(os.getpid(), 9)")) == "failed with signal 9"


def test_stderr_of_a_command_that_succeeds_is_no_part_of_its_output() -> None:
    assert run_command(python("import sys; print('x', file=sys.stderr); print('y')"), Limit.after(20)) == b"y\n"


@pytest.mark.parametrize(
    "line",
    [
        f"password={SECRET}",
        f"Client secret: {SECRET}",
        f"token '{SECRET}'",
        f"Authorization: Bearer {SECRET}",
        f"Authorization: Basic {SECRET}",
        f"the password is {SECRET}",
        f"The passphrase was: '{SECRET} and {SECRET}'",
        f'{{"error":"x","password":"{SECRET} {SECRET}"}}',
        f'{{"db_password" : "{SECRET}", "user": "me"}}',
        f"cannot read https://u:{SECRET}@h/: refused",
        f"cannot read https://u:{SECRET}@{SECRET}@h/: refused",
        f"cannot copy me:{SECRET}@h:/x",
        f"curl -u user:{SECRET} https://h",
        f"curl -uuser:{SECRET} https://h",
        f"curl --user user:{SECRET} https://h",
        f"curl --proxy-user='user:a {SECRET}' https://h",
        f"mysql -p{SECRET} x",
        "word eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl",
    ],
)
def test_secrets_on_stderr_are_masked(line: str) -> None:
    text = failure(python(f"import sys; sys.exit({line!r})"))
    assert "(hidden)" in text
    assert SECRET not in text
    assert "eyJ" not in text


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("Authorization: Basic dXNlcjpwdw==", "Authorization: Basic (hidden)"),
        ("get https://u:hunter2pw@h/ failed", "get https://(hidden)@h/ failed"),
        ("curl -u user:hunter2pw h", "curl -u (hidden) h"),
        ("the password is hunter2pw", "the password is (hidden)"),
        ('{"password":"x","error":"expired"}', '{"password":(hidden),"error":"expired"}'),
        ("no such item: kafka/prod; run: az login", "no such item: kafka/prod; run: az login"),
        ("mail admin@example.com at 10:30", "mail admin@example.com at 10:30"),
    ],
)
def test_the_rest_of_a_line_with_a_secret_is_shown(line: str, shown: str) -> None:
    assert mask_output(line) == shown


def test_what_was_printed_to_stdout_is_masked_on_stderr() -> None:
    program = "import sys; print('short'); sys.exit('cannot renew short now')"
    assert failure(python(program)) == "failed with exit status 1: cannot renew (hidden) now"


def test_a_line_is_printable_and_has_an_end() -> None:
    assert mask_output("a\x1b[31m\u202eb") == "a?[31m?b"
    assert len(mask_output("ab " * 1000)) == 200
    assert mask_output(" \n\n") == ""


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("/nowhere/program",), "cannot be started: No such file or directory"),
        (("/",), "cannot be started: Permission denied"),
        (("a\0b",), "cannot be started: it has a NUL character"),
    ],
)
def test_a_command_that_cannot_be_started_is_an_error(words: tuple[str, ...], text: str) -> None:
    assert failure(words) == text


def test_more_than_a_megabyte_of_output_is_refused() -> None:
    megabyte = 1 << 20
    assert len(run_command(python(f"print('x' * {megabyte - 1})"), Limit.after(20))) == megabyte
    assert failure(python("while True: print('x' * 100_000)")) == "printed more than 1,048,576 bytes"


def test_only_the_end_of_a_long_stderr_is_kept() -> None:
    program = "import sys; [sys.stderr.write('x ' * 100_000 + '\\n') for _ in range(100)]; sys.exit('last')"
    tracemalloc.start()
    try:
        assert failure(python(program)) == "failed with exit status 1: last"
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_at_the_limit_the_whole_process_group_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "child"
    child = f"import os, time; open({str(path)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    limit = Limit.after(20)

    def end_when_the_child_runs() -> None:
        while not path.exists() or not path.read_text():
            time.sleep(0.01)
        limit.cancel()

    threading.Thread(target=end_when_the_child_runs, daemon=True).start()
    with pytest.raises(CommandFailedError) as caught:
        run_command(python(program), limit)
    assert str(caught.value) == "took too long, and was ended"
    assert has_ended(int(path.read_text()))


def test_a_command_of_a_daemon_thread_ends_with_the_process(tmp_path: Path) -> None:
    path = tmp_path / "child"
    child = f"import os, time; open({str(path)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    program = f"""
import threading, time
from pathlib import Path
from kafka_groups.settings.commands import run_command
from kafka_groups.settings.limits import Limit
words = {python(child)!r}
threading.Thread(target=run_command, args=(words, Limit.after(20)), daemon=True).start()
path = Path({str(path)!r})
while not path.exists() or not path.read_text():
    time.sleep(0.01)
"""
    subprocess.run(python(program), check=True, timeout=20)
    assert has_ended(int(path.read_text()))


def test_a_command_that_ignores_sigterm_is_killed() -> None:
    program = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    started = time.monotonic()
    assert failure(python(program), 0.5) == "took too long, and was ended"
    assert time.monotonic() - started < 10


def test_a_child_that_keeps_the_pipes_open_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "child"
    program = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(path)!r}, 'w').write(str(child.pid))\n"
        "print('token')\n"
    )
    started = time.monotonic()
    assert run_command(python(program), Limit.after(20)) == b"token\n"
    assert time.monotonic() - started < 10
    assert has_ended(int(path.read_text()))


@pytest.mark.slow
def test_a_command_that_closes_its_pipes_is_waited_for() -> None:
    program = "import os, time; os.write(1, b'token'); os.close(1); os.close(2); time.sleep(0.3); os._exit(4)"
    assert failure(python(program)) == "failed with exit status 4"
    program = "import os, time; os.close(1); os.close(2); time.sleep(60)"
    assert failure(python(program), 0.7) == "took too long, and was ended"


def test_a_cancelled_command_ends_at_once() -> None:
    limit = Limit.after(20)
    threading.Timer(0.2, limit.cancel).start()
    started = time.monotonic()
    with pytest.raises(CommandFailedError):
        run_command(python("import time; time.sleep(60)"), limit)
    assert time.monotonic() - started < 10


def test_a_command_has_a_process_group_of_its_own() -> None:
    program = "import os; print(os.getpgrp() == os.getpid())"
    assert run_command(python(program), Limit.after(20)) == b"True\n"


def test_a_command_has_no_terminal() -> None:
    """A command in the background of a terminal would be stopped when it reads there."""
    program = "import os; print(os.getsid(0) == os.getpid())"
    assert run_command(python(program), Limit.after(20)) == b"True\n"
    ours, terminal = pty.openpty()
    # The first terminal that the leader of a session opens is its terminal.
    take = f"import os; os.open({os.ttyname(terminal)!r}, os.O_RDWR)"
    run = f"from tests.settings.test_commands import *; print(failure(python({OPEN_TERMINAL!r})))"
    try:
        done = subprocess.run(
            python(f"{take}\n{run}"), capture_output=True, check=True, start_new_session=True, text=True
        )
    finally:
        os.close(ours)
        os.close(terminal)
    assert done.stdout.startswith("failed with exit status 1: OSError: [Errno 6] No such device or address: '/dev/tty'")

"""Names of open descriptors, such as /dev/stdout and those of >(…) in bash, are written at their position."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_groups.files import SpecialFileError, write_atomically

PROGRAM = """
import sys
from kafka_groups.files import check_writable, write_atomically
print("before")
check_writable(sys.argv[1])
write_atomically(sys.argv[1], "content\\n")
print("after")
"""
ALL = "before\ncontent\nafter\n"
NAMES = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1"]


def shell(script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script of bash in which `write NAME` writes to this name."""
    environment = {**os.environ, "PYTHON": sys.executable, "PROGRAM": PROGRAM, **variables}
    function = 'write() { "$PYTHON" -c "$PROGRAM" "$1"; }\n'
    return subprocess.run(
        ["bash", "-c", function + script], env=environment, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_stdout_is_a_part_of_the_output(tmp_path: Path, name: str) -> None:
    assert shell(f"write {name} | cat").stdout == ALL
    for redirection in (">", ">>"):
        assert shell(f"write {name} {redirection} {tmp_path}/out").stderr == ""
        assert (tmp_path / "out").read_text() == ALL
        (tmp_path / "out").unlink()


def test_a_file_that_stdout_is_redirected_to_is_not_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert shell(f"write {out} > {out}").stderr == ""
    assert out.read_text() == ALL


def test_a_descriptor_of_the_shell_is_written_behind_its_content(tmp_path: Path) -> None:
    done = shell(f"{{ echo first >&3; write /dev/fd/3; echo last >&3; }} 3> {tmp_path}/out")
    assert (done.stdout, (tmp_path / "out").read_text()) == ("before\nafter\n", "first\ncontent\nlast\n")


def test_a_process_substitution_receives_the_content(tmp_path: Path) -> None:
    # bash does not wait for the process, so its end is a file of its own.
    script = f"write >(tr a-z A-Z > {tmp_path}/out; touch {tmp_path}/end); until [ -e {tmp_path}/end ]; do :; done"
    assert shell(script).stdout == "before\nafter\n"
    assert (tmp_path / "out").read_text() == "CONTENT\n"


def test_a_deleted_file_of_a_descriptor_is_written_and_not_created(tmp_path: Path) -> None:
    script = f"exec 3<> {tmp_path}/out; rm {tmp_path}/out; write /dev/fd/3 > {tmp_path}/stdout; cat /dev/fd/3"
    assert shell(script).stdout == "content\n"
    assert [file.name for file in tmp_path.iterdir()] == ["stdout"]


def test_a_deleted_file_of_another_process_is_written_in_place(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w+") as file, subprocess.Popen(["sleep", "60"], stdin=file) as other:
        name = f"/proc/{other.pid}/fd/0"
        (tmp_path / "out").unlink()
        write_atomically(name, "content")
        assert Path(name).read_text() == "content"
        other.kill()
    assert list(tmp_path.iterdir()) == []


def test_a_descriptor_that_is_closed_or_for_reading_is_an_error() -> None:
    assert "Bad file descriptor" in shell("write /dev/fd/9").stderr
    assert "Bad file descriptor" in shell("write /dev/fd/0 < /dev/null").stderr


def test_a_pipe_that_does_not_block_is_waited_for() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    os.set_inheritable(write, True)  # as the descriptors of a shell are
    command = ["sh", "-c", "sleep 0.3; wc -c"]
    with subprocess.Popen(command, stdin=read, stdout=subprocess.PIPE, close_fds=True) as reader:
        os.close(read)
        write_atomically(f"/dev/fd/{write}", b"x" * 300_000)
        os.close(write)
        assert reader.stdout is not None
        assert reader.stdout.read().split() == [b"300000"]


def test_a_descriptor_that_was_not_inherited_is_not_written(tmp_path: Path) -> None:
    with (tmp_path / "connection").open("w") as file, pytest.raises(OSError, match="Bad file descriptor"):
        write_atomically(f"/dev/fd/{file.fileno()}", "new")
    assert (tmp_path / "connection").read_text() == ""


def test_a_descriptor_is_nothing_that_could_be_read_back(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        name = f"/dev/fd/{file.fileno()}"
        with pytest.raises(SpecialFileError, match="an open file of this program, such as its output"):
            write_atomically(name, "new", is_read_back=True)

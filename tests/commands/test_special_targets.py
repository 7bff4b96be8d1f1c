"""--metrics-file, --polls and --export with devices, FIFOs, links and descriptors in place of regular files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_groups.files import streams
from tests.commands.lag_groups import add_lag_groups
from tests.commands.test_streams import CHECK, ROOT
from tests.fakes.command_line import Outcome, run
from tests.fakes.fake_admin import FakeCluster
from tests.special_files import FULL, another_user, as_root, is_device, is_fifo, make_device, reader_of

# Each command writes its file to the path that follows.
WRITERS = {
    "metrics": ("lag", "--metrics-file"),
    "plan of reset": ("reset", "lost", "--all-topics", "--to-latest", "--export"),
    "plan of orphans": ("orphans", "--export"),
}
WHAT = {"metrics": "the metrics", "plan of reset": "the plan", "plan of orphans": "the plan"}
READERS = {"lag": ("lag", "--polls"), "orphans": ("orphans", "--polls")}


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    add_lag_groups(cluster)
    monkeypatch.setattr(streams, "_READER_TIMEOUT_S", 0.1)


def write(writer: str, path: Path) -> Outcome:
    return run(*WRITERS[writer], str(path))


@pytest.mark.parametrize("writer", WRITERS)
def test_a_device_stays_a_device(tmp_path: Path, writer: str) -> None:
    node, link = make_device(tmp_path / "null"), tmp_path / "link"
    link.symlink_to("null")
    assert [write(writer, path).exit_code for path in (node, link)] == [0, 0]
    assert (is_device(node), link.is_symlink()) == (True, True)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link", "null"]


@pytest.mark.parametrize("writer", WRITERS)
def test_a_device_that_takes_nothing_is_an_error(tmp_path: Path, writer: str) -> None:
    node = make_device(tmp_path / "full", FULL)
    outcome = write(writer, node)
    assert f"Error: cannot write {WHAT[writer]} to {node}: No space left on device" in outcome.stderr
    assert (outcome.exit_code, is_device(node)) == (1, True)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_fifo_hands_the_file_to_its_reader(tmp_path: Path, writer: str) -> None:
    assert write(writer, tmp_path / "file").exit_code == 0
    with reader_of(tmp_path / "fifo") as received:
        assert write(writer, tmp_path / "fifo").exit_code == 0
    first_line = (tmp_path / "file").read_bytes().splitlines()[0]
    assert [content.splitlines()[0] for content in received] == [first_line]
    assert is_fifo(tmp_path / "fifo")


@pytest.mark.parametrize("writer", WRITERS)
def test_a_fifo_that_nobody_reads_is_an_error(tmp_path: Path, writer: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    outcome = write(writer, tmp_path / "fifo")
    reason = f"{tmp_path / 'fifo'}: no process reads this FIFO; start its reader first"
    assert f"Error: cannot write {WHAT[writer]} to {reason}" in outcome.stderr
    assert (outcome.exit_code, is_fifo(tmp_path / "fifo")) == (1, True)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_name_with_a_slash_at_its_end_creates_no_file(tmp_path: Path, writer: str) -> None:
    outcome = run(*WRITERS[writer], f"{tmp_path}/new/")
    assert f"cannot write {WHAT[writer]} to {tmp_path}/new/: Is a directory" in outcome.stderr
    assert (outcome.exit_code, list(tmp_path.iterdir())) == (1, [])


def test_a_metrics_file_of_another_user_keeps_its_owner() -> None:
    with another_user() as public, as_root():
        path = public / "lag.prom"
        path.write_text("old")
        os.chown(path, 12345, 12345)
        path.chmod(0o640)
        assert write("metrics", path).exit_code == 0
        status = path.stat()
        assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (12345, 12345, 0o640)
        assert path.read_text().startswith("# HELP kafka_groups_group_lag_messages ")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", ["FIFO", "device"])
def test_a_history_has_to_be_a_regular_file(tmp_path: Path, reader: str, kind: str) -> None:
    path = tmp_path / kind
    if kind == "FIFO":
        os.mkfifo(path)
    else:
        make_device(path)
    outcome = run(*READERS[reader], str(path))
    assert outcome == (2, "", f"Error: cannot use {path} as the file of --polls: it is a {kind}; name a regular file\n")
    assert is_fifo(path) or is_device(path)


def test_a_history_behind_a_link_stays_behind_it(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("history")
    assert [run("lag", "--polls", str(tmp_path / "link")).exit_code for _ in range(2)] == [0, 0]
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "history").read_text().startswith('{"schema"')


def shell(script: str) -> str:
    """Run a script of bash in which `tool` is the command line with a fake client; return its output and exit code."""
    environment = {**os.environ, "PYTHON": sys.executable, "PROGRAM": CHECK, "KAFKA_GROUPS_BOOTSTRAP_SERVER": "b1:9092"}
    function = 'tool() { "$PYTHON" -c "$PROGRAM" "$@"; }\n'
    command = ["bash", "-c", f"{function}{script}"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
    return done.stdout


def test_the_name_of_stdout_puts_the_metrics_behind_the_table(tmp_path: Path) -> None:
    piped = shell("tool lag --metrics-file /dev/stdout | cat")
    assert (piped.startswith("GROUP "), "\n# TYPE kafka_groups_poll_timestamp_seconds gauge\n" in piped) == (True, True)
    shell(f"tool lag --metrics-file /dev/stdout > {tmp_path}/out")
    without_times = [
        [line for line in text.splitlines() if "timestamp_seconds" not in line]
        for text in (piped, (tmp_path / "out").read_text())
    ]
    assert without_times[0] == without_times[1]


def test_the_name_of_stdout_takes_a_plan() -> None:
    plan = shell("tool reset a --topic t --to-latest --export /dev/stdout 2>/dev/null | cat")
    assert plan.splitlines()[0] == "t,0,100"
    assert "GROUP" in plan


def test_a_process_substitution_receives_the_metrics(tmp_path: Path) -> None:
    wait = f"until [ -e {tmp_path}/end ]; do :; done"
    shell(f"tool lag --metrics-file >(cat > {tmp_path}/out; touch {tmp_path}/end) > /dev/null; {wait}")
    assert (tmp_path / "out").read_text().startswith("# HELP kafka_groups_group_lag_messages ")

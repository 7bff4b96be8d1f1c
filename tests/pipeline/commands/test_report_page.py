"""--html: files, links, devices and pipes as the page, and the report if the page cannot be written."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from kafka_groups.files import streams
from kafka_groups.pipeline.commands.schemas import pipeline_schemas
from tests.fakes.command_line import Outcome, run
from tests.pipeline.commands.conftest import FakePipeline
from tests.pipeline.report.example_histories import group, history
from tests.special_files import is_device, is_fifo, make_device

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

HISTORY = replace(
    history(made_ms=3, from_ms=1, to_ms=2, clusters=("c",)), groups=(group("billing"),), selected=(group("billing"),)
)


@pytest.fixture(autouse=True)
def a_history(fakes: FakePipeline) -> None:
    fakes.report.return_value = HISTORY


@pytest.fixture
def private_umask() -> Iterator[int]:
    """Set a umask that gives no rights to others."""
    before = os.umask(0o077)
    yield 0o077
    os.umask(before)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """The path of a page, in a directory of its own."""
    (tmp_path / "site").mkdir()
    return tmp_path / "site" / "report.html"


def report(data_dir: str, page: Path, *more: str) -> Outcome:
    return run("pipeline", "report", "--data-dir", data_dir, "--html", str(page), *more)


def checked(outcome: Outcome) -> dict[str, Any]:
    """Return the document, which conforms to its schema."""
    document: dict[str, Any] = json.loads(outcome.stdout)
    Draft202012Validator(pipeline_schemas()["pipeline-report"]).validate(document)
    return document


def names(page: Path) -> list[str]:
    return sorted(file.name for file in page.parent.iterdir())


def mode(page: Path) -> int:
    return stat.S_IMODE(page.stat().st_mode)


def fill_disk(mocker: MockerFixture) -> None:
    """Let every page fail, as on a full disk."""
    error = OSError(28, "No space left on device")
    mocker.patch("kafka_groups.pipeline.commands.page_file.write_page", side_effect=error)


def test_a_page_is_written_whole_or_not_at_all(data_dir: str, page: Path, mocker: MockerFixture) -> None:
    assert report(data_dir, page).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!")
    fill_disk(mocker)
    assert report(data_dir, page).exit_code == 3
    assert (names(page), page.read_text(encoding="utf-8")) == (["report.html"], text)


def test_a_page_that_cannot_be_written_does_not_prevent_the_report(
    data_dir: str, page: Path, mocker: MockerFixture
) -> None:
    fill_disk(mocker)
    message = f"cannot write the page {page}: No space left on device; name another file with --html"
    outcome = report(data_dir, page)
    assert (outcome.exit_code, "billing" in outcome.stdout) == (3, True)
    assert [line for line in outcome.stderr.splitlines() if "page" in line] == [f"Error: {message}"]
    document = checked(report(data_dir, page, "--format", "json"))
    assert (document["status"], document["groups"][0]["group"]) == ("partial", "billing")
    assert [(error["name"], error["message"]) for error in document["errors"]] == [("PIPELINE_FAILED", message)]


def test_a_path_that_cannot_be_written_is_reported_before_spark_is_started(
    fakes: FakePipeline, data_dir: str, page: Path
) -> None:
    loop = page.with_name("loop")
    loop.symlink_to(loop)
    outcome = report(data_dir, loop, "--format", "json")
    assert outcome.exit_code == 1
    assert outcome.stderr == (
        f"Error: cannot write the page {loop}: Too many levels of symbolic links; name another file with --html\n"
    )
    assert checked(outcome)["status"] == "failed"
    fakes.spark.assert_not_called()
    assert names(page) == ["loop"]


def test_a_file_name_that_is_too_long_is_reported_before_spark_is_started(
    fakes: FakePipeline, data_dir: str, page: Path
) -> None:
    outcome = report(data_dir, page.with_name("x" * 256))
    assert (outcome.exit_code, "File name too long" in outcome.stderr) == (1, True)
    fakes.spark.assert_not_called()
    assert report(data_dir, page.with_name("x" * 255)).exit_code == 0


def test_a_name_that_means_a_directory_creates_no_page(data_dir: str, page: Path) -> None:
    outcome = run("pipeline", "report", "--data-dir", data_dir, "--html", f"{page}/")
    assert (outcome.exit_code, names(page)) == (1, [])
    assert f"cannot write the page {page}/: Is a directory; name another file with --html" in outcome.stderr


def test_a_fifo_that_nobody_reads_does_not_stop_the_report(
    data_dir: str, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_READER_TIMEOUT_S", 0.1)
    os.mkfifo(page)
    outcome = report(data_dir, page)
    assert (outcome.exit_code, "billing" in outcome.stdout) == (3, True)
    assert f"cannot write the page {page}: no process reads this FIFO; start its reader first" in outcome.stderr
    assert is_fifo(page)


def test_a_new_page_has_the_permissions_of_the_umask(data_dir: str, page: Path, private_umask: int) -> None:
    report(data_dir, page)
    assert mode(page) == 0o666 & ~private_umask


def test_a_page_that_is_replaced_keeps_its_permissions(data_dir: str, page: Path) -> None:
    page.write_text("yesterday's page")
    page.chmod(0o640)
    report(data_dir, page)
    assert (mode(page), page.read_text(encoding="utf-8")[:2]) == (0o640, "<!")


@pytest.mark.parametrize("exists", [True, False])
def test_a_symbolic_link_stays_one_and_its_target_changes(
    data_dir: str, page: Path, tmp_path: Path, *, exists: bool
) -> None:
    target = tmp_path / "elsewhere.html"
    if exists:
        target.write_text("yesterday's page")
    page.symlink_to(target)
    assert report(data_dir, page).exit_code == 0
    assert (page.is_symlink(), target.read_text(encoding="utf-8")[:2]) == (True, "<!")
    assert names(page) == ["report.html"]


def test_a_device_stays_a_device(data_dir: str, page: Path) -> None:
    make_device(page)
    assert report(data_dir, page).exit_code == 0
    assert (is_device(page), names(page)) == (True, ["report.html"])


def test_a_pipe_receives_the_page(data_dir: str, page: Path) -> None:
    os.mkfifo(page)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(page.read_text(encoding="utf-8")), daemon=True)
    reader.start()
    assert report(data_dir, page).exit_code == 0
    reader.join(timeout=10)
    assert read[0].startswith("<!")
    assert stat.S_ISFIFO(page.stat().st_mode)


@pytest.mark.parametrize("kind", ["pipe", "file"])
def test_standard_output_receives_the_page_and_the_text_after_it(tmp_path: Path, kind: str) -> None:
    program = """
import sys
from kafka_groups.pipeline.commands.page_file import check_page, write_page_to
from tests.pipeline.report.example_histories import history
page = "/dev/stdout"
print("before")
check_page(page)
write_page_to(page, history(made_ms=3, from_ms=1, to_ms=2, clusters=("c",)), max_groups=1)
print("after")
"""
    out = tmp_path / "out"
    with out.open("w") as file:
        stream = subprocess.PIPE if kind == "pipe" else file
        done = subprocess.run([sys.executable, "-c", program], stdout=stream, text=True, check=True, timeout=60)
    text = done.stdout if kind == "pipe" else out.read_text(encoding="utf-8")
    assert (text.startswith("before\n<!"), text.endswith("after\n")) == (True, True)

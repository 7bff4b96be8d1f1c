"""The log file of Spark: the output that it gets, and the reason of a JVM's end in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafka_groups.errors import PipelineError
from kafka_groups.pipeline.spark.output import jvm_end_reason, redirect_output


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Error occurred during initialization of VM\nToo small maximum heap\n", "Too small maximum heap"),
        ("Error occurred during initialization of VM\n", "Error occurred during initialization of VM"),
        ("Invalid heap: -Xmx1x\nError: Could not create the Java Virtual Machine.\nmore\n", "Invalid heap: -Xmx1x"),
        ('Exception in thread "main" org.apache.Broken: no\n\tat Main\n', "org.apache.Broken: no"),
        ("WARN nothing\n", None),
    ],
)
def test_the_reason_of_a_jvms_end_is_in_the_new_part_of_the_log(tmp_path: Path, text: str, reason: str | None) -> None:
    log = tmp_path / "log"
    before = "Error occurred during initialization of VM\nof a run before\n"
    log.write_text(before + text)
    assert jvm_end_reason(log, len(before)) == reason


def test_output_inside_the_context_goes_to_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    with redirect_output(log):
        os.write(1, b"one ")
        os.write(2, b"two")
    os.write(1, b"three")
    assert log.read_text() == "one two"
    assert capfd.readouterr() == ("three", "")


def test_an_unwritable_log_is_reported_with_its_option(tmp_path: Path) -> None:
    quiet = redirect_output(tmp_path / "mistyped" / "log")
    with (
        pytest.raises(PipelineError, match=r"cannot write the log of Spark, .*name another file with --spark-log"),
        quiet,
    ):
        pytest.fail("there is no such directory")
    assert list(tmp_path.iterdir()) == []

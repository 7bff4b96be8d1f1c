"""Numbers of options, conditions, files and settings: ASCII digits only; the error names the option and the text."""
# ruff: noqa: RUF001 - digits of other scripts look like letters

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster

RESET = ("reset", "a", "--topic", "t")
LAG = ("lag", "a")
UP = ("sandbox", "up")


@pytest.fixture(autouse=True)
def group(cluster: FakeCluster) -> None:
    """Add an empty group with commits far from the ends of its log."""
    cluster.end("t", 2_000, starts=(0,))
    cluster.add("a", state="Empty", commits={("t", 0): 1_000})


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        ((*RESET, "--to-offset"), "--to-offset"),
        ((*RESET, "--shift-by"), "--shift-by"),
        ((*LAG, "--top"), "--top"),
        ((*LAG, "--watch", "5s", "--samples"), "--samples"),
        ((*UP, "--port"), "--port"),
        ((*UP, "--brokers"), "--brokers"),
        ((*UP, "--heap"), "--heap"),
        (("pipeline", "report", "--data-dir", "d", "--top"), "--top"),
        (("pipeline", "ingest", "--data-dir", "d", "--records-per-batch"), "--records-per-batch"),
        (("pipeline", "build", "--data-dir", "d", "--allowed-lag"), "--allowed-lag"),
    ],
)
@pytest.mark.parametrize(("text", "plain"), [("1_0", "10"), ("٣", "3"), ("３", "3"), ("1,000", "1000")])
def test_a_number_of_an_option_has_ascii_digits(arguments: tuple[str, ...], option: str, text: str, plain: str) -> None:
    outcome = run(*arguments, text)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert f"Invalid value for '{option}': '{text}' is not a whole number; write {plain}; see" in outcome.stderr


@pytest.mark.parametrize(("text", "offset"), [("+24", "1024"), ("24", "1024"), ("-24", "976"), (" -24", "976")])
def test_shift_by_has_a_sign_or_none(text: str, offset: str) -> None:
    outcome = run(*RESET, "--shift-by", text, "--format", "csv")
    assert (outcome.exit_code, outcome.stdout.splitlines()[1].split(",")[4]) == (0, offset)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*RESET, "--by-duration", "٣h"), "--by-duration: '٣h' is not a duration; write 3h"),
        ((*RESET, "--by-duration", "1_0h"), "--by-duration: '1_0h' is not a duration; write 10h"),
        ((*RESET, "--by-duration", "PT٣H"), "--by-duration: 'PT٣H' is not a duration; write PT3H"),
        ((*RESET, "--by-duration", "PT1\u017f"), "--by-duration: 'PT1\u017f' is not a duration; write for example"),
        ((*RESET, "--by-duration", "٣"), "--by-duration: '٣' is not a duration (a number needs a unit); write for"),
        ((*LAG, "--timeout", "٣s"), "--timeout: '٣s' is not a duration; write 3s"),
        ((*LAG, "--watch", "1_0s"), "--watch: '1_0s' is not a duration; write 10s"),
        (("wait", "a", "--until", "lag<=0", "--for", "٣m"), "--for: '٣m' is not a duration; write 3m"),
        (("wait", "a", "--until", "lag<=1_000"), "lag is a number, and '1_000' is none; write 1000"),
        (("wait", "a", "--until", "lag<=٣"), "lag is a number, and '٣' is none; write 3"),
        ((*LAG, "--fail-if", "lag>1_000"), "lag is a number, and '1_000' is none; write 1000"),
        ((*LAG, "--fail-if", "time_lag>٣m"), "'٣m' is not a duration; write 3m"),
        (("offsets", "a", "--topic", "t:٣"), "--topic 't:٣': '٣' is not a partition; write 3"),
        (("offsets", "a", "--topic", "t:0,1_0"), "--topic 't:0,1_0': '1_0' is not a partition; write 10"),
        (("offsets", "a", "--topic", "t:\u00a03"), "is not a partition; write 3"),
        ((*LAG, "-b", "127.0.0.1:٩٠٩٢"), "-b: '127.0.0.1:٩٠٩٢' is not a bootstrap server; write 127.0.0.1:9092"),
        ((*LAG, "-b", "b:9_092"), "-b: 'b:9_092' is not a bootstrap server; write b:9092"),
        (
            (*LAG, "-X", "socket.connection.setup.timeout.ms=1_000"),
            "=1_000 is not a number of milliseconds greater than 0; write 1000",
        ),
        (
            (*LAG, "-X", "socket.connection.setup.timeout.ms=٣٠٠٠"),
            "=٣٠٠٠ is not a number of milliseconds greater than 0; write 3000",
        ),
        (("pipeline", "build", "--data-dir", "d", "--from", "٢٠٢٦-١١-٠١"), "'--from': '٢٠٢٦-١١-٠١' is not a date"),
        (("pipeline", "build", "--data-dir", "d", "--to", "2026-11"), "'--to': '2026-11' is not a date"),
        (("pipeline", "build", "--data-dir", "d", "--master", "local[٣]"), "'local[٣]' is not a Spark master"),
        (("pipeline", "build", "--data-dir", "d", "--master", "spark://h:٧"), "'spark://h:٧' is not a Spark master"),
        (("pipeline", "build", "--data-dir", "d", "--driver-memory", "٤g"), "--driver-memory '٤g' is not a size"),
        (("pipeline", "build", "--data-dir", "d", "--driver-memory", "9999999\u212a"), "is not a size"),
        (("pipeline", "report", "--data-dir", "d", "--since", "١d"), "--since: '١d' is not a duration; write 1d"),
        (("pipeline", "compact", "--data-dir", "d", "--retention", "9_0d"), "'9_0d' is not a duration; write 90d"),
    ],
)
def test_a_number_in_a_value_has_ascii_digits(arguments: tuple[str, ...], message: str) -> None:
    outcome = run(*arguments)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert message in outcome.stderr


def test_a_number_in_a_config_file_has_ascii_digits(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=b:9092\nsocket.connection.setup.timeout.ms=1_000\n")
    outcome = run("list", "--config", str(file), bootstrap=None)
    assert outcome.exit_code == 2
    assert "timeout.ms=1_000 is not a number of milliseconds greater than 0; write 1000" in outcome.stderr


def test_the_version_of_a_sandbox_has_ascii_digits() -> None:
    outcome = run(*UP, "--kafka-version", "٤.٣.١")
    assert outcome.exit_code != 0
    assert "'٤.٣.١' is not a version of Kafka" in outcome.stderr


def test_a_date_may_have_numbers_of_one_digit() -> None:
    outcome = run("pipeline", "build", "--data-dir", "d", "--from", "2026-11-2", "--to", "2026-11-1")
    assert (outcome.exit_code, "--from is after --to" in outcome.stderr) == (2, True)

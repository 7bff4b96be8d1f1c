"""What the pipeline's bench concludes from its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import contenders
from .__main__ import describe_growth
from .contenders import Bench, Run, spread
from .filled_broker import FilledBroker
from .old_and_new import NEW, NEW_COPY, OLD, Comparison
from .process_usage import Usage

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def comparison(old: list[float], new: list[float], copy: list[float], *, new_mib: float = 100.0) -> Comparison:
    return Comparison(
        "build",
        {
            OLD: [Usage(seconds, 100.0) for seconds in old],
            NEW: [Usage(seconds, new_mib) for seconds in new],
            NEW_COPY: [Usage(seconds, 100.0) for seconds in copy],
        },
    )


def test_the_slope_leaves_out_what_every_run_costs() -> None:
    text = describe_growth({500_000: 3.0, 1_000_000: 4.0, 4_000_000: 10.0})

    assert text == "growth: 0.5 M 3.0 s, 1 M 4.0 s, 4 M 10.0 s; by that slope a day of 432 million commits takes 14 min"


def test_a_spread_is_the_median_between_the_extremes() -> None:
    assert spread([3.0, 1.0, 2.0]) == "2.00 s (1.00 to 3.00)"


def test_a_step_is_slower_only_beyond_the_noise_of_two_copies() -> None:
    noisy = comparison(old=[1.0, 1.0, 1.0], new=[1.1, 1.1, 1.1], copy=[1.1, 1.3, 1.1])
    steady = comparison(old=[1.0, 1.0, 1.0], new=[1.1, 1.1, 1.1], copy=[1.1, 1.12, 1.1])

    assert not noisy.is_slower()
    assert steady.is_slower()


def test_a_faster_copy_is_noise_as_a_slower_one() -> None:
    assert comparison(old=[1.0], new=[1.25], copy=[1.0]).noise() == 1.25


def test_more_than_a_tenth_more_memory_is_larger() -> None:
    assert not comparison([1.0], [1.0], [1.0], new_mib=110.0).is_larger()
    assert comparison([1.0], [1.0], [1.0], new_mib=111.0).is_larger()


def test_a_comparison_is_described_with_ratios_and_a_verdict() -> None:
    text = comparison(old=[1.0, 2.0], new=[1.5, 3.0], copy=[1.5, 3.0], new_mib=120.0).describe()

    assert text.splitlines() == [
        "build",
        "  old        1.50 s (1.00 to 2.00)            100 MiB",
        "  new        2.25 s (1.50 to 3.00)            120 MiB",
        "  new, copy  2.25 s (1.50 to 3.00)            100 MiB",
        "  new / old       1.500 (1.500 to 1.500), memory 1.20",
        "  new copy / new  1.000 (1.000 to 1.000)",
        "  SLOWER than the copies of the new code differ",
        "  MORE MEMORY than 110% of the old code's",
    ]


def test_contenders_are_judged_by_their_times_without_the_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net_s = {"ingest": 2.0, "dump": 5.0, "raw": 1.0}
    monkeypatch.setattr(contenders, "connector_jars", list)
    monkeypatch.setattr(FilledBroker, "fill_to", lambda *_: None)
    monkeypatch.setattr(Bench, "_run", lambda _, name: Run(net_s[name] + 7.0, 7.0, 120.0))
    monkeypatch.setattr(Bench, "_run_once", lambda *_: {"share": 0.5})
    broker = FilledBroker("b:9092", print)
    broker.commits = 4_000

    _, targets = Bench(broker, broker, tmp_path, 1).compare()

    assert targets == [
        ("at least 2 times the records a second of Kafka's console dump: 2.50", True),
        ("decoding takes at most 40 % of a task's time: 50%", False),
        ("a Python worker stays below 400 MiB: 120 MiB", True),
    ]
    assert "ingest     4,000 records: 2.00 s (2.00 to 2.00) and a start of 7.00 s" in capsys.readouterr().out

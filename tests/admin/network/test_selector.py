"""What a selector leaves behind."""

from __future__ import annotations

from pathlib import Path

from kafka_groups.admin.network.selector import Selector


def test_a_closed_selector_holds_no_file_open() -> None:
    first = Selector()  # what a process opens once is open now
    first.close()
    before = len(list(Path("/proc/self/fd").iterdir()))
    selector = Selector()
    assert len(list(Path("/proc/self/fd").iterdir())) == before + 3
    selector.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before

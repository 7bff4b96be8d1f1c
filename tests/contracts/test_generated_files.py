"""Completion scripts and man pages are those that `make generated` writes from the current help."""

from __future__ import annotations

import pytest

from tools.generated_files import ROOT, committed_files, generated_files

GENERATED = generated_files()


def test_no_other_file_is_in_the_directories_of_generated_files() -> None:
    assert committed_files() == GENERATED.keys()


@pytest.mark.parametrize("path", GENERATED)
def test_a_generated_file_is_up_to_date(path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == GENERATED[path], "run `make generated`"

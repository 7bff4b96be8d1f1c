"""docs/why.md explains the words of `why`, and the README has its incident. The table of causes is generated."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from kafka_groups.causes.finding import CauseKind, Certainty

PAGE: Final = (Path(__file__).parents[2] / "docs/why.md").read_text(encoding="utf-8")


def test_the_page_names_every_certainty_and_kind() -> None:
    words = [f"`{certainty.word.upper()}`" for certainty in Certainty] + [f"`{kind.value}`" for kind in CauseKind]
    assert [word for word in words if word not in PAGE] == []


def test_the_incident_of_the_readme_is_that_of_the_page() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    incident = re.search(r"^invoicing: .*?max-messages 1$", readme, re.MULTILINE | re.DOTALL)
    assert incident is not None
    assert incident[0] in PAGE

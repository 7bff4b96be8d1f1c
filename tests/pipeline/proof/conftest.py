"""Fixtures of tests of the proof."""

from __future__ import annotations

import pytest

from tests.pipeline.proof import predicates
from tests.pipeline.proof.causes import SeedFacts


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The facts that predicates read, which a test gives as its parameter."""
    monkeypatch.setattr(predicates, "seed_facts", lambda _seed: SeedFacts(request.param))

"""Builds that are killed in between: the next one leaves the rows that a single build makes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import Table
from kafka_groups.verdicts import Limits
from tests.pipeline.build.builds import build_here, built, read
from tests.pipeline.fact_rows import Row, commit, ends, event, put_all
from tests.pipeline.proof import DERIVED

# It starts processes and kills them.
pytestmark = pytest.mark.slow

DAY = 86_400
BEFORE_MIDNIGHT = 43_200 - 60
THE_END = "all tables are replaced, and the note is not saved"


@pytest.fixture(scope="module", autouse=True)
def delayed_commits() -> None:
    """Use Delta logs for a killed build, as users have them."""


def rows_in(storage: Storage) -> dict[str, list[Row]]:
    return {name: read(storage, name) for name in DERIVED}


class KillError(BaseException):
    """What ends a process."""


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a build that is killed just before it replaces that table."""

    def build_until(storage: Storage, until: str, **options: Any) -> None:
        replace, seen = Storage.replace, list[str]()

        def replace_or_end(self: Storage, table: Table, *others: Any) -> None:
            seen.append(table.name)
            if table.name == until:
                raise KillError
            replace(self, table, *others)

        def end(*_: Any, **__: Any) -> None:
            raise KillError

        with monkeypatch.context() as patch:
            patch.setattr(Storage, "replace", replace_or_end)
            patch.setattr("kafka_groups.pipeline.build.fact_state.FactState.save", end)
            with pytest.raises(KillError):
                build_here(storage, **options)
        assert (until in seen) == (until != THE_END)

    return build_until


@pytest.mark.parametrize("until", ["group_daily", THE_END])
def test_old_settings_restore_all_rows_after_a_killed_build_with_others(
    tmp_path: Path, killed: Callable[..., None], until: str
) -> None:
    days = range(6)  # more than have a state
    facts = {
        "offset_commits": [commit(day * DAY, 10 * day, source=day) for day in days],
        "partition_offsets": [ends(day * DAY + 60, 12 * day) for day in days],
    }
    storage = built(tmp_path, facts, lookback_days=1)
    before = rows_in(storage)

    killed(storage, until, limits=Limits(allowed_lag=100), lookback_days=1)
    assert rows_in(storage) != before
    build_here(storage, lookback_days=1)

    assert rows_in(storage) == before


@pytest.mark.parametrize("table", ["lag_history", "rebalances", "group_status", "group_daily"])
def test_the_day_before_is_built_by_the_next_build_if_one_is_killed(
    tmp_path: Path, killed: Callable[..., None], table: str
) -> None:
    """The rebalance begins before midnight; a record after it shows that it took longer than the day."""
    assignment = {"epoch": 1, "member_id": "m", "member_state": "STABLE"}
    early = {
        "offset_commits": [commit(BEFORE_MIDNIGHT, 5, source=1)],
        "group_events": [
            event(BEFORE_MIDNIGHT - 2, "member_metadata", "ConsumerGroupMemberMetadata", source=79, member_id="m"),
            event(BEFORE_MIDNIGHT - 1, "group_epoch", "ConsumerGroupMetadata", source=80, epoch=1),
        ],
    }
    late = [
        event(
            BEFORE_MIDNIGHT + 90, "member_assignment", "ConsumerGroupCurrentMemberAssignment", source=81, **assignment
        )
    ]
    storage = built(tmp_path / "killed", early)
    put_all(storage, "late", {"group_events": late})
    whole = built(tmp_path / "whole", early | {"group_events": [*early["group_events"], *late]})

    killed(storage, table)
    build_here(storage)

    assert [row["rebalance_ms"] for row in read(whole, "group_daily")] == [91_000, 0]
    assert rows_in(storage) == rows_in(whole)

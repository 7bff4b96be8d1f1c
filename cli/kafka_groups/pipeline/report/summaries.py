"""The summary of each group in a report: its state, lag and verdict at the end of the period."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kafka_groups.pipeline.build.qualities import BY_CERTAINTY
from kafka_groups.pipeline.report.history import GroupHistory
from kafka_groups.pipeline.report.known_groups import KnownGroup
from kafka_groups.verdicts import VERDICT_OF, VERDICTS

# The rank of each verdict: a worse one has a higher rank.
_RANKS: Final = {verdict: rank for rank, verdict in enumerate(VERDICTS, start=1)}


class _State(NamedTuple):
    """The state of a group and its number of members; None if unknown."""

    state: str | None
    member_count: int | None


def summarize(group: KnownGroup) -> GroupHistory:
    """Summarize a group at the end of the period, without points, the start of its lag, and known rebalances."""
    status = group.judged_status
    lag = None if status is None else status.lag
    lag_quality = _find_lag_quality(group, lag)
    # Rates of only some partitions would look like the group's rates.
    rates = status if lag_quality == "exact" else None
    time_lag_ms, time_lag_quality = _find_time_lag(group)
    last_state = _find_last_state(group)
    rule = None if status is None else status.rule
    return GroupHistory(
        cluster_id=group.key.cluster_id,
        group=group.key.group,
        state=last_state.state,
        member_count=last_state.member_count,
        verdict=None if rule is None else VERDICT_OF.get(rule),
        rule=rule,
        verdict_since_ms=None if status is None else status.verdict_since_ms,
        evaluated_ms=None if status is None else status.evaluated_ms,
        deleted_ms=None if group.deletion is None else group.deletion.at_ms,
        deleted_is_bound=group.deletion is not None and group.deletion.is_bound,
        is_unused=group.day is not None and bool(group.day.is_idle) and last_state.state == "Empty",
        lag=lag,
        lag_quality=lag_quality,
        time_lag_ms=time_lag_ms,
        time_lag_quality=time_lag_quality,
        consume_rate=None if rates is None else rates.consume_rate,
        produce_rate=None if rates is None else rates.produce_rate,
        catch_up_ms=None if rates is None else rates.catch_up_ms,
        lagging_since_ms=None,
        lagging_since_is_bound=False,
        points=(),
        rebalances=None if group.has_unknown_rebalances else (),
    )


def severity_order(group: GroupHistory) -> tuple[Any, ...]:
    """Return a sort key: the worst groups come first; groups without a verdict, unused and deleted ones come last."""
    return (
        group.deleted_ms is not None,
        group.is_unused,
        -_RANKS.get(group.verdict or "", 0),
        -(group.lag or 0),
        -(group.time_lag_ms or 0),
        group.cluster_id,
        group.group,
    )


def _find_lag_quality(group: KnownGroup, lag: int | None) -> str:
    """Return the quality of the lag, as in GroupHistory."""
    if lag is None:
        return "unknown"
    if group.is_outdated:
        return "outdated"
    return "lower_bound" if group.unknown_partitions else "exact"


def _find_time_lag(group: KnownGroup) -> tuple[int | None, str]:
    """Return the longest time lag of a partition in ms, and its quality; None and unknown if no time lag is known.

    It is a lower bound if the time lag of another partition is unknown.
    """
    status = group.judged_status
    if group.is_outdated or status is None:
        return None, "unknown"
    quality = status.time_lag_quality
    if group.unknown_partitions:
        quality = max(quality, "unknown", key=BY_CERTAINTY.index)
    if quality != "unknown":
        return status.time_lag_ms, quality
    return (status.time_lag_ms, "lower_bound") if status.time_lag_ms else (None, quality)


def _find_last_state(group: KnownGroup) -> _State:
    """Return the last known state of a group: from its events, if they are newer than its row in group_status."""
    if group.deletion is not None:
        return _State("Dead", 0)
    evaluated_ms = -1 if group.status is None else group.status.evaluated_ms
    if group.event is not None and group.event.state_ms is not None and group.event.state_ms > evaluated_ms:
        return _State(group.event.state, group.event.member_count)
    return _State(None, None) if group.status is None else _State(group.status.state, group.status.member_count)

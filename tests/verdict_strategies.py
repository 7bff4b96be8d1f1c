"""Strategies of hypothesis for the commits and the log end offsets that verdicts are made of."""

from __future__ import annotations

from hypothesis import strategies as st

from kafka_groups.verdicts import (
    Commit,
    LogEnd,
)

commits = st.lists(
    st.builds(Commit, st.integers(0, 50), st.integers(0, 20_000), st.none() | st.integers(0, 9)), max_size=30
).map(lambda drawn: sorted(drawn, key=lambda commit: commit.at_ms))
ends = st.lists(st.builds(LogEnd, st.integers(0, 90), st.integers(0, 20_000)), max_size=20).map(
    lambda drawn: sorted(drawn, key=lambda end: end.at_ms)
)

"""A broker whose features for share and streams groups are off lists their APIs, and returns errors to each request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.live.groups.clients import run_command
from tests.live.groups.raw_descriptions import (
    describe_share_group,
    describe_share_offsets,
    describe_streams_group,
)

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live

UNSUPPORTED_VERSION = 35


def test_descriptions_and_offsets_of_any_group_fail_without_a_message(without_kinds: Cluster) -> None:
    describe = (describe_share_group, describe_share_offsets, describe_streams_group)
    found = [function(without_kinds.bootstrap, "any") for function in describe]
    assert [(int(group.error_code), group.error_message) for group in found] == [(UNSUPPORTED_VERSION, None)] * 3


@pytest.mark.parametrize("command", ["describe", "offsets", "lag"])
def test_an_absent_group_may_be_of_a_kind_that_is_not_enabled(without_kinds: Cluster, command: str) -> None:
    outcome = run_command(without_kinds.bootstrap, command, "clicks")
    assert outcome.code == 1
    assert "share groups are not enabled on this cluster (feature share.version)" in outcome.err
    assert "streams groups are not enabled on this cluster (feature streams.version)" in outcome.err
    assert outcome.err.endswith("(GROUP_ID_NOT_FOUND)\n")

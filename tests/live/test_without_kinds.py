"""A broker whose features for share and streams groups are off lists their APIs, and returns errors to each request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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

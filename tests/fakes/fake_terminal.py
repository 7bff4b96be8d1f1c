"""A terminal that commands see where their stdout is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_groups.rendering.screen import Screen, inspect_streams

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


def pretend_terminal(mocker: MockerFixture, *, width: int = 200) -> None:
    """Let commands treat their stdout as a terminal without colours."""

    def look(_colour: str) -> Screen:
        return inspect_streams("never")._replace(out_is_terminal=True, width=width)

    mocker.patch("kafka_groups.options.cluster_session.inspect_streams", side_effect=look)
    mocker.patch("kafka_groups.options.several_clusters.inspect_streams", side_effect=look)

"""The messages that we speak, all versions of each: as parameters of tests, by name, and written by our tables."""

from __future__ import annotations

import pytest

from kafka_groups.protocol import Struct, compile_writer
from kafka_groups.protocol.messages import ALL, Api
from tests.protocol.golden_messages import Golden

SPOKEN = [(api, version) for api in ALL for version in range(api.lowest, api.highest + 1)]


def id_of(part: Api | Golden | int) -> str:
    """How a parameter is called in a test's name."""
    match part:
        case Golden():
            return f"{part.api}-{part.kind}-v{part.version}-{part.variant}"
        case Api():
            return part.name
    return f"v{part}"


EVERY_VERSION = pytest.mark.parametrize(("api", "version"), SPOKEN, ids=id_of)


def written_by_us(api: Api, kind: str, version: int, values: Struct) -> bytes:
    """The body of a request or of a response."""
    out = bytearray()
    compile_writer(getattr(api, kind), version=version, flexible=api.is_flexible(version))(out, values)
    return bytes(out)

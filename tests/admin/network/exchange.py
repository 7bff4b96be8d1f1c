"""All versions of the supported messages: as parameters of tests, by name, and written by the schemas."""

from __future__ import annotations

import pytest

from kafka_groups.protocol import Struct, compile_writer
from kafka_groups.protocol.messages import ALL, Api
from tests.protocol.golden_messages import Golden

SUPPORTED = [(api, version) for api in ALL for version in range(api.lowest, api.highest + 1)]


def id_of(part: Api | Golden | int) -> str:
    """Return a parameter's text for a test's name."""
    match part:
        case Golden():
            return f"{part.api}-{part.kind}-v{part.version}-{part.variant}"
        case Api():
            return part.name
    return f"v{part}"


EVERY_VERSION = pytest.mark.parametrize(("api", "version"), SUPPORTED, ids=id_of)


def encoded_body(api: Api, kind: str, version: int, values: Struct) -> bytes:
    """Return the encoded body of a request or of a response."""
    out = bytearray()
    compile_writer(getattr(api, kind), version=version, flexible=api.is_flexible(version))(out, values)
    return bytes(out)

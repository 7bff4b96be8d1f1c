"""The parts that all APIs share: key, versions, schemas of request and response, and the headers around both."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kafka_groups.protocol import (
    STRING,
    Cursor,
    Field,
    Read,
    Struct,
    Write,
    compile_reader,
    compile_writer,
    skip_tags,
)

_SIZE: Final = struct.Struct(">i")
_HEADER: Final = struct.Struct(">hhi")
_WRITE_CLIENT_ID: Final = STRING.write(False, True)


@dataclass(frozen=True, kw_only=True)
class Api:
    """One Kafka API in the versions that this tool supports (source: its two schema files).

    `flexible_since` is the first version with compact types and tags; `response_tags` is False for
    ApiVersions alone, whose response header never has tags (KIP-511). From `throttle_since` on the response
    begins with the time for which the client has to send nothing, in milliseconds.
    """

    key: int
    name: str
    lowest: int
    highest: int
    flexible_since: int
    request: tuple[Field, ...]
    response: tuple[Field, ...]
    throttle_since: int | None = None
    response_tags: bool = True
    _readers: dict[int, Read] = field(default_factory=dict, repr=False, compare=False)
    _writers: dict[int, Write] = field(default_factory=dict, repr=False, compare=False)

    def is_flexible(self, version: int) -> bool:
        """Return whether this version has compact types and tagged fields."""
        return version >= self.flexible_since

    def encode_request(self, version: int, *, correlation_id: int, client_id: str, body: Mapping[str, Any]) -> bytes:
        """Return the request with its size and header in front. SchemaError if a value does not fit its field."""
        out = bytearray(_SIZE.size)
        out += _HEADER.pack(self.key, version, correlation_id)
        # The client id keeps its two-byte length even in the flexible header (RequestHeader.json).
        _WRITE_CLIENT_ID(out, client_id)
        if self.is_flexible(version):
            out.append(0)
        self.request_writer(version)(out, body)
        _SIZE.pack_into(out, 0, len(out) - _SIZE.size)
        return bytes(out)

    def open_response(self, version: int, payload: bytes) -> Cursor:
        """Return a cursor behind the header of a response; `payload` begins with the correlation id."""
        cursor = Cursor(payload, _SIZE.size)
        if self.response_tags and self.is_flexible(version):
            skip_tags(cursor)
        return cursor

    def read_response(self, version: int, payload: bytes) -> Struct:
        """Return the whole response as a struct; SchemaError if the bytes do not match the schema."""
        return self.response_reader(version)(self.open_response(version, payload))  # type: ignore[no-any-return]

    def request_writer(self, version: int) -> Write:
        """Return the compiled writer of the request body."""
        if version not in self._writers:
            self._writers[version] = compile_writer(self.request, version=version, flexible=self.is_flexible(version))
        return self._writers[version]

    def response_reader(self, version: int) -> Read:
        """Return the compiled reader of the response body."""
        if version not in self._readers:
            self._readers[version] = compile_reader(self.response, version=version, flexible=self.is_flexible(version))
        return self._readers[version]

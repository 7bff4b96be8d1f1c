"""Requests of one connection as frames: the version that both sides support, and the next correlation ID."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kafka_groups.admin.network.handshake import Versions, agreed_version
from kafka_groups.admin.network.request import InFlight, Request, Response
from kafka_groups.errors import AdminError, InvalidRequestError, UnsupportedVersionError
from kafka_groups.protocol import SchemaError


class Frame(NamedTuple):
    """The bytes of one request, without their length, and the correlation ID of its response."""

    correlation_id: int
    in_flight: InFlight
    data: bytes


class RequestEncoder:
    """The encoder of one connection, which numbers its requests."""

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._correlation_id = 0

    def encode(self, in_flight: InFlight, body: Mapping[str, Any]) -> Frame:
        """Return the frame of one body. Raises SchemaError for a value that the schema does not allow."""
        self._correlation_id += 1
        data = in_flight.request.api.encode_request(
            in_flight.version, correlation_id=self._correlation_id, client_id=self._client_id, body=body
        )
        return Frame(self._correlation_id, in_flight, data)

    def encode_bodies(self, request: Request, versions: Versions) -> tuple[list[Frame], list[Response]]:
        """Return the frames of all bodies of a request, and a response for each one that cannot be sent at all."""
        try:
            version = agreed_version(versions, request.api)
            bodies = request.bodies(version)
        except UnsupportedVersionError as error:
            return [], [Response(request=request, part=None, version=-1, payload=b"", error=error)]
        frames: list[Frame] = []
        failed: list[Response] = []
        for part, body in bodies:
            if isinstance(body, AdminError):
                failed.append(Response(request=request, part=part, version=version, payload=b"", error=body))
                continue
            try:
                frames.append(self.encode(InFlight(request=request, part=part, version=version), body))
            except SchemaError as error:
                invalid = InvalidRequestError(f"cannot encode the request: {error}")
                failed.append(Response(request=request, part=part, version=version, payload=b"", error=invalid))
        return frames, failed

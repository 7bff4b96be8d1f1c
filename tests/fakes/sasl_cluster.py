"""A scripted cluster whose listeners require SASL, with sessions that expire (KIP-368)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kafka_groups.protocol import Struct
from tests.fakes.reactions import ReceivedRequest
from tests.fakes.scripted_cluster import ScriptedCluster

_SASL: Mapping[str, tuple[int, int]] = {"SaslHandshake": (0, 1), "SaslAuthenticate": (0, 2)}
REFUSED = {"error_code": 58, "error_message": "Authentication failed"}


class SaslCluster(ScriptedCluster):
    """A cluster that accepts each first message for which `accepts` is true; a refusal is OAUTHBEARER's.

    Sessions last `lifetime_ms`, 0 without a limit. `messages` has the bytes that clients sent for authentication.
    """

    def __init__(
        self,
        *,
        mechanism: str = "OAUTHBEARER",
        lifetime_ms: int = 0,
        accepts: Callable[[bytes], bool] = lambda _message: True,
        **options: Any,
    ) -> None:
        self.messages: list[bytes] = []
        self._mechanism = mechanism
        self._lifetime_ms = lifetime_ms
        self._accepts = accepts
        super().__init__(versions=_SASL, **options)

    def _respond_SaslHandshake(self, request: ReceivedRequest) -> Struct:  # noqa: N802 # The name has the API's.
        is_supported = request.body["mechanism"] == self._mechanism
        return {"error_code": 0 if is_supported else 33, "mechanisms": [self._mechanism]}

    def _respond_SaslAuthenticate(self, request: ReceivedRequest) -> Struct:  # noqa: N802 # The name has the API's.
        message = request.body["auth_bytes"]
        self.messages.append(message)
        if message == b"\x01":
            return {**REFUSED, "auth_bytes": b""}
        if not self._accepts(message):
            return {"auth_bytes": b'{"status":"invalid_token"}'}
        return {"auth_bytes": b"", "session_lifetime_ms": self._lifetime_ms}

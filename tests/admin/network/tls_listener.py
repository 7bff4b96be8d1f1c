"""A scripted broker behind a real TLS listener, and the error of a client that cannot use it."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.errors import AdminError
from kafka_groups.protocol import Struct
from kafka_groups.settings import ConnectionSettings, Endpoint
from tests.fakes.reactions import ReceivedRequest
from tests.fakes.scripted_broker import ScriptedBroker
from tests.fakes.simulated_clock import SimulatedClock


def tls_broker(certificate: Path, *, client_ca: Path | None = None, ciphers: str | None = None) -> ScriptedBroker:
    def respond(request: ReceivedRequest) -> Struct:
        rows = [{"node_id": 1, "host": broker.endpoint.host, "port": broker.endpoint.port}]
        return {"brokers": rows} if request.api == "Metadata" else {"groups": [{"group_id": "orders"}]}

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if ciphers is not None:
        # Before the certificate: the security level among them decides whether its key is long enough.
        context.set_ciphers(ciphers)
    context.load_cert_chain(certificate)
    if client_ca is not None:
        context.load_verify_locations(client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    broker = ScriptedBroker(respond, tls=context)
    return broker


def listing_error(endpoint: Endpoint, *, clock: SimulatedClock | None = None, **values: Any) -> tuple[str, str]:
    settings = ConnectionSettings(bootstrap=(endpoint,), timeout_s=30.0, **values)
    with clock.client(settings) if clock else GroupAdmin(settings) as admin, pytest.raises(AdminError) as caught:
        admin.list_groups()
    return caught.value.name, str(caught.value).removeprefix(f"cannot connect to {endpoint}: ")

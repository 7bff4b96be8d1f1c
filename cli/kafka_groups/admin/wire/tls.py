"""TLS as Python's ssl speaks it, from the connection settings."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from kafka_groups.errors import SettingsError

if TYPE_CHECKING:
    from kafka_groups.settings import Tls


def make_context(tls: Tls) -> ssl.SSLContext:
    """A context that always verifies the broker's certificate. SettingsError names the file that cannot be used."""
    try:
        context = ssl.create_default_context(cafile=tls.ca_file)
    except (OSError, ssl.SSLError) as error:
        msg = f"the CA file {tls.ca_file} cannot be used: {_reason(error)}"
        raise SettingsError(msg) from error
    context.check_hostname = tls.check_host_name
    if tls.certificate_file:
        try:
            context.load_cert_chain(tls.certificate_file, tls.key_file, tls.key_password or "")
        except (OSError, ssl.SSLError) as error:
            msg = f"the client certificate {tls.certificate_file} cannot be used: {_reason(error)}"
            raise SettingsError(msg) from error
    return context


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()

"""A scripted Security Token Service of AWS, and a machine whose only AWS configuration is that of a test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    import pytest

# The access key that AWS's own documentation has as an example.
KEY = "AKIAIOSFODNN7EXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
ROLE = "arn:aws:iam::123456789012:role/reader"
ROLE_KEY, ROLE_SECRET, ROLE_TOKEN = "ASIAIOSFODNN7EXAMPLE", "role-secret-hidden-thing", "role-token-hidden-thing"

_ASSUMED = """<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>
<AssumedRoleUser><Arn>{role}</Arn><AssumedRoleId>id:name</AssumedRoleId></AssumedRoleUser>
<Credentials><AccessKeyId>{key}</AccessKeyId><SecretAccessKey>{secret}</SecretAccessKey>
<SessionToken>{token}</SessionToken><Expiration>{expiration}</Expiration></Credentials>
</AssumeRoleResult></AssumeRoleResponse>"""
_REFUSED = """<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>
<Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>"""


class ScriptedSts:
    """The requests to the service, and what it returns: a role's keys until `expiration`, or a refusal."""

    def __init__(self) -> None:
        self.requests: list[dict[str, str]] = []
        self.expiration = "2026-11-27T07:30:00Z"
        self.refusal: tuple[str, str] | None = None

    def respond(self, request: dict[str, str]) -> tuple[int, str]:
        """Return status and body for the parameters of a request, and its Authorization header."""
        self.requests.append(request)
        if self.refusal is not None:
            return 403, _REFUSED.format(code=self.refusal[0], message=self.refusal[1])
        text = _ASSUMED.format(
            role=ROLE, key=ROLE_KEY, secret=ROLE_SECRET, token=ROLE_TOKEN, expiration=self.expiration
        )
        return 200, text


@contextmanager
def scripted_sts(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedSts]:
    """Start the service on this machine, and set the variable by which botocore finds it."""
    service = ScriptedSts()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            request = dict(parse_qsl(body)) | {"Authorization": self.headers["Authorization"]}
            status, text = service.respond(request)
            self.send_response(status)
            self.send_header("Content-Type", "text/xml")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 # The base class has this name.
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"http://127.0.0.1:{server.server_port}")
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()


def isolate_aws(monkeypatch: pytest.MonkeyPatch, folder: Path, *, config: str = "", keys: bool = True) -> None:
    """Give botocore an environment with a config file in the folder; with `keys`, the example key is its user."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    file = folder / "aws-config"
    file.write_text(config)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(file))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "aws-credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    if keys:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)

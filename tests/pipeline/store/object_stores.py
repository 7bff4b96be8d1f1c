"""An object store of this machine: moto's server, which checks conditional writes as S3 does."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# A process of its own: delta-rs lists files without letting go of Python, so a server beside it could not respond.
_SERVER: Final = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()  # until the tests end, however they do
"""


@contextmanager
def object_store() -> Iterator[dict[str, str]]:
    """Start a server, and yield the variables of the environment that name it, with keys that it takes."""
    # -P: no file of the working directory takes the place of a module.
    command = [sys.executable, "-P", "-c", _SERVER]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing, text=True) as server:
        assert server.stdout is not None
        try:
            yield {
                "AWS_ACCESS_KEY_ID": "test-key",
                "AWS_SECRET_ACCESS_KEY": "test-secret",
                "AWS_REGION": "us-east-1",
                "AWS_ENDPOINT_URL": f"http://127.0.0.1:{int(server.stdout.readline())}",
                "AWS_ALLOW_HTTP": "true",
            }
        finally:
            server.kill()


def new_bucket(endpoint: str) -> str:
    """Make a bucket, and return its name."""
    name = f"bucket-{uuid.uuid4().hex[:12]}"
    with urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{name}", method="PUT"), timeout=10):
        return name

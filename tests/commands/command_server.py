"""A process that has imported the command line, and forks for each run of it.

Most of the time of a short command is the start of Python and its imports. The encoding of the standard streams is
that of the process, so each environment has a process of its own.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from importlib import import_module
from typing import Final

from kafka_groups.__main__ import main

_MAX_REQUEST_BYTES: Final = 65_536


def serve(requests: socket.socket) -> None:
    """Run the command line for each request, and send its exit code; end when the other side closes the socket.

    A request is a JSON array of the arguments, in hexadecimal digits, and of variables of the environment. It comes
    with the files for stdin, stdout and stderr.
    """
    while True:
        message, files, _, _ = socket.recv_fds(requests, _MAX_REQUEST_BYTES, 3)
        if not message:
            return
        child = os.fork()
        if child == 0:
            requests.close()
            run(files, *json.loads(message))
        for file in files:
            os.close(file)
        _, status = os.waitpid(child, 0)
        requests.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def run(files: list[int], arguments: list[str], variables: dict[str, str]) -> None:
    """Run the command line in this process, which ends."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.update(variables)
    sys.argv[1:] = [os.fsdecode(bytes.fromhex(argument)) for argument in arguments]
    main()
    sys.exit()


if __name__ == "__main__":
    for command in ("list_groups", "describe", "offsets", "lag", "reset", "delete"):
        import_module(f"kafka_groups.commands.{command}")
    serve(socket.socket(fileno=int(sys.argv[1])))

"""A process that starts one program and prints its wall time, processor time and peak memory as a line of JSON.

    python -I -S stopwatch.py OUTPUT PROGRAM ARGUMENT…

A process inherits the peak memory of the process that starts it, so this one imports next to nothing.
"""

import json
import os
import sys
import time

_KIB = 1024


def main(output: str, command: list[str]) -> None:
    """Run the program with its stdout in a file, and print the measurement."""
    actions = [(os.POSIX_SPAWN_OPEN, 1, output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)]
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - start
    peak = usage.ru_maxrss if sys.platform == "darwin" else usage.ru_maxrss * _KIB
    result = {
        "seconds": seconds,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_bytes": peak,
        "exit_code": os.waitstatus_to_exitcode(status),
    }
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

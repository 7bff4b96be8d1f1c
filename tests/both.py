"""All tests, in two runs at the same time: those with Spark, which use a core and a half, and the others, which wait.

`python -m tests.both` is what `make test` runs; plain `pytest` runs all of them one after the other. What the run with
Spark says is shown when the other one has ended. Each run has brokers of its own.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO

_STEP_S = 0.5
# What pytest returns if there was nothing to run.
_NO_TESTS = 5


def main(arguments: Sequence[str]) -> int:
    """The exit code of the first run that failed, of either; 130 or 143 if it was ended by a signal."""
    pytest = [sys.executable, "-m", "pytest", *arguments]
    with tempfile.NamedTemporaryFile() as written, Path(written.name).open() as told:
        with_spark = [*pytest, "-m", "spark", "-o", "cache_dir=.pytest_cache/spark"]
        spark = subprocess.Popen(with_spark, stdout=written, stderr=subprocess.STDOUT)
        others = subprocess.Popen([*pytest, "-m", "not spark"])
        with _ending(spark, others) as ended:
            others.wait()
            _show(told, spark)
    if ended:
        return 128 + ended[0]
    codes = {run.returncode for run in (others, spark)} - {0}
    return 0 if codes == {_NO_TESTS} else next(iter(codes - {_NO_TESTS}), 0)


def _show(told: IO[str], run: subprocess.Popen[bytes]) -> None:
    """What the run has said, and says until it ends."""
    while True:
        is_over = run.poll() is not None
        shutil.copyfileobj(told, sys.stdout)
        sys.stdout.flush()
        if is_over:
            return
        time.sleep(_STEP_S)


@contextmanager
def _ending(*runs: subprocess.Popen[bytes]) -> Iterator[list[int]]:
    """Signals are for both runs, which take their brokers down; the numbers of those that came."""
    came: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        for run in runs:
            # A terminal has sent Ctrl-C to all of its processes.
            if run.poll() is None and number != signal.SIGINT:
                run.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for run in runs:
            run.wait()
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

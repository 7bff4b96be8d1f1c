"""The last commit before the pipeline was redesigned, and its files in a directory of their own.

The proof compares rows and reports with those of this commit, and the bench compares times and memory.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

OLD_COMMIT: Final = "cd93aa5"
ROOT: Final = Path(__file__).parents[2]


@contextmanager
def worktree_of(commit: str) -> Iterator[Path]:
    """Yield a new directory with the files of a commit; git removes it at the end.

    Raises CalledProcessError if the clone does not have the commit; git prints the reason to stderr.
    """
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory, commit)
        subprocess.run(["git", "worktree", "add", "--detach", "--quiet", str(tree), commit], cwd=ROOT, check=True)
        try:
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)


def environment_of(tree: Path) -> dict[str, str]:
    """Return this process's environment, in which Python imports `kafka_groups` and `tests` from the given tree."""
    return {**os.environ, "PYTHONPATH": f"{tree / 'cli'}{os.pathsep}{tree}"}

"""Files are written by `kafka_groups.files`, so that all of them keep their owner, their links and special files."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import kafka_groups

PACKAGE = Path(kafka_groups.__file__).parent
WRITING_METHODS = {"write_text", "write_bytes", "touch", "rename"}
COPIES = {"copy", "copyfile", "copy2", "move"}
TEMPORARY = {"NamedTemporaryFile", "TemporaryFile", "mkstemp"}
WRITING_FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND", "O_TRUNC"}
WRITING_MODES = frozenset("wax+")
# Places that write nothing a user named, or that have rules of their own.
ALLOWED = {
    "options/completion/shells.py": "the null device in place of stderr",
    "rendering/screen.py": "the null device in place of a closed or broken stream",
    "rendering/progress.py": "a duplicate of stderr",
    "pipeline/commands/spark_session.py": "the temporary log of Spark, which Spark writes",
    "pipeline/store/storage.py": "a nameless file that shows whether the directory can be written",
}


def is_write(call: ast.Call) -> bool:
    """Return whether a call creates, opens for writing, or renames a file."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    receiver = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    if name in TEMPORARY or (receiver == "shutil" and name in COPIES):
        return True
    if receiver == "os" and name == "open":
        return any(isinstance(node, ast.Attribute) and node.attr in WRITING_FLAGS for node in ast.walk(call))
    if name in {"open", "fdopen"}:
        modes = [*call.args[: 2 if not receiver else 3], *(word.value for word in call.keywords if word.arg == "mode")]
        texts = [mode.value for mode in modes if isinstance(mode, ast.Constant) and isinstance(mode.value, str)]
        return any(len(text) <= 3 and WRITING_MODES & set(text) for text in texts)
    return name in WRITING_METHODS


@cache
def writers() -> Sequence[tuple[str, str]]:
    """Return the file and the source of each such call outside of `files`."""
    found: list[tuple[str, str]] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith("files/"):
            calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
            found += ((name, ast.unparse(call)) for call in calls if is_write(call))
    return found


def test_only_the_package_of_files_writes_files() -> None:
    assert [f"{name}: {call}" for name, call in writers() if name not in ALLOWED] == []


def test_every_exception_is_still_needed() -> None:
    assert {name for name, _ in writers()} == set(ALLOWED)

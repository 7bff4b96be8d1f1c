"""The files that are generated and committed: completion scripts, man pages, and the table of causes in docs/why.md.

`python -m tools.generated_files` writes them, and a test compares them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kafka_groups.cli import cli
from kafka_groups.options.completion.shells import PROGRAM, script_of
from tools.cause_table import PAGE, with_table
from tools.man_pages import man_pages

ROOT: Final = Path(__file__).parents[1]
# The names under which the shells look for a script.
SCRIPTS: Final = {
    "bash": f"completions/{PROGRAM}.bash",
    "zsh": f"completions/_{PROGRAM}",
    "fish": f"completions/{PROGRAM}.fish",
}


def generated_files() -> dict[str, str]:
    """Return the content of each file, by its path in the repository."""
    scripts = {path: script_of(shell, cli) for shell, path in SCRIPTS.items()}
    pages = {f"man/{name}.1": page for name, page in man_pages(cli, PROGRAM).items()}
    return scripts | pages | {PAGE: with_table((ROOT / PAGE).read_text(encoding="utf-8"))}


def committed_files() -> set[str]:
    """Return the paths of all files in the directories of generated files, and of the page with a table."""
    folders = {str(path.relative_to(ROOT)) for folder in ("completions", "man") for path in (ROOT / folder).iterdir()}
    return folders | {PAGE}


def main() -> None:
    """Write all files, and remove those that are generated no longer."""
    files = generated_files()
    for folder in {Path(path).parent for path in files}:
        (ROOT / folder).mkdir(exist_ok=True)
    for path in committed_files() - files.keys():
        (ROOT / path).unlink()
    for path, content in files.items():
        (ROOT / path).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()

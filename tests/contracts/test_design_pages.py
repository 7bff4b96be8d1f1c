"""The design pages: every file of the package is in a map, named files exist, and links lead somewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import kafka_groups

PACKAGE: Final = Path(kafka_groups.__file__).parent
ROOT: Final = PACKAGE.parents[1]
INDEX: Final = ROOT / "docs/design/README.md"
PAGES: Final = sorted((ROOT / "docs/design").rglob("*.md"))
LINKING: Final = sorted({ROOT / "README.md", *(ROOT / "docs").rglob("*.md")})
MOST_LINES: Final = 150
SOURCES: Final = ("cli", "tests", "tools")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]*)\)")
_BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def map_paths(text: str) -> Iterator[str]:
    """Yield the files and folders of the maps of a page: those in the first cells of tables of files."""
    in_map = False
    for line in text.splitlines():
        first_cell = line.split("|")[1].strip() if line.startswith("|") else ""
        if first_cell == "file":
            in_map = True
        elif not line.startswith("|"):
            in_map = False
        elif in_map:
            yield from re.findall(r"`([\w/]+(?:\.py|/))`", first_cell)


def mapped() -> dict[str, list[str]]:
    """Return the files and folders of each map, by the name of its page."""
    return {page.name: list(map_paths(page.read_text())) for page in PAGES}


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", _BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path, text: str) -> list[str]:
    """Return the relative links of a page that lead to no file, or to no heading of it."""
    broken = []
    for link in _LINK.findall(_BLOCK.sub("", text)):
        path, _, anchor = link.partition("#")
        target = page.parent / path
        if re.match(r"[a-z]+:", link):
            continue
        content = text if not path else target.read_text() if target.is_file() else ""
        if (path and not target.exists()) or (anchor and anchor not in anchors(content)):
            broken.append(link)
    return broken


def test_every_file_is_in_a_map() -> None:
    paths = [str(file.relative_to(PACKAGE)) for file in sorted(PACKAGE.rglob("*.py")) if file.read_text().strip()]
    known = {path for page in mapped().values() for path in page}
    folders = tuple(path for path in known if path.endswith("/"))
    assert [path for path in paths if path not in known and not path.startswith(folders)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_of_a_map_exists(page: Path) -> None:
    assert [path for path in map_paths(page.read_text()) if not (PACKAGE / path).exists()] == []


def named_files(text: str) -> list[str]:
    """Return the names of modules in a text, such as `api.py` and `facts/sample.py`."""
    return re.findall(r"(?<![\w/.])[a-z]\w*(?:/\w+)*\.py\b", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    files = [f"/{file.relative_to(ROOT)}" for folder in SOURCES for file in (ROOT / folder).rglob("*.py")]
    names = named_files(page.read_text())
    assert [name for name in names if not any(file.endswith(f"/{name}") for file in files)] == []


def test_every_file_that_the_docstring_of_a_package_names_is_in_that_package() -> None:
    packages = sorted(PACKAGE.rglob("__init__.py"))
    docstrings = {package: ast.get_docstring(ast.parse(package.read_text())) or "" for package in packages}
    named = [package.parent / name for package, text in docstrings.items() for name in named_files(text)]
    assert named
    assert [str(file.relative_to(PACKAGE)) for file in named if not file.exists()] == []


def test_a_map_is_a_table_of_files() -> None:
    files = "| file | content |\n|---|---|\n| `a.py`, `b/` | of `c.py` |\n"
    questions = "| question | page |\n|---|---|\n| `d.py` | e |\n"
    assert list(map_paths(f"{files}\n{questions}")) == ["a.py", "b/"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_at_most_150_lines(page: Path) -> None:
    assert len(page.read_text().splitlines()) <= MOST_LINES


def test_the_index_has_every_page() -> None:
    links = {link.partition("#")[0] for link in _LINK.findall(INDEX.read_text())}
    assert [page.name for page in PAGES if page != INDEX and page.name not in links] == []


@pytest.mark.parametrize("page", LINKING, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_works(page: Path) -> None:
    assert broken_links(page, page.read_text()) == []


def test_a_link_to_no_file_or_no_heading_is_found() -> None:
    links = "[a](#some-code-a-name) [b](#none) [c](no.md) [d](https://a.b/c.md) [e](README.md#pages)"
    assert broken_links(INDEX.with_name("page.md"), f"# Some `code`: a name\n{links}\n") == ["#none", "no.md"]

"""The wording of documents, docstrings, messages, comments and function names, checked by regular expressions.

Where an expression matches, write a plain sentence: subject, verb, object, with the terms of Kafka, Spark and Python.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = (
    "README.md",
    "CHANGELOG.md",
    "Makefile",
    "pyproject.toml",
)
EXPRESSIONS = (
    r"\b(is|are|was|were|be|been|not) told\b",
    r"\btells? (of|how|what|who|which|since|nothing)\b",
    r"\banew\b",
    r"\bbut for\b",
    r"\bwho asks\b",
    r"\bwhoever\b",
    r"\bfor ever\b",
    r"\bof ours\b",
    r"\bthe (room|door|house|fleet|greeting)\b",
    r"\bmade (anew|new)\b",
)
# Sentences with these words compress a thought until only its author can read it: name the noun instead.
COMPRESSED = (
    r"\b(is|are|was|were) of\b",
    r"\bso (many|long|much|far)\b(?! (as|that|for))",
    r"\bof (then|those that|which)\b",
    r"\b(slow|fast|busy) today\b",
    r"\b(says|said) (so|it) again\b",
)
# In the source of a text, underscores, quotes and comment signs may stand between its words.
_GAP = r"(?:[\W_]|\\n|\b[fr]['\"])+"
_LOOKAHEAD = re.compile(r"\(\?![^()]*\([^()]*\)\)")


class Search(NamedTuple):
    """The expressions of a file: as they match its texts, and as they match its source in lower case."""

    text: re.Pattern[str]
    source: re.Pattern[str]


def search_for(*expressions: str) -> Search:
    """Compile expressions so that a space matches a line break, too, because texts are wrapped at the margin."""
    joined = "|".join(expressions)
    source = _LOOKAHEAD.sub("", joined).replace(r"\b", "").replace(" ", _GAP)
    # In lower case the search takes a third of the time that it takes with IGNORECASE.
    return Search(re.compile(joined.replace(" ", r"\s+"), re.IGNORECASE), re.compile(source))


_EVERYWHERE = search_for(*EXPRESSIONS)
_OUTSIDE_TESTS = search_for(*EXPRESSIONS, *COMPRESSED)


class Exemption(NamedTuple):
    """A text that is allowed although an expression matches it."""

    file: str
    text: str
    reason: str


ALLOWED = (Exemption("tests/contracts/test_wording.py", "anew", "the expressions themselves"),)


class Hit(NamedTuple):
    """A text that an expression matches, and where it is."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


def texts_of_python(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each literal, comment and function name of a module."""
    for node in ast.walk(_joined_literals(ast.parse(source))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name.replace("_", " ")
    yield from _comments(source)


class _FStrings(ast.NodeTransformer):
    """A transformer that adds to each f-string one literal with its whole text, values replaced by {}."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
        text = ast.copy_location(ast.Constant("".join(map(str, parts))), node)
        values = [self.visit(part) for part in node.values if isinstance(part, ast.FormattedValue)]
        return ast.copy_location(ast.JoinedStr([text, *values]), node)


def _joined_literals(module: ast.Module) -> ast.AST:
    joined: ast.AST = _FStrings().visit(module)
    return joined


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield each block of comments as one text, because a sentence may go on in the next line."""
    start, block = 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line = token.start[0]
        if line != start + len(block):
            yield start, "\n".join(block)
            start, block = line, []
        block.append(token.string.lstrip("#"))
    yield start, "\n".join(block)


def search_of(file: str) -> Search:
    in_scope = file.startswith(("cli/", "docs/")) or file in DOCUMENTS
    return _OUTSIDE_TESTS if in_scope else _EVERYWHERE


def hits_in(file: str, source: str) -> list[Hit]:
    """Return what the expressions match in a file, in the order of its lines."""
    search = search_of(file)
    # Only files that match are parsed, because parsing all of them takes ten seconds.
    if not search.source.search(source.lower()):
        return []
    texts = texts_of_python(source) if file.endswith(".py") else [(1, source)]
    found = {
        Hit(file, line + text.count("\n", 0, match.start()), " ".join(match[0].split()))
        for line, text in texts
        for match in search.text.finditer(text)
    }
    return sorted(found)


@cache
def hits_of(file: str) -> list[Hit]:
    return hits_in(file, (ROOT / file).read_text(encoding="utf-8"))


def files_in(folder: str, pattern: str = "*.py") -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob(pattern))


def is_allowed(hit: Hit) -> bool:
    return any((hit.file, hit.text.lower()) == (entry.file, entry.text.lower()) for entry in ALLOWED)


def test_no_text_matches_a_forbidden_expression() -> None:
    files = (*DOCUMENTS, *files_in("docs", "*.md"), *files_in("cli"), *files_in("tests"), *files_in("tools"))
    assert [str(hit) for file in files for hit in hits_of(file) if not is_allowed(hit)] == []


def test_every_exemption_is_still_needed() -> None:
    assert [entry for entry in ALLOWED if not any(map(is_allowed, hits_of(entry.file)))] == []


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ('"""A module.\n\nNobody {}\n{}."""', 3),
        ("# It {}\n# {}.", 1),
        ("x = 1  # it {} {}", 1),
        ("x = 1\ny = ('it {} '\n'{}')", 2),
        ("x = 1\ny = f'{{x}} {} {} {{x}}'", 2),
        ("x = 1\ny = (f'{{x}} {} '\nf'{}')", 2),
        ("x = 1\ny = '{}\\n{}'", 2),
        ("x = 1\ny = f'{{x}} {{\"{} {}\"}}'", 2),
        ("def test_it_{}_{}(): ...", 1),
        ("async def it_{}_{}(): ...", 1),
    ],
)
def test_an_expression_is_found_in_every_kind_of_text(source: str, line: int) -> None:
    # In two parts, because this file is checked, too.
    words = ("is", "told")
    assert hits_in("a.py", source.format(*words)) == [Hit("a.py", line, " ".join(words))]


def test_an_expression_is_found_in_a_document_with_capitals_and_line_breaks() -> None:
    assert hits_in("a.md", "# A\n\nBut\n  {}, but forgotten\n".format("For")) == [Hit("a.md", 3, f"But {'For'}")]


@pytest.mark.parametrize(
    "text",
    [
        "its time is of each table",
        "the rows are\n  of other groups",
        "rates over so long",
        "the number so far",
        "the date of then",
        "a host of which no address answers",
        "the lag of those that stopped",
        "a machine that is slow today",
        "nothing says it again",
    ],
)
@pytest.mark.parametrize(
    "file",
    ["README.md", "docs/pipeline.md", "cli/kafka_groups/errors.py", "cli/kafka_groups/pipeline/build/a.py"],
)
def test_a_compressed_sentence_is_found_outside_of_tests(file: str, text: str) -> None:
    assert len(hits_in(file, f'"""{text}"""')) == 1


@pytest.mark.parametrize("text", ["so many as ten", "so long that it fails", "so far\nas known", "of those groups"])
def test_a_comparison_with_a_base_is_allowed(text: str) -> None:
    assert hits_in("README.md", text) == []


def test_a_compressed_sentence_is_not_found_in_tests() -> None:
    assert hits_in("tests/test_a.py", "'the rows are of other groups'") == []


def test_names_of_variables_and_parts_of_words_are_not_found() -> None:
    assert hits_in("a.py", "is_told = renewal = 'a newer doorway'\n") == []

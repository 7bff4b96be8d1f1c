"""Names of kinds: nothing outside the record of a kind, its handlers and its views depends on one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import kafka_groups
from kafka_groups import kinds
from kafka_groups.admin.handlers.kind_handlers import DESCRIBE_HANDLERS
from kafka_groups.kinds import KINDS, Operation

PACKAGE = Path(kafka_groups.__file__).parent
HOMES = ("kinds.py", "admin/handlers/", "rendering/views/")
FILES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if not str(path.relative_to(PACKAGE)).startswith((*HOMES, "protocol/messages/"))
]
# Types and protocol types, as constants and as records.
TEXTS = {text for kind in KINDS for text in (kind.group_type, *(kind.protocol_types or ()))} - {""}
RECORDS = {name for name, value in vars(kinds).items() if isinstance(value, kinds.Kind)}


def imported_records(tree: ast.Module) -> set[str]:
    """Return the records of kinds that a module imports."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == kinds.__name__)
    return RECORDS & {alias.asname or alias.name for node in imports for alias in node.names}


def names_in(node: ast.expr, records: set[str]) -> Iterator[str]:
    """Yield the names of kinds in one side of a comparison."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and part.value in TEXTS:
            yield str(part.value)
        if isinstance(part, ast.Name) and part.id in records:
            yield part.id


def comparisons(code: str) -> list[str]:
    """Return the comparisons of a module that name a kind, and the calls of `startswith` that do."""
    found = []
    tree = ast.parse(code)
    records = imported_records(tree)
    for node in ast.walk(tree):
        sides: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "startswith":
            sides = node.args
        elif isinstance(node, ast.match_case):
            sides = [value for value in ast.walk(node.pattern) if isinstance(value, ast.expr)]
        if any(name for side in sides for name in names_in(side, records)):
            found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize(
    "code",
    [
        "group.type == 'Share'",
        "group.type in ('Classic', 'Consumer')",
        "from kafka_groups.kinds import CONNECT\nkind_of(group) is CONNECT",
        "protocol_type != 'connect'",
        "name.startswith('Streams')",
        "match kind:\n    case 'Share': pass",
    ],
)
def test_a_comparison_with_a_name_is_found(code: str) -> None:
    assert len(comparisons(code)) == 1


def test_no_comparison_with_a_name_stands_outside_the_record_the_handlers_and_the_views() -> None:
    found = {str(path.relative_to(PACKAGE)): comparisons(path.read_text()) for path in FILES}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_every_kind_that_can_be_described_has_a_handler() -> None:
    assert set(DESCRIBE_HANDLERS) == {kind for kind in KINDS if kind.supports(Operation.DESCRIBE)}


def test_one_handler_describes_the_kinds_of_one_type() -> None:
    handlers = {(kind.group_type, handler) for kind, handler in DESCRIBE_HANDLERS.items()}
    assert len(handlers) == len({group_type for group_type, _ in handlers})

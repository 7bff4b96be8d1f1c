"""Names of kinds: nothing outside the record of a kind, its handlers and its views depends on one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import kafka_groups
from kafka_groups import kinds
from kafka_groups.admin.handlers.kind_handlers import DESCRIBE_HANDLERS
from kafka_groups.kinds import KINDS, Operation
from kafka_groups.rendering.views.kind_views import KIND_VIEWS

PACKAGE = Path(kafka_groups.__file__).parent
HOMES = ("kinds.py", "admin/handlers/", "rendering/views/")
FILES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if not str(path.relative_to(PACKAGE)).startswith((*HOMES, "protocol/messages/"))
]
# Types, protocol types and names. Those with a capital letter mean nothing but a kind, wherever they stand.
TEXTS = {text for kind in KINDS for text in (kind.name, kind.group_type, *(kind.protocol_types or ()))} - {""}
RECORDS = {name for name, value in vars(kinds).items() if isinstance(value, kinds.Kind)}


def imported_records(tree: ast.Module) -> set[str]:
    """Return the records of kinds that a module imports."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == kinds.__name__)
    return RECORDS & {alias.asname or alias.name for node in imports for alias in node.names}


def named_in(node: ast.AST, records: set[str]) -> bool:
    """Return whether an expression has the name of a kind, or its record."""
    return any(
        (isinstance(part, ast.Constant) and part.value in TEXTS)
        or (isinstance(part, ast.Name) and part.id in records)
        or (isinstance(part, ast.Attribute) and part.attr in RECORDS and ast.unparse(part.value) == "kinds")
        for part in ast.walk(node)
    )


def sides_of(node: ast.AST) -> list[ast.expr]:
    """Return what a comparison compares: operands, keys of a mapping, arguments of `startswith`, patterns."""
    match node:
        case ast.Compare(left=left, comparators=comparators):
            return [left, *comparators]
        case ast.Dict(keys=values) | ast.Set(elts=values):
            return [value for value in values if value is not None]
        case ast.Call(func=ast.Attribute(attr="startswith" | "endswith" | "get"), args=arguments):
            return arguments
        case ast.Subscript(value=ast.Dict() | ast.Name(), slice=key):
            return [key]
        case ast.match_case(pattern=pattern):
            return [part for part in ast.walk(pattern) if isinstance(part, ast.expr)]
    return []


def comparisons(code: str) -> list[str]:
    """Return what compares with the name of a kind in a module, and each text that is only the name of a kind."""
    tree = ast.parse(code)
    records = imported_records(tree)
    found = [ast.unparse(node) for node in ast.walk(tree) if any(named_in(side, records) for side in sides_of(node))]
    texts = [
        repr(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in TEXTS and not str(node.value).islower()
    ]
    return list(dict.fromkeys([*found, *texts]))


@pytest.mark.parametrize(
    "code",
    [
        "group.type == 'Share'",
        "group.type in ('Classic', 'Consumer')",
        "from kafka_groups.kinds import CONNECT\nkind_of(group) is CONNECT",
        "protocol_type != 'connect'",
        "name.startswith('Streams')",
        "match kind:\n    case 'Share': pass",
        "kind.name == 'simple'",
        "kinds.kind_of(group) is kinds.SHARE",
        "SHARES = ('Share',)",
        "{'connect': 1}[protocol]",
        "name.endswith('Group') or name.endswith('Streams')",
    ],
)
def test_a_comparison_with_a_name_is_found(code: str) -> None:
    assert comparisons(code)


def test_no_comparison_with_a_name_stands_outside_the_record_the_handlers_and_the_views() -> None:
    found = {str(path.relative_to(PACKAGE)): comparisons(path.read_text()) for path in FILES}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_every_kind_that_can_be_described_has_a_handler() -> None:
    assert set(DESCRIBE_HANDLERS) == {kind for kind in KINDS if kind.supports(Operation.DESCRIBE)}


def test_every_kind_that_can_be_described_has_views() -> None:
    assert set(KIND_VIEWS) == {kind for kind in KINDS if kind.supports(Operation.DESCRIBE)}


def test_one_handler_describes_the_kinds_of_one_type() -> None:
    handlers = {(kind.group_type, handler) for kind, handler in DESCRIBE_HANDLERS.items()}
    assert len(handlers) == len({group_type for group_type, _ in handlers})

"""The structure of the package: file sizes, imports, the tree of errors, the names of failures."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from pkgutil import iter_modules

import pytest
from grimp import build_graph

import kafka_groups
from kafka_groups import errors
from kafka_groups.exit_codes import ResultStatus
from kafka_groups.protocol.errors import error_name
from kafka_groups.rendering.schemas import CLIENT_ERROR_NAMES, INTERRUPTED

PACKAGE = Path(kafka_groups.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
MOST_LINES = 300
TESTS = Path(__file__).parents[1]
TESTS_WITH_SHORT_NAMES = ("pipeline", "live/pipeline", "bench/pipeline")
MOST_CHARACTERS = 72
CONTRACT_NAMES = {
    "TIMEOUT",
    "NAME_NOT_RESOLVED",
    "CONNECTION_FAILED",
    "TLS_FAILED",
    "AUTHENTICATION_FAILED",
    "TOKEN_FAILED",
    "CONFIG_PROVIDER_FAILED",
    "UNSUPPORTED_VERSION",
    "MISSING_FROM_RESPONSE",
    "OUTCOME_UNKNOWN",
    "MALFORMED_RESPONSE",
    "REFUSED",
    "TOPIC_RECREATED",
    "INTERRUPTED",
}

# Small files with one importer that are no natural unit, and why they stand alone.
ONE_SUBJECT = {
    "causes/other_partitions.py": "judges partitions beside one; its importer is a cause, which is one short file",
    "exporter/failure_log.py": "compares two polls; its importer connects and polls",
    "admin/network/request_encoder.py": "turns requests into bytes; its importer sends and receives them",
    "admin/network/session.py": "counts time alone, and its importer sends requests",
    "admin/network/setup_timer.py": "counts time alone, and its importer sends requests",
    "files/private.py": "files for libraries, while other files of the package are for users",
    "groups/lag/start_offsets.py": "judges a kind of group; its importer measures groups of all kinds",
    "pipeline/facts/decode/data_gaps.py": "rows of gaps belong to decoding, and their importer to reading",
    "pipeline/facts/source/addresses.py": "needs only sockets, while its importer needs librdkafka",
    "pipeline/tables/table.py": "the package imports it for all users of tables",
    "pipeline/report/html/verdict_list.py": "texts for readers; its importer assembles sections of a page",
}


@cache
def nodes_of(file: Path) -> Sequence[ast.AST]:
    """Return the nodes of the syntax tree of a file."""
    return [*ast.walk(ast.parse(file.read_text()))]


@pytest.mark.parametrize("directory", [PACKAGE, TESTS], ids=["package", "tests"])
def test_no_file_has_more_than_300_lines(directory: Path) -> None:
    lengths = {str(file): len(file.read_text().splitlines()) for file in directory.rglob("*.py")}
    assert {name: length for name, length in lengths.items() if length > MOST_LINES} == {}


def names_of_tests(directory: Path) -> list[str]:
    """Return the names of the test functions in a directory and below it."""
    return [
        node.name
        for file in sorted(directory.rglob("test_*.py"))
        for node in nodes_of(file)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]


@pytest.mark.parametrize("directory", TESTS_WITH_SHORT_NAMES)
def test_names_of_the_pipelines_tests_have_at_most_72_characters(directory: str) -> None:
    names = names_of_tests(TESTS / directory)
    assert names
    assert [name for name in names if len(name) > MOST_CHARACTERS] == []


def importers() -> dict[str, set[str]]:
    """Return the files that import each file of the package."""
    found: dict[str, set[str]] = {}
    for file in FILES:
        name = str(file.relative_to(PACKAGE))
        for node in nodes_of(file):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kafka_groups."):
                module = (node.module or "").removeprefix("kafka_groups.").replace(".", "/")
                for path in (f"{module}.py", *(f"{module}/{alias.name}.py" for alias in node.names)):
                    found.setdefault(path, set()).add(name)
    return found


def circles(graph: Mapping[str, set[str]]) -> list[tuple[str, ...]]:
    """Return the modules that import each other, directly or through others."""
    reachable: dict[str, set[str]] = {}
    for module in graph:
        waiting, found = [module], set[str]()
        while waiting:
            new = graph.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        reachable[module] = found
    mutual = {each: sorted(other for other in found if each in reachable[other]) for each, found in reachable.items()}
    return sorted({tuple(others) for others in mutual.values() if others})


def test_no_module_imports_itself_through_others() -> None:
    """import-linter's contract compares siblings; this compares a package with its modules, too."""
    graph = build_graph("kafka_groups", exclude_type_checking_imports=True, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > len(FILES) / 2
    assert circles(imports) == []


def test_circles_are_found_between_two_modules_and_through_a_third_one() -> None:
    graph = {"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"e"}, "e": {"c", "f"}, "f": set[str]()}
    assert circles(graph) == [("a", "b"), ("c", "d", "e")]


def modules_in(package: str) -> set[str]:
    """Return the modules and packages directly in a package of kafka_groups."""
    prefix = f"kafka_groups.{package}"
    return {f"{prefix}.{module.name}" for module in iter_modules([str(PACKAGE / package)])}


def test_a_new_module_is_forbidden_to_the_pipeline_unless_it_is_listed_here() -> None:
    tools = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text())["tool"]
    contracts = {contract["id"]: contract for contract in tools["importlinter"]["contracts"]}
    contract = contracts["pipeline-outside"]
    assert {*contract["source_modules"]} == modules_in("pipeline") - {"kafka_groups.pipeline.commands"}
    allowed = {f"kafka_groups.{name}" for name in ("admin.api", "admin.librdkafka", "groups.selection", "groups.steps")}
    inside = {module for module in contract["forbidden_modules"] if module.split(".")[1] in {"admin", "groups"}}
    assert inside == (modules_in("admin") | modules_in("groups")) - allowed


def is_natural_unit(path: str) -> bool:
    """Return whether a small file is one message, operation, mechanism, command, view, writer or kind of check."""
    units = (
        "protocol/messages/",
        "admin/handlers/",
        "admin/network/sasl/",
        "settings/tokens/",
        "commands/",
        "options/completion/",
        "changes/",
        "rendering/views/",
        "rendering/writers/",
        "pipeline/commands/",
        "pipeline/doctor/",
    )
    return path.startswith(units) or path in ONE_SUBJECT


def test_small_files_with_one_importer_are_natural_units() -> None:
    users = importers()
    small = [str(file.relative_to(PACKAGE)) for file in FILES if len(file.read_text().splitlines()) < 60]
    lonely = [path for path in small if len(users.get(path, ())) == 1 and not is_natural_unit(path)]
    assert lonely == []
    assert [path for path in ONE_SUBJECT if path not in small or len(users.get(path, ())) != 1] == []


def error_classes() -> Iterator[type[errors.KafkaGroupsError]]:
    """Yield the classes of errors.py."""
    for _, found in inspect.getmembers(errors, inspect.isclass):
        if found.__module__ == errors.__name__:
            assert issubclass(found, errors.KafkaGroupsError)
            yield found


def drawn_tree() -> dict[str, str]:
    """Return the parent of each class of the tree in the docstring of errors.py."""
    path = ["Exception"]
    parents = {}
    for branch, name in re.findall(r"^([│├└─ ]*)(\w+Error)\b", errors.__doc__ or "", re.MULTILINE):
        depth = 1 + len(branch) // 4
        parents[name] = path[depth - 1]
        path = [*path[:depth], name]
    return parents


def test_the_docstring_has_the_tree_of_errors() -> None:
    assert {found.__name__: found.__bases__[0].__name__ for found in error_classes()} == drawn_tree()


def test_the_tree_has_the_names_that_documents_contain() -> None:
    drawn = dict(re.findall(r"(\w+Error)\s+([A-Z_]+)\b(?=$|:)", errors.__doc__ or "", re.MULTILINE))
    admin_errors = [found for found in error_classes() if issubclass(found, errors.AdminError) and found.code is None]
    ours = {found.__name__: found.name for found in admin_errors if "name" in vars(found)}
    del ours["AdminError"]
    assert ours == drawn
    assert {*ours.values(), INTERRUPTED} == CONTRACT_NAMES == set(CLIENT_ERROR_NAMES)


def calls_of(name: str) -> Iterator[ast.Call]:
    """Yield every call of a class in the package."""
    for file in FILES:
        yield from (node for node in nodes_of(file) if isinstance(node, ast.Call) and dotted_name(node.func) == name)


def dotted_name(node: ast.expr) -> str:
    """Return the source of a name and its attributes; an empty text for other expressions."""
    if isinstance(node, ast.Attribute):
        return f"{dotted_name(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def test_names_of_failures_are_those_of_kafka_or_of_the_contract() -> None:
    known = {error_name(code) for code in range(-1, 137)} | CONTRACT_NAMES
    written = {
        word.value.value
        for call in calls_of("Failure")
        for word in call.keywords
        if word.arg == "name" and isinstance(word.value, ast.Constant)
    }
    assert written
    assert written - known == set()


def test_no_error_without_a_name_is_raised() -> None:
    assert [ast.unparse(call) for call in calls_of("AdminError")] == []


def test_one_module_creates_the_clients_of_librdkafka() -> None:
    names = {"Consumer", "AdminClient"}
    files = {
        str(file.relative_to(PACKAGE))
        for file in FILES
        for call in nodes_of(file)
        if isinstance(call, ast.Call) and names & {dotted_name(part) for part in (call.func, *call.args)}
    }
    # The sandbox plays the members of groups. brokers.py passes the class to `open_consumer`.
    theirs = {"pipeline/facts/source/brokers.py", "admin/librdkafka.py"}
    assert {file for file in files if not file.startswith("sandbox/")} == theirs


def test_exit_codes_are_those_of_the_contract() -> None:
    codes = {found.__name__: found.exit_code for found in error_classes()}
    other_codes = {name: code for name, code in codes.items() if code != 1}
    assert other_codes == {
        "SettingsError": 2,
        "KerberosMissingError": 2,
        "PlanFileError": 2,
        "PollsFileError": 2,
        "UnwrittenResultError": 3,
        "CheckFailedError": 4,
    }
    assert errors.IncompleteResultError(ResultStatus.PARTIAL).exit_code == 3
    assert errors.IncompleteResultError(ResultStatus.FAILED).exit_code == 1


def test_no_module_but_one_has_numbers_of_exit_codes() -> None:
    calls = [call for name in ("sys.exit", "ctx.exit", "context.exit") for call in calls_of(name)]
    numbers = [call for call in calls if any(isinstance(getattr(node, "value", None), int) for node in ast.walk(call))]
    assert calls
    assert [ast.unparse(call) for call in numbers] == []

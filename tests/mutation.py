"""A sample of random faults in the core, and how many of them the unit tests notice.

Run `make mutation`. Each fault is one small change of the source in a copy of the project: an inverted condition,
another comparison, `and` for `or`, a number that is one larger, a call or an assignment that is left out. The tests
that execute the line run first, and if none of them fails all unit tests. A survivor is a missing test, dead code or a
difference that nobody can see. The same seed chooses the same faults of the same source.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from coverage import CoverageData

ROOT = Path(__file__).parent.parent
PACKAGE = Path("cli/kafka_groups")
CORE = (
    "admin",
    "changes",
    "files",
    "groups",
    "kinds.py",
    "model.py",
    "protocol",
    "rendering/views",
    "rendering/writers",
    "settings",
)
TIMEOUT_S = 900
# A fault may make a test wait without end.
TEST_TIMEOUT_S = 60
# More tests than this are as slow as all tests of the package on two cores.
MOST_TESTS = 150
COMPARISONS = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A change of one place in a file; `start` and `end` count bytes."""

    file: Path
    line: int
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {_one_line(self.before)}  ->  {_one_line(self.after)}"

    def apply(self, copy: Path) -> None:
        """Write the changed file into the copy of the project."""
        source = (ROOT / self.file).read_bytes()
        (copy / self.file).write_bytes(source[: self.start] + self.after.encode() + source[self.end :])


def _one_line(text: str) -> str:
    return " ".join(text.split())[:100]


def find_faults(file: Path) -> list[Fault]:
    """Return every fault that a file can have. Annotations, texts and what only type checkers read have none."""
    source = (ROOT / file).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def fault(node: ast.expr | ast.stmt, after: str) -> Fault:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        return Fault(file=file, line=node.lineno, start=start, end=end, before=source[start:end].decode(), after=after)

    tree = ast.parse(source)
    return [fault(node, after) for node in _executed(tree) for after in _changes(node)]


def _executed(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_unseen(child):
                if isinstance(child, (ast.expr, ast.stmt)):
                    yield child
                yield from _executed(child)


def _is_unseen(node: ast.AST) -> bool:
    """Return whether tests cannot notice a change: parts of texts, what only type checkers read, and assertions.

    `strict` of zip is such an assertion: no call has arguments of different lengths.
    """
    match node:
        case ast.If():
            return "TYPE_CHECKING" in ast.unparse(node.test)
        case ast.keyword():
            return node.arg == "strict"
    return isinstance(node, (ast.JoinedStr, ast.Assert))


def _changes(node: ast.expr | ast.stmt) -> Iterator[str]:
    """Return the texts that may replace a node."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            yield f"{ast.unparse(left)} {COMPARISONS[type(operator)]} {ast.unparse(right)}"
        case ast.BoolOp(op=operator, values=values):
            other = " or " if isinstance(operator, ast.And) else " and "
            yield f"({other.join(f'({ast.unparse(value)})' for value in values)})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield f"({ast.unparse(operand)})"
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield f"({ast.unparse(orelse)} if {ast.unparse(test)} else {ast.unparse(body)})"
        case ast.Constant(value=bool(value)):
            yield str(not value)
        case ast.Constant(value=int(value)):
            yield str(value + 1)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operator, right=right):
            yield f"({ast.unparse(left)} {'-' if isinstance(operator, ast.Add) else '+'} {ast.unparse(right)})"
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield "pass"
        case ast.If(test=test, orelse=[]):
            # The condition holds for nothing, so its block is left out.
            yield ast.unparse(ast.If(test=ast.Constant(False), body=node.body, orelse=[])).replace(
                "\n", "\n" + " " * node.col_offset
            )


def choose(count: int, seed: int, parts: Sequence[str]) -> list[Fault]:
    """Return a random sample of the faults of these parts of the package."""
    files = [
        file.relative_to(ROOT)
        for name in parts
        for file in ([ROOT / PACKAGE / name] if name.endswith(".py") else sorted((ROOT / PACKAGE / name).rglob("*.py")))
    ]
    faults = [fault for file in files for fault in find_faults(file)]
    return random.Random(seed).sample(faults, count)


def _run(copy: Path, *arguments: str) -> bool:
    """Run pytest by these arguments of Python in the copy; return whether it succeeds in time."""
    return _result(copy, *arguments) == ""


def _result(copy: Path, *arguments: str) -> str:
    """Return the end of the output if the run fails, an empty text if it succeeds."""
    environment = {**os.environ, "PYTHONPATH": str(copy / "cli")}
    command = [sys.executable, *arguments, "-q", "-x", "-p", "no:cacheprovider", f"--timeout={TEST_TIMEOUT_S}"]
    try:
        result = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"not complete within {TIMEOUT_S} s"
    return "" if result.returncode == 0 else result.stdout.decode(errors="replace")[-3000:] or "no output"


class LineTests:
    """The tests that execute each line, by one run of the unit tests under coverage."""

    def __init__(self, copy: Path, tests: Sequence[str]) -> None:
        (copy / "coverage.ini").write_text("[run]\ndynamic_context = test_function\n")
        measure = ("-m", "coverage", "run", "--rcfile=coverage.ini", "--source=kafka_groups", "-m", "pytest", *tests)
        if failure := _result(copy, *measure):
            sys.exit(f"the unit tests fail without a fault:\n{failure}")
        self._data = CoverageData(str(copy / ".coverage"))
        self._data.read()
        self._copy = copy

    def of(self, fault: Fault) -> list[str]:
        """Return the ids of tests for a command line, none if the line runs when it is imported, or in too many."""
        contexts = self._data.contexts_by_lineno(str(self._copy / fault.file)).get(fault.line, [])
        return sorted(map(self._id_of, contexts)) if "" not in contexts and len(contexts) <= MOST_TESTS else []

    def _id_of(self, context: str) -> str:
        parts = context.split(".")
        length = next(
            at for at in range(len(parts), 0, -1) if (self._copy / "/".join(parts[:at])).with_suffix(".py").exists()
        )
        return "::".join(("/".join(parts[:length]) + ".py", *parts[length:]))


def _is_noticed(copy: Path, fault: Fault, tests: list[str]) -> bool:
    name = fault.file.relative_to(PACKAGE).parts[0]
    near = f"tests/test_{name}" if name.endswith(".py") else f"tests/{name}"
    parallel = ("-n", "2", "--dist", "worksteal")
    first = (*tests,) if tests else (near, *parallel)
    return not _run(copy, "-m", "pytest", *first) or not _run(copy, "-m", "pytest", *parallel)


def main() -> None:
    """Print each fault with the outcome, then the number of those that were noticed. Exit with 1 below 92 of 100."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=1, help="continue a sample of this seed and count at this fault")
    parser.add_argument("--part", action="append", help="a file or folder of the package, in place of the core")
    parser.add_argument("--tests", action="append", default=[], help="tests that run most of the lines of these parts")
    options = parser.parse_args()
    noticed = 0
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / "project"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".venv*", ".git", "__pycache__", ".*_cache"))
        lines = LineTests(copy, options.tests)
        faults = choose(options.count, options.seed, options.part or CORE)[options.first - 1 :]
        for number, fault in enumerate(faults, start=options.first):
            fault.apply(copy)
            is_noticed = _is_noticed(copy, fault, lines.of(fault))
            shutil.copyfile(ROOT / fault.file, copy / fault.file)
            noticed += is_noticed
            click.echo(f"{number:3} {'noticed ' if is_noticed else 'SURVIVED'} {fault}")
    click.echo(f"{noticed} of {len(faults)} faults were noticed (seed {options.seed})")
    sys.exit(noticed < 0.92 * len(faults))


if __name__ == "__main__":
    main()

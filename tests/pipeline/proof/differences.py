"""Differences between rows of two trees: which are expected because a defect was removed, and which are not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.pipeline.proof.random_facts import Row, Rows

_CLUSTER_PREFIX: Final = "seed-"


@dataclass(frozen=True, slots=True)
class Difference:
    """A row of one table that differs between the old and the new code.

    `old` or `new` is None if only the other code derives the row; `columns` is empty then.
    """

    table: str
    key: tuple[Any, ...]
    old: Row | None
    new: Row | None
    columns: frozenset[str]

    @property
    def row(self) -> Row:
        """The new row, or the old one if only the old code derives it."""
        row = self.old if self.new is None else self.new
        assert row is not None
        return row

    @property
    def seed(self) -> int | None:
        """The seed of the row's cluster; None for the values of a whole report, which have no cluster."""
        cluster = self.key[0]
        return int(cluster.removeprefix(_CLUSTER_PREFIX)) if isinstance(cluster, str) else None

    def __str__(self) -> str:
        """Return one line: the table, the seed, the key, and the differing values as "column: old -> new"."""
        place = f"{self.table}, seed {self.seed}, {' '.join(map(str, self.key[1:]))}"
        if self.old is None or self.new is None:
            return f"{place}: only the {'new' if self.old is None else 'old'} code derives it"
        changes = [f"{name}: {self.old.get(name)!r} -> {self.new.get(name)!r}" for name in sorted(self.columns)]
        return f"{place}: {'; '.join(changes)}"


@dataclass(frozen=True, slots=True)
class Explained:
    """A difference that defects explain, and the numbers of these."""

    difference: Difference
    defects: Sequence[int]


class ExplainedDifferences:
    """The expected differences of the tables before, of which those of further tables are consequences."""

    def __init__(self) -> None:
        self._by_place: dict[tuple[Any, ...], list[Explained]] = defaultdict(list)

    def add(self, explained: Explained) -> None:
        """Add a difference."""
        difference = explained.difference
        self._by_place[difference.table, *difference.key[:2]].append(explained)

    def of(self, table: str, key: Sequence[Any], defect: int) -> Iterator[Difference]:
        """Yield a table's differences that a defect explains and whose keys begin with the same two values as `key`."""
        for explained in self._by_place.get((table, *key[:2]), ()):
            if defect in explained.defects:
                yield explained.difference


def _always(_difference: Difference, _before: ExplainedDifferences) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Differences that the removal of a defect explains.

    `columns` of `table` may differ in the rows for which `applies` returns True; it also gets the differences that
    are already explained. With `is_whole_row`, these rows may also exist on one side only. `why` is a sentence for the
    reader of the list.
    """

    defect: int
    table: str
    columns: frozenset[str]
    why: str
    is_whole_row: bool = False
    applies: Callable[[Difference, ExplainedDifferences], bool] = _always

    def explains(self, difference: Difference, before: ExplainedDifferences) -> frozenset[str] | None:
        """Return the differing columns that this explains; None if it explains nothing of the difference."""
        if difference.table != self.table:
            return None
        columns = difference.columns & self.columns
        is_possible = bool(columns) or (self.is_whole_row and not difference.columns)
        return columns if is_possible and self.applies(difference, before) else None

    def __str__(self) -> str:
        """Return one line: the defect, the table, the columns, and the reason."""
        columns = ["whole rows"] if self.is_whole_row else []
        return f"defect {self.defect}, {self.table} ({', '.join([*columns, *sorted(self.columns)])}): {self.why}"


def find_differences(old: Mapping[str, Rows], new: Mapping[str, Rows]) -> Iterator[Difference]:
    """Yield the differing rows of all tables, in the order of `old`; both mappings have the same tables."""
    for table, old_rows in old.items():
        new_rows = new[table]
        for key in old_rows | new_rows:
            old_row = old_rows.get(key)
            new_row = new_rows.get(key)
            if old_row != new_row:
                yield Difference(table, key, old_row, new_row, _differing_columns(old_row, new_row))


def _differing_columns(old: Row | None, new: Row | None) -> frozenset[str]:
    """Return the columns whose values differ, or that only one row has; none if a row is missing."""
    if old is None or new is None:
        return frozenset()
    missing = object()
    return frozenset(name for name in old | new if old.get(name, missing) != new.get(name, missing))


def explain(difference: Difference, expected: Sequence[Expected], before: ExplainedDifferences) -> Sequence[Expected]:
    """Return the first entries that together explain all of a difference; none if something is left."""
    left = set(difference.columns)
    entries = []
    for candidate in expected:
        columns = candidate.explains(difference, before)
        if columns is not None and (columns & left or not difference.columns):
            entries.append(candidate)
            left -= columns
            if not left:
                return entries
    return ()


@dataclass(slots=True)
class Comparison:
    """The outcome of comparing the rows of some seeds.

    `rows` counts, by table, the rows that either code derives. `expected` counts the expected differences by the
    defects that explain them, and `by_entry` by the entry and the seed; two entries may explain one row together.
    `unexpected` are all others.
    """

    rows: Counter[str] = field(default_factory=Counter)
    expected: Counter[tuple[int, ...]] = field(default_factory=Counter)
    unexpected: list[Difference] = field(default_factory=list)
    by_entry: dict[Expected, Counter[int | None]] = field(default_factory=dict)

    def add(self, other: Comparison) -> None:
        """Add the outcome for other seeds."""
        self.rows.update(other.rows)
        self.expected.update(other.expected)
        self.unexpected.extend(other.unexpected)
        for entry, seeds in other.by_entry.items():
            self.by_entry.setdefault(entry, Counter()).update(seeds)

    def entry_lines(self, expected: Sequence[Expected]) -> list[str]:
        """Return a line for each entry: the rows that it accepts in all seeds and in the seed with most, and why."""
        lines = []
        for entry in expected:
            seeds = self.by_entry.get(entry, Counter())
            most = max(seeds.values(), default=0)
            lines.append(f"expected: {seeds.total():,} rows of {len(seeds):,} seeds, at most {most:,} of one; {entry}")
        return lines

    def summary(self) -> str:
        """Return one sentence: "72,225 rows equal, 12 differ as expected by defect 36, 0 unexpected"."""
        equal = self.rows.total() - self.expected.total() - len(self.unexpected)
        parts = [f"{equal:,} rows equal"]
        for defects, count in sorted(self.expected.items()):
            name = "defect" if len(defects) == 1 else "defects"
            parts.append(f"{count:,} differ as expected by {name} {' and '.join(map(str, defects))}")
        return ", ".join([*parts, f"{len(self.unexpected):,} unexpected"])

    def unexpected_places(self) -> list[str]:
        """Return a line for each table and column with unexpected differences: their number and their seeds."""
        seeds: dict[tuple[str, str], list[int | None]] = {}
        for difference in self.unexpected:
            for column in difference.columns or {"row on one side only"}:
                seeds.setdefault((difference.table, column), []).append(difference.seed)
        return [
            f"{table}, {column}: {len(numbers):,} rows of seeds {_list_seeds(numbers)}"
            for (table, column), numbers in sorted(seeds.items())
        ]

    def examples(self, number: int) -> list[Difference]:
        """Return at most `number` unexpected differences of each table that are in the same columns."""
        shown: Counter[tuple[str, frozenset[str]]] = Counter()
        examples = []
        for difference in self.unexpected:
            kind = difference.table, difference.columns
            shown[kind] += 1
            if shown[kind] <= number:
                examples.append(difference)
        return examples


def _list_seeds(seeds: Sequence[int | None]) -> str:
    return ", ".join(sorted({str(seed) for seed in seeds}))


def compare(old: Mapping[str, Rows], new: Mapping[str, Rows], expected: Sequence[Expected]) -> Comparison:
    """Return the outcome of comparing the rows of both codes, which have the same tables."""
    comparison = Comparison(Counter({table: len(old_rows | new[table]) for table, old_rows in old.items()}))
    before = ExplainedDifferences()
    for difference in find_differences(old, new):
        entries = explain(difference, expected, before)
        if not entries:
            comparison.unexpected.append(difference)
            continue
        defects = tuple(sorted({entry.defect for entry in entries}))
        before.add(Explained(difference, defects))
        comparison.expected[defects] += 1
        for entry in entries:
            comparison.by_entry.setdefault(entry, Counter())[difference.seed] += 1
    return comparison

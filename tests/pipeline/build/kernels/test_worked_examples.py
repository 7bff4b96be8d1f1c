"""The worked examples at the beginning of the kernels, which are doctests."""

from __future__ import annotations

import doctest
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Final

import pytest

from kafka_groups.pipeline.build import kernels

# Modules without an example, and why.
NO_EXAMPLE: Final = {
    "group_records": "declares a record's fields and the names of its events, and computes nothing",
    "rebalance_rows": "declares the fields of a rebalance, and computes nothing",
}
MODULES: Final[dict[str, ModuleType]] = {
    module.name: import_module(f"{kernels.__name__}.{module.name}")
    for module in iter_modules(kernels.__path__)
    if module.name not in NO_EXAMPLE
}


def test_every_module_without_an_example_exists_and_has_none() -> None:
    for name in NO_EXAMPLE:
        module = import_module(f"{kernels.__name__}.{name}")
        assert not any(text.examples for text in doctest.DocTestFinder().find(module)), name


@pytest.mark.parametrize("name", MODULES)
def test_the_worked_examples_of_a_kernel_are_right(name: str) -> None:
    results = doctest.testmod(MODULES[name])

    assert results.attempted > 0
    assert results.failed == 0

"""The worked examples at the beginning of the kernels, which are doctests."""

from __future__ import annotations

import doctest
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Final

import pytest

from kafka_groups.pipeline.build import kernels


def modules_with_examples() -> list[ModuleType]:
    modules = [import_module(f"{kernels.__name__}.{module.name}") for module in iter_modules(kernels.__path__)]
    return [module for module in modules if any(text.examples for text in doctest.DocTestFinder().find(module))]


MODULES: Final = {module.__name__.rpartition(".")[2]: module for module in modules_with_examples()}


@pytest.mark.parametrize("name", MODULES)
def test_the_worked_examples_of_a_kernel_are_right(name: str) -> None:
    results = doctest.testmod(MODULES[name])

    assert results.attempted > 0
    assert results.failed == 0

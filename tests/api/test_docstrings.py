"""The examples in docstrings do what they say."""

import doctest
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import bertviewer

HOMES = [
    import_module(f"bertviewer.api.{home}")
    for home in ("comparison", "corpus", "errors", "figure", "formula", "model", "opening", "run")
]


@pytest.mark.parametrize("module", [bertviewer, *HOMES], ids=lambda module: module.__name__)
def test_of_a_module(module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert not doctest.testmod(module).failed


def test_there_are_some() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for module in (bertviewer, *HOMES) for test in finder.find(module)]
    assert {test.name.rpartition(".")[2] for test in found if test.examples} >= {
        *("bertviewer", "Model", "Run", "Corpus", "Formula", "Figure")
    }

"""Formulas are derived once for a configuration, and never believed without proof."""

import json
from pathlib import Path
from typing import Any

import pytest

from bertviewer.core import deriving, formula_cache
from bertviewer.core.architecture import Architecture
from bertviewer.core.formula_cache import cache_key, cached_formulas, keep_formulas
from bertviewer.core.loading import open_model
from bertviewer.core.source import parse_source


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an empty cache, and the folder of its files."""
    monkeypatch.setattr(formula_cache, "user_cache_path", lambda *_args, **_kwargs: tmp_path)
    return tmp_path / "formulas"


@pytest.fixture(scope="module")
def derived() -> Architecture:
    """Derive distilbert's formulas, whatever is cached."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deriving, "cached_formulas", lambda _: None)
        patch.setattr(deriving, "keep_formulas", lambda _: None)
        return plain("distilbert-base-uncased", derive=True)


def plain(name: str, task: str = "base", *, derive: bool = False) -> Architecture:
    model = open_model(parse_source(name, task))
    return model.with_formulas() if derive else model.architecture


def change(folder: Path, **changes: Any) -> None:
    (path,) = folder.glob("*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_read_back_equal(derived: Architecture) -> None:
    before = plain("distilbert-base-uncased")
    assert cached_formulas(before) is None
    keep_formulas(derived)
    assert cached_formulas(before) == derived


def test_the_second_time_nothing_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    first = plain("distilbert-base-uncased", derive=True)

    def fail(*_args: object, **_kwargs: object) -> None:
        pytest.fail("the formulas were derived again")

    monkeypatch.setattr(deriving, "derive", fail)
    assert plain("distilbert-base-uncased", derive=True) == first


def test_another_configuration_has_another_key(derived: Architecture) -> None:
    keys = {
        cache_key(plain("distilbert-base-uncased")),
        cache_key(plain("distilbert-base-uncased", "masked-lm")),
        cache_key(plain("bert-base-uncased")),
    }
    assert len(keys) == 3
    assert cache_key(derived) in keys


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 200_000, "\xff"])
def test_a_damaged_file_counts_for_nothing(text: str, folder: Path, derived: Architecture) -> None:
    keep_formulas(derived)
    (path,) = folder.glob("*.json")
    path.write_text(text, encoding="latin-1")
    assert cached_formulas(plain("distilbert-base-uncased")) is None
    assert not path.exists()


def test_a_wrong_formula_counts_for_nothing(folder: Path, derived: Architecture) -> None:
    keep_formulas(derived)
    counts = {node.path: node.count_formula for node in derived.modules}
    change(folder, counts=counts | {"transformer": "V*D + 1"})
    assert cached_formulas(plain("distilbert-base-uncased")) is None


def test_a_formula_is_never_run(folder: Path, derived: Architecture) -> None:
    keep_formulas(derived)
    counts = {node.path: node.count_formula for node in derived.modules}
    change(folder, counts=counts | {"": "__import__('os').getpid()"})
    assert cached_formulas(plain("distilbert-base-uncased")) is None


def test_old_files_make_room(
    folder: Path, derived: Architecture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formula_cache, "KEPT", 3)
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}.json").write_text("{}")
    keep_formulas(derived)
    left = {path.name for path in folder.iterdir()}
    assert len(left) == 3
    assert f"{cache_key(derived)}.json" in left


def test_a_cache_that_cannot_be_written_is_no_error(
    tmp_path: Path, derived: Architecture, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []
    monkeypatch.setattr(formula_cache, "write_log", notes.append)
    (tmp_path / "formulas").write_text("a file stands where the folder would be")
    keep_formulas(derived)
    assert "formulas were not kept" in notes[0]
    assert cached_formulas(plain("distilbert-base-uncased")) is None

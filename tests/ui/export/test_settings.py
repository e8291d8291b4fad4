"""The options of the last report are the defaults of the next one."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QSettings

from bertviewer.report.options import Options
from bertviewer.ui.export.settings import (
    NAMES,
    SETTING,
    last_folder,
    load_options,
    store_folder,
    store_options,
)

OPTIONS = Options(
    sections=tuple(name for name in NAMES if name not in ("costs", "tensors")),
    layers="0, 5",
    paper="letter",
    title="My model",
    author="Ada <b>",
    grey=True,
    corpus="/a/corpus",
    appendix="full",
    format="html",
)


def test_options_are_stored() -> None:
    store_options(OPTIONS, "demo")
    assert load_options("demo") == OPTIONS
    store_options(replace(OPTIONS, sections=None), "demo")
    assert load_options("demo").sections is None


def test_title_and_corpus_are_stored_for_one_model() -> None:
    store_options(OPTIONS, "demo")
    loaded = load_options("gpt2")
    assert (loaded.title, loaded.corpus, loaded.author) == ("", "", "Ada <b>")


def test_new_chapters_are_included() -> None:
    store_options(OPTIONS, "demo")
    stored = json.loads(str(QSettings().value(SETTING)))
    assert stored["left_out"] == ["costs", "tensors"]
    QSettings().setValue(SETTING, json.dumps({**stored, "left_out": ["costs", "gone"]}))
    sections = load_options("demo").sections
    assert sections == tuple(name for name in NAMES if name != "costs")


@pytest.mark.parametrize(
    "stored",
    ["", "x", "[]", "3", '{"paper": 7, "left_out": "model", "title": [], "grey": "yes"}'],
)
def test_invalid_settings_are_ignored(stored: str) -> None:
    default = load_options("demo")
    QSettings().setValue(SETTING, stored)
    assert load_options("demo") == default
    assert default.sections is None


def test_the_folder_of_the_last_report(tmp_path: Path) -> None:
    assert last_folder() is None
    folder = tmp_path / "reports"
    folder.mkdir()
    store_folder(folder)
    assert last_folder() == folder
    folder.rmdir()
    assert last_folder() is None

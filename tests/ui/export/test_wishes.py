"""What was chosen of a report is chosen the next time, too."""

from pathlib import Path

import pytest
from PySide6.QtCore import QSettings

from bertviewer.ui.export.options import (
    SETTING,
    Wishes,
    last_folder,
    remember,
    remember_folder,
    remembered,
)

WISHES = Wishes(
    left_out=("costs", "tensors"),
    layers="0, 5",
    paper="letter",
    title="My model",
    author="Ada <b>",
    is_grey=True,
    corpus="/a/corpus",
)


def test_all_that_was_chosen() -> None:
    remember(WISHES, "demo")
    assert remembered("demo") == WISHES


def test_a_title_is_one_models() -> None:
    remember(WISHES, "demo")
    assert remembered("gpt2").title == ""
    assert remembered("gpt2").corpus == ""
    assert remembered("gpt2").author == "Ada <b>"


@pytest.mark.parametrize(
    "stored",
    ["", "x", "[]", "3", '{"paper": 7, "left_out": "model", "title": [], "is_grey": "yes"}'],
)
def test_settings_may_hold_anything(stored: str) -> None:
    usual = remembered("demo")
    QSettings().setValue(SETTING, stored)
    assert remembered("demo") == usual
    assert usual.left_out == ()


def test_chapters_that_are_left_out_are_those_alone() -> None:
    chapters = ("model", "costs", "tensors")
    assert WISHES.choices(chapters, "").sections == ("model",)
    assert Wishes().choices(chapters, "").sections is None
    assert WISHES.choices(chapters, "").title == "My model"


def test_the_folder_that_was_used_last(tmp_path: Path) -> None:
    assert last_folder() is None
    folder = tmp_path / "reports"
    folder.mkdir()
    remember_folder(folder)
    assert last_folder() == folder
    folder.rmdir()
    assert last_folder() is None

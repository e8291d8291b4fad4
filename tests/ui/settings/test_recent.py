"""The list of what was open: how long it is, and whatever stands in the settings."""

import os
from datetime import datetime
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings

from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.settings.settings import (
    MAX_RECENT,
    RECENT,
    RECENT_TIMES,
    opened_at,
    recent_names,
    remember,
)


def test_the_list_is_short_and_holds_no_twins(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    for number in range(MAX_RECENT + 3):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        remember(parse_source(str(folder)))
    assert recent_names() == [str(tmp_path / str(number)) for number in range(11, 2, -1)]
    remember(parse_source(str(tmp_path / "5")))
    assert recent_names()[0] == str(tmp_path / "5")
    assert len(set(recent_names())) == MAX_RECENT
    remember(parse_source("bert-base-uncased"))
    assert recent_names()[0] == str(tmp_path / "5")


def test_a_name_that_settings_cannot_hold(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"\xff")
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    remember(parse_source(str(folder)))
    assert recent_names() == []


@pytest.mark.parametrize("stored", [5, "", ["", 3], {"a": 1}, None])
def test_settings_may_hold_anything(stored: object) -> None:
    QSettings().setValue(RECENT, stored)
    assert [name for name in recent_names() if name not in ("3", "5")] == []


def test_when_a_model_was_opened_last_is_known(tiny_bert_folder: Path) -> None:
    folder = tiny_bert_folder
    before = datetime.now()
    remember(parse_source(str(folder)))
    when = opened_at(str(folder))
    assert when is not None
    assert before <= when <= datetime.now()
    assert opened_at("/another") is None


@pytest.mark.parametrize(
    "stored",
    ["", "[", "[1]", '{"/x": "y"}', '{"/x": 1e300}', f'{{"/x": {10**400}}}', "[" * 100_000],
)
def test_stored_times_may_be_anything(stored: str) -> None:
    QSettings().setValue(RECENT_TIMES, stored)
    assert opened_at("/x") is None

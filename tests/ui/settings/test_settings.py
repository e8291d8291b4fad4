"""Stored settings: a damaged file, recent models, and times."""

import json
import os
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QSettings

from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.settings.settings import (
    BACKUP,
    MAX_RECENT,
    RECENT,
    RECENT_TIMES,
    forget,
    opened_at,
    opens_last,
    quarantine_bad_settings,
    recent_names,
    remember,
    set_opens_last,
)


@pytest.fixture
def file() -> Path:
    """Return the path of the test's settings file."""
    path = Path(QSettings().fileName())
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.parametrize(
    "content",
    [b"garbage\n", b"[Gen", b"\0\0\0", b"\xff\xfe", b"[General]\nappearance=dark\nrubbish\n"],
)
def test_a_damaged_file_is_renamed(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    backup = quarantine_bad_settings()
    assert backup == file.with_name(file.name + BACKUP)
    assert backup.read_bytes() == content
    assert not file.exists()
    store = QSettings()
    assert store.value("appearance") is None
    store.setValue("appearance", "light")
    store.sync()
    assert "appearance=light" in file.read_text()
    assert backup.read_bytes() == content


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example("\x85 \u2028 \x0b \x1c")
@given(value=st.one_of(st.text(), st.lists(st.text()), st.binary(), st.integers(-9, 9)))
def test_a_file_that_qt_has_written_is_sound(file: Path, value: object) -> None:
    store = QSettings()
    store.setValue("group/value", value)
    store.sync()
    before = file.read_bytes()
    assert quarantine_bad_settings() is None
    assert file.read_bytes() == before


def test_without_a_file_none_is_created(file: Path) -> None:
    assert quarantine_bad_settings() is None
    assert not file.exists()


def test_opening_the_last_model_can_be_turned_off() -> None:
    stored = [opens_last()]
    for is_wanted in (False, True):
        set_opens_last(is_wanted)
        stored.append(opens_last())
    assert stored == [True, False, True]


def test_recent_models_are_few_and_the_latest_first(tmp_path: Path) -> None:
    for number in range(MAX_RECENT + 3):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        remember(parse_source(str(folder)))
    expected = [str(tmp_path / str(number)) for number in range(MAX_RECENT + 2, 2, -1)]
    assert recent_names() == expected
    five = str(tmp_path / "5")
    remember(parse_source(five))
    assert recent_names() == [five, *(name for name in expected if name != five)]
    for name in ("bert-base-uncased", "demo"):  # these have their own menu
        remember(parse_source(name))
    assert recent_names()[0] == five
    forget(five)
    assert recent_names() == [name for name in expected if name != five]


def test_a_name_that_is_not_utf8_is_not_stored(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"\xff")
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    remember(parse_source(str(folder)))
    assert recent_names() == []


@pytest.mark.parametrize("stored", [5, "", ["", 3], {"a": 1}, None])
def test_stored_names_of_other_types_are_ignored(stored: object) -> None:
    QSettings().setValue(RECENT, stored)
    assert [name for name in recent_names() if name not in ("3", "5")] == []


def test_when_a_model_was_opened_last(tiny_bert_folder: Path) -> None:
    before = datetime.now()
    remember(parse_source(str(tiny_bert_folder)))
    when = opened_at(str(tiny_bert_folder))
    assert when is not None
    assert before <= when <= datetime.now()
    assert opened_at("/another") is None
    assert list(json.loads(str(QSettings().value(RECENT_TIMES)))) == [str(tiny_bert_folder)]


@pytest.mark.parametrize(
    "stored",
    ["", "[", "[1]", '{"/x": "y"}', '{"/x": 1e300}', f'{{"/x": {10**400}}}', "[" * 100_000],
)
def test_invalid_times_are_ignored(stored: str) -> None:
    QSettings().setValue(RECENT_TIMES, stored)
    assert opened_at("/x") is None

"""A damaged settings file is kept as a backup, and a sound one is left alone."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QSettings

from bertviewer.ui.settings.settings import BACKUP, quarantine_bad_settings


@pytest.fixture
def file() -> Path:
    """Give the path of the settings file, which is one of the test's own."""
    path = Path(QSettings().fileName())
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.parametrize(
    "content",
    [
        b"garbage\n",
        b"[Gen",
        b"\0\0\0",
        b"{}",
        b"\xff\xfe",
        b"[General]\nappearance=dark\nrubbish\n",
    ],
)
def test_a_damaged_file_is_put_aside(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    backup = quarantine_bad_settings()
    assert backup == file.with_name(file.name + BACKUP)
    assert backup.read_bytes() == content
    assert not file.exists()
    assert QSettings().value("appearance") is None
    store = QSettings()
    store.setValue("appearance", "light")
    store.sync()
    assert "appearance=light" in file.read_text()
    assert backup.read_bytes() == content


def test_no_file_is_fine(file: Path) -> None:
    assert quarantine_bad_settings() is None
    assert not file.exists()


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example("\x85 \u2028 \x0b \x1c")
@given(value=st.one_of(st.text(), st.lists(st.text()), st.binary(), st.integers(-9, 9)))
def test_whatever_the_program_stores_is_sound(file: Path, value: object) -> None:
    store = QSettings()
    store.setValue("group/value", value)
    store.sync()
    before = file.read_bytes()
    assert quarantine_bad_settings() is None
    assert file.read_bytes() == before

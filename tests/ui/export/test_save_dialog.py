"""The extension of a report's file."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QMessageBox, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.report.formats.formats import FORMATS
from bertviewer.ui.export.save_dialog import target_of

PDF = FORMATS[0]


def test_a_missing_extension_is_added(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)

    def target(name: str) -> tuple[str, object] | None:
        found = target_of(parent, tmp_path / name, PDF)
        return None if found is None else (found.path.name, found.form)

    for form in FORMATS:
        for suffix in form.suffixes:
            assert target(f"report{suffix.upper()}") == (f"report{suffix.upper()}", form)
    assert target("v1.5") == ("v1.5.pdf", PDF)
    # The file dialog did not ask whether to replace the name with the extension.
    (tmp_path / "report.pdf").write_bytes(b"old")
    questions: list[str] = []
    answer = QMessageBox.StandardButton.No

    def ask(box: QMessageBox) -> QMessageBox.StandardButton:
        questions.append(box.text())
        return answer

    monkeypatch.setattr(QMessageBox, "exec", ask)
    assert target("report") is None
    assert questions == ["report.pdf already exists. Replace it?"]
    answer = QMessageBox.StandardButton.Yes
    assert target("report") == ("report.pdf", PDF)

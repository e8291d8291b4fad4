"""The file of a report: its default name and its format."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QMessageBox, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.core.sources.model_source import Kind, ModelSource, find_task
from bertviewer.report.command import default_file_name
from bertviewer.report.formats.formats import FORMATS, ReportFormat
from bertviewer.ui.export.save_dialog import target_of

PDF = FORMATS[0]


@pytest.mark.parametrize(
    ("kind", "name", "file"),
    [
        ("demo", "demo", "demo.pdf"),
        ("preset", "bert-base-uncased", "bert-base-uncased.pdf"),
        ("folder", "/home/ada/models/my bert/", "my bert.pdf"),
        ("folder", "/home/ada/bert-v1.5", "bert-v1.5.pdf"),
        ("config", "/home/ada/tiny/config.json", "tiny.pdf"),
        ("config", "config.json", "config.pdf"),
        ("weights", "tiny/ours.safetensors", "ours.pdf"),
        ("runs", "two runs.bertviewer", "two runs.pdf"),
        ("hub", "hf://org/name@main", "name.pdf"),
        ("folder", 'a:b*"<c>\x00', "a-b---c--.pdf"),
        ("folder", "...", "model.pdf"),
    ],
)
def test_a_report_is_called_after_its_model(kind: Kind, name: str, file: str) -> None:
    source = ModelSource(kind, name, Path(), find_task("base"))
    assert default_file_name(source, PDF) == file


def answering(monkeypatch: pytest.MonkeyPatch, answer: QMessageBox.StandardButton) -> list[str]:
    asked: list[str] = []

    def answered(box: QMessageBox) -> QMessageBox.StandardButton:
        asked.append(box.text())
        return answer

    monkeypatch.setattr(QMessageBox, "exec", answered)
    return asked


def meant(parent: QWidget, path: Path) -> tuple[Path, ReportFormat]:
    target = target_of(parent, path, PDF)
    assert target is not None
    return target.path, target.form


def test_an_ending_that_was_typed_stays(qtbot: QtBot, tmp_path: Path) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    for form in FORMATS:
        for suffix in form.suffixes:
            path = tmp_path / f"report{suffix.upper()}"
            assert meant(parent, path) == (path, form)
    assert meant(parent, tmp_path / "v1.5") == (tmp_path / "v1.5.pdf", PDF)


def test_a_file_that_nobody_named_is_asked_for(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    there = tmp_path / "report.pdf"
    there.write_bytes(b"old")
    asked = answering(monkeypatch, QMessageBox.StandardButton.No)
    assert target_of(parent, tmp_path / "report", PDF) is None
    assert asked == ["report.pdf already exists. Replace it?"]
    answering(monkeypatch, QMessageBox.StandardButton.Yes)
    assert meant(parent, tmp_path / "report") == (there, PDF)

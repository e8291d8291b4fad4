"""The report from a process without a window."""

from pathlib import Path

from msgspec.structs import replace
from PySide6.QtWidgets import QApplication

from bertviewer.report.formats.formats import format_of
from bertviewer.report.subject import Subject
from bertviewer.report.writing import drawings_of, write_report
from tests.report.conftest import CHOICES
from tests.report.reading import Report


def test_from_a_model_at_once(demo: Subject, qapp: QApplication, tmp_path: Path) -> None:
    choices = replace(CHOICES, sections=("parameters",))
    path = tmp_path / "report.pdf"
    write_report(path, Subject(demo.architecture), format_of(path), choices, (), draw=drawings_of)
    report = Report.of(path.read_bytes())
    assert "encoder BertEncoder 10,646,784 46.87%" in report.text
    assert report.headings()[0] == "1 Parameters"

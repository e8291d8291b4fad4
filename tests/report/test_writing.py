"""Writing the report: the whole file or the old one."""

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from bertviewer.core.errors import UserError
from bertviewer.report.document import ReportDocument
from bertviewer.report.subject import Subject
from bertviewer.report.writing import write_document, write_report
from tests.report.conftest import CHOICES
from tests.report.reading import Report, with_texts


def names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]


@pytest.fixture
def small(document: ReportDocument) -> ReportDocument:
    return with_texts(document, document.chapters[1])


def test_a_file_is_written(small: ReportDocument, tmp_path: Path) -> None:
    path = tmp_path / "report.pdf"
    path.write_bytes(b"old")
    write_document(path, small, CHOICES, ())
    assert Report.of(path.read_bytes()).pages[0].startswith("demo BertModel")
    assert names(tmp_path) == ["report.pdf"]


def test_a_full_disk_leaves_the_old_file(
    small: ReportDocument, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.pdf"
    path.write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match=os.strerror(errno.ENOSPC)):
        write_document(path, small, CHOICES, ())
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["report.pdf"]


def test_a_page_that_cannot_be_set_leaves_the_old_file(
    document: ReportDocument, tmp_path: Path
) -> None:
    path = tmp_path / "report.pdf"
    path.write_bytes(b"old")
    without = ReportDocument(document.front, document.chapters, {})
    with pytest.raises(UserError, match="cannot typeset the report"):
        write_document(path, without, CHOICES, ())
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("name", ["missing/report.pdf", "."])
def test_a_path_that_takes_no_file(small: ReportDocument, tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="cannot write"):
        write_document(tmp_path / name, small, CHOICES, ())
    assert names(tmp_path) == []


def test_from_a_model_at_once(demo: Subject, qapp: QApplication, tmp_path: Path) -> None:
    choices = replace(CHOICES, sections=("parameters",))
    write_report(tmp_path / "report.pdf", Subject(demo.architecture), choices, ())
    report = Report.of((tmp_path / "report.pdf").read_bytes())
    assert "encoder BertEncoder 10,646,784 46.87%" in report.text
    assert report.headings()[0] == "1 Parameters"

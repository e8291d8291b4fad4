"""Writing the PDF: the whole file or the old one."""

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest
from bertviewer.report.pdf import write_document, write_report
from PySide6.QtWidgets import QApplication

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.errors import UserError
from bertviewer.report.document import ReportDocument
from tests.report.reading import Report, short


def names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]


class TestWriting:
    def test_a_file_is_written(self, document: ReportDocument, tmp_path: Path) -> None:
        path = tmp_path / "report.pdf"
        path.write_bytes(b"old")
        small = short(document)
        write_document(path, small, ())
        assert Report.of(path.read_bytes()).pages[0].startswith("demo BertModel")
        assert names(tmp_path) == ["report.pdf"]

    def test_a_full_disk_leaves_the_old_file(
        self, document: ReportDocument, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "report.pdf"
        path.write_bytes(b"old")

        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(UserError, match=os.strerror(errno.ENOSPC)):
            write_document(path, short(document), ())
        assert path.read_bytes() == b"old"
        assert names(tmp_path) == ["report.pdf"]

    def test_a_template_that_fails_leaves_the_old_file(
        self, document: ReportDocument, tmp_path: Path
    ) -> None:
        path = tmp_path / "report.pdf"
        path.write_bytes(b"old")
        with pytest.raises(Exception, match=r"layers\.pdf"):
            write_document(path, replace(short(document), plots={}), ())
        assert path.read_bytes() == b"old"

    @pytest.mark.parametrize("name", ["missing/report.pdf", "."])
    def test_a_path_that_takes_no_file(
        self, document: ReportDocument, tmp_path: Path, name: str
    ) -> None:
        with pytest.raises(UserError, match="cannot write"):
            write_document(tmp_path / name, short(document), ())
        assert names(tmp_path) == []

    def test_from_a_model_at_once(
        self, demo: tuple[Architecture, ActivationRun], qapp: QApplication, tmp_path: Path
    ) -> None:
        write_report(tmp_path / "report.pdf", demo[0], None, ())
        report = Report.of((tmp_path / "report.pdf").read_bytes())
        assert "encoder BertEncoder 10,646,784 46.87%" in report.text

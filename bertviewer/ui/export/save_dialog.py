"""Dialog that asks for the file of a report."""

from pathlib import Path

from msgspec import Struct
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from bertviewer.core.sources.model_source import ModelSource
from bertviewer.report.command import default_file_name
from bertviewer.report.formats.formats import FORMATS, ReportFormat, format_by_suffix
from bertviewer.ui.export.settings import last_folder
from bertviewer.ui.settings.translation import translate


class Target(Struct, frozen=True, eq=False):
    """A file and its format."""

    path: Path
    form: ReportFormat


def ask_file(parent: QWidget, source: ModelSource, form: ReportFormat) -> Target | None:
    """Ask for a file; return ``None`` if the user cancels.

    Its extension determines the format; ``form`` is the default.
    """
    folder, name = last_folder(), default_file_name(source, form)
    filters = {
        f"{each.title} ({' '.join(f'*{suffix}' for suffix in each.suffixes)})": each
        for each in FORMATS
    }
    first = next(text for text, each in filters.items() if each is form)
    written, chosen = QFileDialog.getSaveFileName(
        parent,
        translate("report_asking", "Export report"),
        name if folder is None else str(folder / name),
        ";;".join(filters),
        first,
    )
    if not written:
        return None
    return target_of(parent, Path(written), filters.get(chosen, form))


def target_of(parent: QWidget, path: Path, form: ReportFormat) -> Target | None:
    """Return the file and its format; the format's extension is added if the path has none."""
    typed = format_by_suffix(path)
    if typed is not None:
        return Target(path, typed)
    full = path.with_name(f"{path.name}{form.suffixes[0]}")
    # The file dialog has asked only about the name without this extension.
    return None if full.exists() and not _may_replace(parent, full) else Target(full, form)


def _may_replace(parent: QWidget, path: Path) -> bool:
    text = translate("report_asking", "{0} already exists. Replace it?").format(path.name)
    box = QMessageBox(QMessageBox.Icon.Question, "bertviewer", "", parent=parent)
    box.setObjectName("reportReplace")
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(text)
    yes, no = QMessageBox.StandardButton.Yes, QMessageBox.StandardButton.No
    box.setStandardButtons(yes | no)
    box.setDefaultButton(no)
    return box.exec() == yes

"""Asks where a report shall be written, and as what."""

from pathlib import Path

from msgspec import Struct
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from bertviewer.core.sources.model_source import SCHEME, ModelSource
from bertviewer.core.sources.parsing import RUNS_SUFFIX
from bertviewer.report.formats.formats import FORMATS, ReportFormat
from bertviewer.ui.export.options import last_folder
from bertviewer.ui.settings.translation import translate

LONGEST = 100
"""Letters of a name, without its ending."""
_FILES = (".json", ".safetensors", ".bin", RUNS_SUFFIX)
_USUAL = ("config", "model", "pytorch_model")


class Target(Struct, frozen=True, eq=False):
    """A file, and what is to be written to it."""

    path: Path
    form: ReportFormat


def find_format(name: str) -> ReportFormat:
    """Return the format of that name, the first if there is none."""
    return next((each for each in FORMATS if each.name == name), FORMATS[0])


def typed_format(path: Path) -> ReportFormat | None:
    """Return the format that a file's ending stands for, ``None`` if it stands for none."""
    suffix = path.suffix.lower()
    return next((each for each in FORMATS if suffix in each.suffixes), None)


def proposed_name(source: ModelSource, form: ReportFormat) -> str:
    """Return what a report of a model is called: its name, and the format's ending."""
    name = source.name.removeprefix(SCHEME).rstrip("/\\").replace("\\", "/")
    if source.kind == "hub":
        name = name.partition("@")[0]
    path = Path(name)
    if path.suffix in _FILES:
        # A configuration and weights are called alike everywhere; their folder is not.
        path = path.parent if path.stem in _USUAL and path.parent.name else path.with_suffix("")
    letters = "".join(
        "-" if letter in ':*?"<>|' or not letter.isprintable() else letter for letter in path.name
    )
    return f"{letters.strip(' .')[:LONGEST] or 'model'}{form.suffixes[0]}"


def ask_file(parent: QWidget, source: ModelSource, form: ReportFormat) -> Target | None:
    """Ask for a file; its ending says what is written, the format that was chosen if it has none.

    ``None`` is for no file.
    """
    folder, name = last_folder(), proposed_name(source, form)
    filters = {
        f"{each.title} ({' '.join(f'*{suffix}' for suffix in each.suffixes)})": each
        for each in FORMATS
    }
    first = next(words for words, each in filters.items() if each is form)
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
    """Return what is written to a path; the format's ending is added where it has none."""
    typed = typed_format(path)
    if typed is not None:
        return Target(path, typed)
    full = path.with_name(f"{path.name}{form.suffixes[0]}")
    # The dialog for files has asked for the name that was typed alone.
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

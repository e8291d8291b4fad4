"""How lively the window stays while its dialog makes the pages of a report and writes it."""

import json
import tempfile
from pathlib import Path
from unittest.mock import patch

from PySide6.QtWidgets import QApplication, QComboBox, QFileDialog, QLineEdit, QPushButton

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.ui.export.dialog import ReportDialog
from bertviewer.ui.shell.main_window import MainWindow
from tests.benchmarks.lively import Gap, gap, opened_window, run, wait
from tests.ui.export.conftest import are_shown
from tests.ui.finding import find

SHORT = Sentence("bank " * 126)
DEEP = {
    "model_type": "bert",
    "num_hidden_layers": 24,
    "hidden_size": 1024,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
    "vocab_size": 30522,
}


def dialog() -> dict[str, float]:
    """Look at a report's pages, of other paper too, and write it.

    Returns:
        Seconds that a turn of the event loop takes at the most: of a run of 128 tokens through
        bert-base, and of one through 24 layers of 16 heads, all of whose heads are shown.
    """
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(DEEP))
        for title, name in (("12 layers", "bert-base-uncased"), ("24 layers", folder)):
            with opened_window(name) as (application, shown):
                run(application, shown, SHORT)
                for what, found in _of_dialog(application, shown, Path(folder)).items():
                    figures[f"{title}: {what}"] = found.wall
                    figures[f"{title}: {what}, computed"] = found.cpu
    return figures


def _of_dialog(application: QApplication, shown: MainWindow, folder: Path) -> dict[str, Gap]:
    def ready() -> bool:
        return are_shown(opened)

    def made_anew() -> None:
        wait(application, lambda: not ready())  # what is typed is waited for
        wait(application, ready)

    figures = {"dialog opens": gap(application, shown.exporting.choose_report)}
    opened = find(shown, ReportDialog)
    figures["pages"] = gap(application, lambda: wait(application, ready))
    layers = find(opened, QLineEdit, "reportLayers")
    layers.setText("all")
    layers.textEdited.emit("all")
    figures["pages of all heads"] = gap(application, made_anew)
    find(opened, QComboBox, "reportPaper").setCurrentIndex(1)
    figures["pages of another size"] = gap(application, lambda: wait(application, ready))
    target = (str(folder / "report.pdf"), "")
    with patch.object(QFileDialog, "getSaveFileName", lambda *_: target):
        find(opened, QPushButton, "reportExport").click()
        written = find(opened, QPushButton, "reportOpen")
        figures["export"] = gap(application, lambda: wait(application, written.isVisible))
    opened.close()
    return figures

"""Two corpora side by side: modules, heads and outlier features that differ most."""

from PySide6.QtWidgets import QWidget

from bertviewer.charts.corpus import compared_features, compared_heads, compared_modules
from bertviewer.core.corpus.comparison import CorpusComparison
from bertviewer.core.corpus.corpus import Corpus
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import printable
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.choice_box import ChoiceBox
from bertviewer.ui.views.figure_view import FigureView
from bertviewer.ui.widgets.labels import muted_label
from bertviewer.ui.widgets.layouts import hbox, named, vbox

PATH = 260
"""Pixels that a path has at least: those of two layers differ in one figure in the middle."""


class ComparedPage(QWidget):
    """One table of three, those that differ most first."""

    def __init__(self, comparison: CorpusComparison, workspace: Workspace) -> None:
        super().__init__()
        tables = (
            (self.tr("modules"), compared_modules(comparison)),
            (self.tr("heads"), compared_heads(comparison)),
            (self.tr("outlier features"), compared_features(comparison)),
        )
        self._tables = [(title, table) for title, table in tables if table.rows]
        self._choice = ChoiceBox("comparedCorpora", self.tr("What to compare"))
        for title, _ in self._tables:
            self._choice.addItem(title)
        says = self.tr("Differences between the two corpora")
        self._view = FigureView(workspace, "comparedFigures", says, min_text=PATH)
        self._view.chosen.connect(workspace.selection.go)
        self._choice.currentIndexChanged.connect(self._show)
        sides = named(
            muted_label(
                self.tr("Left: {0}\nRight: {1}\nLargest differences first.").format(
                    self._described(comparison.left), self._described(comparison.right)
                )
            ),
            "comparedSides",
        )
        head = hbox((sides, 1), self._choice, spacing=8)
        vbox(head, (self._view, 1), parent=self, margins=(0, 8, 0, 0), spacing=8)
        self._show()

    def _show(self) -> None:
        if self._tables:
            self._view.show_table(self._tables[self._choice.currentIndex()][1])

    def _described(self, corpus: Corpus) -> str:
        source = SourceInfo.from_json(corpus.manifest["source"])
        parts = [
            printable(source.name),
            count_text(corpus.sentences, self.tr("{0} sentence"), self.tr("{0} sentences")),
            count_text(corpus.tokens, self.tr("{0} token"), self.tr("{0} tokens")),
            *(printable(str(file["name"])) for file in corpus.manifest.get("data", ())),
        ]
        return " · ".join(parts)

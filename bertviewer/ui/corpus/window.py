"""Window with the statistics of a corpus."""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QTabWidget, QWidget

from bertviewer.core.corpus.comparison import CorpusComparison
from bertviewer.core.corpus.corpus import Corpus
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import printable
from bertviewer.ui.corpus.pages import (
    ComparisonPage,
    DetailsPage,
    HeadsPage,
    LayersPage,
    OutliersPage,
    ValuesPage,
    corpus_text,
)
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.labels import Badge, ElidedLabel, plain_tooltip
from bertviewer.ui.widgets.layouts import hbox, named, vbox

SIZE = 1080, 660  # pixels


class CorpusWindow(QDialog):
    """Pages that follow the main window's selection, and select in it what is clicked.

    ``comparison_wanted`` is the click of a button.
    """

    comparison_wanted = Signal()

    def __init__(
        self, corpus: Corpus, architecture: Architecture, workspace: Workspace, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setObjectName("corpusWindow")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowFlag(Qt.WindowType.WindowMaximizeButtonHint)
        name = printable(architecture.source.name)
        self.setWindowTitle(self.tr("{0}: corpus statistics").format(name))
        self.corpus = corpus
        self._workspace = workspace
        self._comparison: ComparisonPage | None = None
        self._tabs = tabs = named(QTabWidget(), "corpusTabs")
        tabs.setDocumentMode(True)
        tabs.addTab(LayersPage(corpus, architecture, workspace), self.tr("Layers"))
        tabs.addTab(ValuesPage(corpus, workspace), self.tr("Values"))
        heads = HeadsPage(corpus, architecture, workspace)
        if heads.has_heads:
            tabs.addTab(heads, self.tr("Heads"))
        if corpus.outliers is not None:
            tabs.addTab(OutliersPage(corpus, workspace), self.tr("Outlier features"))
        tabs.addTab(DetailsPage(corpus), self.tr("Details"))
        vbox(self._make_head(), (tabs, 1), parent=self, margins=(16, 12, 16, 16), spacing=8)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Close), self, self.close)
        tabs.tabBar().setFocus()
        # Qt's default would be at most two thirds of the screen.
        self.resize(QSize(*SIZE).boundedTo(self.screen().availableSize()))

    def show_comparison(self, comparison: CorpusComparison, name: str) -> None:
        """Show the differences from another corpus, which is in the folder ``name``."""
        if self._comparison is not None:
            self._tabs.removeTab(self._tabs.indexOf(self._comparison))
            self._comparison.deleteLater()
        self._comparison = ComparisonPage(comparison, self._workspace)
        title = self.tr("Compared with {0}").format(printable(name))
        self._tabs.addTab(self._comparison, title.replace("&", "&&"))
        self._tabs.setCurrentWidget(self._comparison)

    def _make_head(self) -> QHBoxLayout:
        """Return a description of the corpus, a warning about random weights, and the button."""
        head, text = named(ElidedLabel(), "corpusHead"), corpus_text(self.corpus)
        if skipped := self.corpus.manifest.get("left_out"):
            one, many = self.tr("{0} line skipped"), self.tr("{0} lines skipped")
            text = f"{text} · {count_text(skipped, one, many)}"
        head.setText(text)
        source = SourceInfo.from_json(self.corpus.manifest["source"])
        is_random = source.weights == "random" or bool(source.random_tensors)
        notices = self.tr("see notices") if source.notices else ""
        weights = named(Badge(), "corpusWeights")
        weights.show_text(self.tr("Random weights") if is_random else notices, WARNING)
        weights.setToolTip(plain_tooltip("\n".join(map(printable, source.notices))))
        compare = named(
            QPushButton(self.tr("&Compare with…")),
            "corpusCompare",
            tooltip=self.tr("Compare with the corpus in another folder"),
        )
        compare.setAutoDefault(False)
        compare.clicked.connect(self.comparison_wanted)
        return hbox((head, 1), weights, compare, spacing=8)

"""What the open model does to many sentences: layers, values, heads, outlier features."""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QTabWidget, QWidget

from bertviewer.core.corpus.comparison import CorpusComparison
from bertviewer.core.corpus.corpus import Corpus
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import printable
from bertviewer.ui.corpus.compared_page import ComparedPage
from bertviewer.ui.corpus.heads_page import HeadsPage
from bertviewer.ui.corpus.layers_page import LayersPage
from bertviewer.ui.corpus.origin_page import OriginPage
from bertviewer.ui.corpus.outliers_page import OutliersPage
from bertviewer.ui.corpus.values_page import ValuesPage
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.labels import Badge, ElidedLabel, plain_tooltip
from bertviewer.ui.widgets.layouts import hbox, named, vbox

SIZE = 1080, 660  # pixels


class CorpusWindow(QDialog):
    """Beside the main window: what is clicked is selected there, and what is selected is marked.

    The values are those of the module that is selected. ``comparison_wanted`` tells of the button.
    """

    comparison_wanted = Signal()

    def __init__(
        self,
        corpus: Corpus,
        architecture: Architecture,
        workspace: Workspace,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("corpusWindow")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowFlag(Qt.WindowType.WindowMaximizeButtonHint)
        name = printable(architecture.source.name)
        self.setWindowTitle(self.tr("{0}: corpus statistics").format(name))
        self.corpus = corpus
        self._workspace = workspace
        self._compared: ComparedPage | None = None
        self._tabs = tabs = named(QTabWidget(), "corpusTabs")
        tabs.setDocumentMode(True)
        tabs.addTab(LayersPage(corpus, architecture, workspace), self.tr("Layers"))
        tabs.addTab(ValuesPage(corpus, workspace), self.tr("Values"))
        heads = HeadsPage(corpus, architecture, workspace)
        if heads.has_heads:
            tabs.addTab(heads, self.tr("Heads"))
        if corpus.outliers is not None:
            outliers = OutliersPage(corpus, corpus.outliers, workspace)
            tabs.addTab(outliers, self.tr("Outlier features"))
        tabs.addTab(OriginPage(corpus), self.tr("Details"))
        vbox(self._make_head(), (tabs, 1), parent=self, margins=(16, 12, 16, 16), spacing=8)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Close), self, self.close)
        tabs.tabBar().setFocus()
        # Qt itself would give it two thirds of the screen at most.
        self.resize(QSize(*SIZE).boundedTo(self.screen().availableSize()))

    def show_comparison(self, comparison: CorpusComparison, name: str) -> None:
        """Show what differs between this corpus and another one, of that folder."""
        if self._compared is not None:
            self._tabs.removeTab(self._tabs.indexOf(self._compared))
            self._compared.deleteLater()
        self._compared = ComparedPage(comparison, self._workspace)
        title = self.tr("Compared with {0}").format(printable(name))
        self._tabs.addTab(self._compared, title.replace("&", "&&"))
        self._tabs.setCurrentWidget(self._compared)

    def _make_head(self) -> QHBoxLayout:
        """Return what the figures are of, whether the weights are random, and the button."""
        head = named(ElidedLabel(), "corpusHead")
        head.setText(self._described())
        weights = named(Badge(), "corpusWeights")
        source = SourceInfo.from_json(self.corpus.manifest["source"])
        is_random = source.weights == "random" or bool(source.random_tensors)
        notices = self.tr("see notices") if source.notices else ""
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

    def _described(self) -> str:
        corpus = self.corpus
        parts = [
            count_text(corpus.sentences, self.tr("{0} sentence"), self.tr("{0} sentences")),
            count_text(corpus.tokens, self.tr("{0} token"), self.tr("{0} tokens")),
            *(printable(str(file["name"])) for file in corpus.manifest.get("data", ())),
        ]
        if left_out := corpus.manifest.get("left_out"):
            one, many = self.tr("{0} line skipped"), self.tr("{0} lines skipped")
            parts.append(count_text(left_out, one, many))
        return " · ".join(parts)
